"""Reports: a run record becomes a tree of frozen values, and renderers turn the values into text.

run_tally.py reads the results once, and keeps none of them: a million may not fit into memory. run_report.py puts the
values together, from one room for each question: how often it passes and how much of that is known
(statistics/suites.py), which cases (case_tally.py, case_rows.py), why not (failures.py, confusion.py), where
(tags.py), how fast (speed.py), and what a reader must be told (oddities.py, cautions.py). comparison.py sets several
runs side by side, gate.py decides on a candidate. Renderers: text.py, wire.py (JSON), markdown.py, page.py (HTML),
junit.py, trials_csv.py, each with its parts in modules of its name; files.py says which file is whose. Nothing here
reads or writes a file.
"""
