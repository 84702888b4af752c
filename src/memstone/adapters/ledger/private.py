"""Files that hold what people said: they are made for their owner alone, whatever the umask says."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

ONLY_ME: Final = 0o600
MY_FOLDER: Final = 0o700


def make_private(path: Path) -> None:
    """Make an empty file that only its owner may read. One that is there stays as it is, and is not even opened.

    What cannot be made is left to whoever opens it next, and says what is wrong.
    """
    with suppress(OSError):
        path.resolve().touch(ONLY_ME, exist_ok=False)
