"""Who answers: the seam to the user's systems, and the baselines of the kit."""
