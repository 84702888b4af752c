"""How fast Memstone is: CPU time per call, beside a peer and a bare floor, on one corpus.

``python -m benchmarks.speed`` runs everything and writes a results file named after the commit.
Each system works in child processes of its own (``child``), so that none pays for another's imports.
"""
