"""Who answers: the seam to the user's systems, the servers that the kit can ask, and the baselines.

A server of another kind is a parser of its replies (network/*_replies.py), a system that asks it (like ollama.py and
openai.py), its name in loading.py and in tasks/modules.SHIPPED (what a log may name by itself), and, where it has a
key, the variables of its address and key in boards/solvers.TOGETHER.
"""
