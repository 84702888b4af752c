"""How this program is started: by another program from anywhere, and by a person in the terminal they have open."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memstone.cli.arguments import Arguments

_NAME: Final = "memstone"


def program_command() -> list[str]:
    """Return how this program is started from anywhere: a window does not see what your terminal sees.

    A program that `uvx` runs lives in a cache that may be emptied, so it is started by `uvx` again.
    """
    if any(part.startswith("archive-v") for part in Path(sys.prefix).parts):
        return [*_uvx(), "--from", f"memstone[mcp,server]{_installed_from()}", _NAME]
    script = _script()
    return [str(script)] if script.exists() else [sys.executable, "-m", _NAME]


def program_in_shell() -> str:
    """Return what a person types to start this program: its name where that is enough, else its path."""
    script = _script()
    found = shutil.which(_NAME)
    if not script.exists() or (found is not None and Path(found).resolve() == script.resolve()):
        return _NAME
    with suppress(ValueError):
        return shlex.quote(str(script.relative_to(Path.cwd())))
    return shlex.quote(str(script))


def store_options(arguments: Arguments) -> list[str]:
    """Return which store and settings, as far as they were named; where they lie does not depend on the folder."""
    named = []
    if arguments.db is not None:
        is_path = "://" not in arguments.db and not arguments.db.endswith("memory:")
        named += ["--db", str(Path(arguments.db).expanduser().absolute()) if is_path else arguments.db]
    config = arguments.config or os.environ.get("MEMSTONE_CONFIG")
    if config:
        named += ["--config", str(Path(config).expanduser().absolute())]
    return named


def _script() -> Path:
    return Path(sys.executable).parent / ("memstone.exe" if sys.platform == "win32" else _NAME)


def _uvx() -> list[str]:
    """Return the path of uvx, or of the uv that runs this program, which tells it."""
    found, running = shutil.which("uvx"), os.environ.get("UV")
    if found is None and running:
        return [running, "tool", "run"]
    return [found or "uvx"]


def _installed_from() -> str:
    """Return where the package came from, as a requirement says it; nothing if it came from an index."""
    from importlib.metadata import PackageNotFoundError, distribution

    with suppress(PackageNotFoundError, ValueError, TypeError):
        origin = json.loads(distribution(_NAME).read_text("direct_url.json") or "null")
        if origin and "vcs_info" in origin:
            vcs = origin["vcs_info"]
            return f" @ {vcs['vcs']}+{origin['url']}@{vcs['commit_id']}"
        if origin:
            return f" @ {origin['url']}"
    return ""
