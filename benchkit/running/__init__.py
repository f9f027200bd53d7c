"""What is left to run, and running it: the plan, the engine, one session, its progress."""
