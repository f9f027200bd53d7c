"""What the kit costs, and what happens at scale: measurements and simulations, each of them a command.

    python3 -m benchmarks.NAME --help

Benchmarks may import the modules and the tests; nothing but tests imports a benchmark.
"""
