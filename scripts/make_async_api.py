"""Make ``api/aio`` from ``api``, ``async_memory.py`` from ``memory.py`` and ``async_client.py`` from ``client.py``.

The blocking and the asyncio interface differ only in how they wait, so one is written by hand and the other is its
translation. Run without arguments to write the files, with ``--check`` to learn whether they are up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "memstone"

REPLACEMENTS = (
    (r'^"""The blocking (face|client): ', r'"""The asyncio \1: '),
    (
        r"``async_(memory|client)\.py`` is made from this file[^\"]*in step\.",
        r"Made from ``\1.py`` by ``scripts/make_async_api.py``: do not edit, change the original.",
    ),
    (r"class (Memory|Client)\(", r"class Async\1("),
    (r"<memstone\.Client", "<memstone.AsyncClient"),
    (r"\b((?!Remote)[A-Z]\w*Verbs)\b", r"Async\1"),
    (r"from memstone\.api\.(?!base)", "from memstone.api.aio."),
    (r"``Memory\(", "``AsyncMemory("),
    (r'"blocking"', '"asyncio"'),
    (r"        drive\(self\.engine\.open\(\)\)\n", ""),
    (r"from memstone\.drive import drive(, drive_iter)?\n", ""),
    (r"(return )?drive_iter\((.+)\)\n", r"return \2\n"),
    (r"((?:return |= )?)drive\((.+)\)\n", r"\1await \2\n"),
    (r"(?<!@property\n)    def (?!__init__|from_env|from_config|acting_for|export)([a-z]\w*)\(", r"    async def \1("),
    (
        r"    def __enter__\(self\) -> Self:\n",
        "    async def __aenter__(self) -> Self:\n",
    ),
    (  # a client has nothing to open
        r"(class AsyncMemory\([\s\S]*?async def __aenter__\(self\) -> Self:\n)",
        r"\1        await self.engine.open()\n",
    ),
    (r"    def __exit__\(", "    async def __aexit__("),
    (r"        self\.close\(\)\n", "        await self.close()\n"),
    (r"import Iterator, Mapping", "import AsyncIterator, Mapping"),
    (r"-> Iterator\[", "-> AsyncIterator["),
)

IMPORTS = re.compile(r"(?:^from memstone\.api\.\S+ import \w+\n)+", re.MULTILINE)
"""The groups are imported from another package than ``base``, and are in another order then."""


def translated(source: str) -> str:
    """Return the asyncio code for blocking code."""
    for pattern, replacement in REPLACEMENTS:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    return IMPORTS.sub(lambda block: "".join(sorted(block[0].splitlines(keepends=True))), source)


def pairs() -> Iterator[tuple[Path, Path]]:
    """Yield each file that is written by hand, and the one that is made from it."""
    for name in ("memory", "client"):
        yield PACKAGE / f"{name}.py", PACKAGE / f"async_{name}.py"
    for source in sorted((PACKAGE / "api").glob("*.py")):
        if source.name not in ("__init__.py", "base.py"):
            yield source, PACKAGE / "api" / "aio" / source.name


def main() -> int:
    """Write the files, or say whether they are up to date."""
    for source, target in pairs():
        wanted = translated(source.read_text("utf-8"))
        if "--check" not in sys.argv:
            target.write_text(wanted, "utf-8")
        elif not target.exists() or target.read_text("utf-8") != wanted:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
