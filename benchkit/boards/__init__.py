"""Boards: many systems over a question pack, from the questions to the published page.

    job, job_pack, pack      what is asked for; what makes questions and judges answers
    questions                making questions, and the gates they pass
    game, playing, trace_*   a system at a question, and the record of all it saw, bought and said
    batch, fingerprints      one folder with all that belongs to one run of a job, and what it must agree with
    choosing_batch, solvers, recording_batch
                             which batch is gone on with, who answers, and the session that asks them
    evaluation, scores       judging every cell from questions, log and trace
    standings, solver_facts, samples, board_making, board_values
                             who stands where, what each took and said, what is shown of it: the board as a value
    board_markdown*, board_page*, board_text, console
                             the board as files, and what a terminal is told
    finalizing, publish      all that is derived, on the disk; judged again; verified and closed
    estimate                 what is still to come, in tokens and seconds

The trial log, the engine, the systems, the statistics and the pages are those of the layers below.
"""
