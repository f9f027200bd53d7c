"""The only layer that writes files: whole files (written whole or not at all) and files that only grow."""
