"""One document of blocks, written as text, Markdown or HTML. Nothing here knows of runs or boards."""
