"""What the service costs over the library, and how it bears many clients at once.

``python -m benchmarks.server`` runs both and writes a results file named after the commit.
"""
