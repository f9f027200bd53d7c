"""Boards: many systems over a question pack, from the questions to the published page.

    job, job_pack, pack      what is asked for; what makes questions and judges answers, and how a batch knows both
    questions, question_gates
                             making questions, and the gates they pass
    game, playing, trace_*   a system at a question, and the record of all it saw, bought and said
    batch                    one folder with all that belongs to one run of a job
    batch_log, batch_run, solvers
                             its log and those of its shards; which batch is gone on with, the session, who answers
    findings                 one look over a batch, its log and its trace, for all of the next line
    expected_trials, trace_check, evaluation, samples
                             what must agree, whether it does, the verdicts, what is shown
    scores, standings        the rows of verdicts, and who stands where
    board, sections, board_document
                             the board: as a value, its sections, the document
    stories, console         what each command does, and what it says
    finalizing               all that is derived, on the disk; judged again; verified and closed
    usage                    what trials took, and what is still to come, in tokens and seconds

The trial log, the engine, the systems, the statistics and the pages are those of the layers below.
"""
