"""What learning costs: calls of a language model and tokens per ``add``, beside a peer, and what is remembered for it.

``python -m benchmarks.tokens`` runs both systems against the same counting model and keeps a results file.
"""
