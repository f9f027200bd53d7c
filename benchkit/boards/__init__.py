"""Boards: many systems over a question pack, from the questions to the published page.

    job, pack, task_pack     what is asked for; what makes questions and judges answers
    questions, llm_cache     making questions, the gates they pass, and the words a model may have lent them
    playing, trace_*         a system at a question, and the record of all it saw, bought and said
    batch, fingerprints      one folder with all that belongs to one run of a job, and what it must agree with
    estimate                 what is still to come, in tokens and seconds

The trial log, the engine, the systems, the statistics and the pages are those of the floors below.
"""
