"""The statistics of repeated trials: pure functions over counts, exact fractions until a figure is printed.

    estimators     one case, agreement of outputs, and how figures are rounded
    suites         many cases: pass@k and pass^k for every k
    intervals      for a proportion, a mean, a difference, a board's headline
    permutation    two systems over the same cases: is there a difference?
    ranking        several systems: Holm's correction and ranks
    percentiles    latencies by nearest rank

Nothing here reads a file, a clock or a recording.
"""
