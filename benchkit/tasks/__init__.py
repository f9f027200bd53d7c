"""Cases, the user's task, and the judgement of one output. It knows nothing of systems, logs and recordings."""
