"""The statistics of repeated trials: pure functions over counts, exact fractions until a figure is printed.

Rooms: counts and estimators of one case, suites of cases, intervals, paired comparisons and the sums they
rest on, ranks of several systems, percentiles of latencies and the sorted runs they are found in, agreement
of outputs, and the rounding of figures. Nothing here reads a file, a clock or a recording.
"""
