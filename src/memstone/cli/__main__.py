"""``python -m memstone.cli`` is ``memstone``."""

from __future__ import annotations

from memstone.cli import main

main()
