"""The log of a batch, held against what else the batch says of it, before anything is made of it.

A log can lose its end without a sign in itself. batch.json and the trace then know more than it does, and going on
would ask again what was answered. What does not live here: the log's own damage (trial_log/), and whether trial by
trial log and trace agree (trace_check.py).
"""
from __future__ import annotations

from benchkit.basics.errors import Unusable
from benchkit.basics.names import shown_line
from benchkit.boards.batch import RESPONSES, TRACE, FoundBatch
from benchkit.disk.whole_files import shown_path
from benchkit.running.live import log_at
from benchkit.trial_log.reader import TrialLog

_MEND = "put the file back, or begin another batch: python3 board.py run JOB --fresh"


def log_of(found: FoundBatch) -> TrialLog | None:
    """The log of a batch; None where nothing is recorded yet.

    Raises Unusable for one that cannot be read, is gone, or does not hold a system that has answered.
    """
    path = found.folder / RESPONSES
    log, trace = log_at(path), found.folder / TRACE
    if log is None:
        if found.batch.systems or (trace.exists() and trace.stat().st_size):
            raise Unusable(f"{shown_path(path)}: the answers are gone, and {TRACE} or batch.json knows of some; "
                           f"{_MEND}")
        return None
    gone = [name for name in found.batch.systems if name not in log.planned().systems]
    if gone:
        raise Unusable(f"{shown_path(path)}: batch.json says that {shown_line(gone[0], 60)} has answered, and here "
                       f"nothing is planned for it; {_MEND}")
    return log


def recorded_log(found: FoundBatch) -> TrialLog:
    """The log of a batch in which something is recorded. Raises Unusable where nothing is, and as `log_of` does."""
    log = log_of(found)
    if log is None:
        raise Unusable(f"{shown_path(found.folder)}: nothing is recorded yet; python3 board.py run JOB records")
    planned, trials = log.planned().trials, found.batch.job.trials
    if planned < trials:
        raise Unusable(f"{shown_path(found.folder)}: batch.json says trials = {trials}, and {RESPONSES} plans "
                       f"{planned}; put the files back, or ask what is missing: python3 board.py run JOB")
    return log
