"""Who answers: the seam to the user's systems, the servers that the kit can ask, and the baselines.

A server of another kind is a parser of its replies (network/*_protocol.py), a module that asks it (like ollama.py and
openai.py), and a line in system.SERVERS.
"""
