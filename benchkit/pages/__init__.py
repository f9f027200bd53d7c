"""Escaping, HTML, SVG charts, Markdown and CSV text: values in, text out. Nothing here knows of runs or boards."""
