"""``python -m retain.cli`` is ``retain``."""

from __future__ import annotations

from retain.cli import main

main()
