"""Make ``async_memory.py`` from ``memory.py``.

The two faces differ only in how they wait, so one is written by hand and the other is its translation. Run without
arguments to write the file, with ``--check`` to learn whether it is up to date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

FACES = Path(__file__).parent.parent / "src" / "retain"

REPLACEMENTS = (
    (r'^"""The blocking face\.', '"""The asyncio face.'),
    (
        r"Every method is one line over the engine[^\"]*in step\.",
        "Made from ``memory.py`` by ``scripts/make_async_face.py``: do not edit, change the original.",
    ),
    (r"class Memory:", "class AsyncMemory:"),
    (r"``Memory\(\)``", "``AsyncMemory()``"),
    (r'"blocking"', '"asyncio"'),
    (r"        drive\(self\._engine\.open\(\)\)\n", ""),
    (r"from retain\.drive import drive, drive_iter\n", ""),
    (r"(return )?drive_iter\((.+)\)\n", r"return \2\n"),
    (r"(return )?drive\((.+)\)\n", r"\1await \2\n"),
    (r"    def (?!__init__|from_env|export)([a-z]\w*)\(", r"    async def \1("),
    (
        r"    def __enter__\(self\) -> Self:\n",
        "    async def __aenter__(self) -> Self:\n        await self._engine.open()\n",
    ),
    (r"    def __exit__\(", "    async def __aexit__("),
    (r"        self\.close\(\)\n", "        await self.close()\n"),
    (r"Iterable, Iterator, Mapping", "AsyncIterator, Iterable, Mapping"),
    (r"-> Iterator\[", "-> AsyncIterator["),
)


def translated(source: str) -> str:
    """The asyncio face for a blocking one."""
    for pattern, replacement in REPLACEMENTS:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    return source


def main() -> int:
    """Write the file, or say whether it is up to date."""
    wanted = translated((FACES / "memory.py").read_text("utf-8"))
    target = FACES / "async_memory.py"
    if "--check" in sys.argv:
        return 0 if target.exists() and target.read_text("utf-8") == wanted else 1
    target.write_text(wanted, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
