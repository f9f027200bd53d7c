"""The sections of a report, each written once: from figures to blocks."""
