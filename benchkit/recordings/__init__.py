"""What a log amounts to: recordings, run records and digests. Nothing here asks a model."""
