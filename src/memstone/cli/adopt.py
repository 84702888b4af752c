"""``adopt``: take over the store of an installation under the former name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from memstone.cli.fail import OK
from memstone.cli.given import Given, for_store
from memstone.cli.output import say


@click.command()
@for_store
def adopt(given: Given) -> int:
    """Take over the store of an installation that was still called Retain.

    It is moved from ~/.retain/retain.db to where Memstone looks for it, with the copies beside it, and brought up to
    date. Stop every program that uses it first. With --db it is moved to that file.
    """
    from memstone.config import DEFAULT_PATH, FORMER_PATH, Settings
    from memstone.memory import Memory
    from memstone.registry import adapter

    target = Path(given.db or DEFAULT_PATH).expanduser().absolute()
    moved: list[Path] = adapter("move", "sqlite")(FORMER_PATH.expanduser(), target)
    with Memory(Settings.of({"store": {"url": f"sqlite:///{target}"}})) as memory:
        answer: dict[str, Any] = {"moved": [str(path) for path in moved], "memories": memory.stats()["memories"]}
    if not given.answered(answer):
        say(f"moved to {target}: {answer['memories']:,} memories")
    return OK


COMMANDS: Final = (adopt,)
