"""``python -m memstone``: the command line."""

from __future__ import annotations

from memstone.cli import main

if __name__ == "__main__":
    main()
