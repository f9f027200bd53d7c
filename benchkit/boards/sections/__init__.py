"""The sections of a board, each written once: from figures to blocks."""
