"""Make ``async_memory.py`` from ``memory.py``, and ``faces/aio`` from ``faces``.

The two faces differ only in how they wait, so one is written by hand and the other is its translation. Run without
arguments to write the file, with ``--check`` to learn whether it is up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

FACES = Path(__file__).parent.parent / "src" / "memstone"

REPLACEMENTS = (
    (r'^"""The blocking face\.', '"""The asyncio face.'),
    (
        r"Every method is one line over the engine[^\"]*in step\.",
        "Made from ``memory.py`` by ``scripts/make_async_face.py``: do not edit, change the original.",
    ),
    (r"class Memory\(", "class AsyncMemory("),
    (r"from memstone\.faces\.(?!base)", "from memstone.faces.aio."),
    (r"``Memory\(\)``", "``AsyncMemory()``"),
    (r'"blocking"', '"asyncio"'),
    (r"        drive\(self\._engine\.open\(\)\)\n", ""),
    (r"from memstone\.drive import drive(, drive_iter)?\n", ""),
    (r"(return )?drive_iter\((.+)\)\n", r"return \2\n"),
    (r"(return )?drive\((.+)\)\n", r"\1await \2\n"),
    (r"    def (?!__init__|from_env|acting_for|export)([a-z]\w*)\(", r"    async def \1("),
    (
        r"    def __enter__\(self\) -> Self:\n",
        "    async def __aenter__(self) -> Self:\n        await self._engine.open()\n",
    ),
    (r"    def __exit__\(", "    async def __aexit__("),
    (r"        self\.close\(\)\n", "        await self.close()\n"),
    (r"import Iterator, Mapping", "import AsyncIterator, Mapping"),
    (r"-> Iterator\[", "-> AsyncIterator["),
)


def translated(source: str) -> str:
    """The asyncio face for a blocking one."""
    for pattern, replacement in REPLACEMENTS:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    return source


def pairs() -> Iterator[tuple[Path, Path]]:
    """Each file that is written by hand, and the one that is made from it."""
    yield FACES / "memory.py", FACES / "async_memory.py"
    for source in sorted((FACES / "faces").glob("*.py")):
        if source.name not in ("__init__.py", "base.py"):
            yield source, FACES / "faces" / "aio" / source.name


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
