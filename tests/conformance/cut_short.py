"""An answer that breaks off on its way."""

from __future__ import annotations

from collections.abc import Iterator


class CutShort:
    """The beginning of a body, after which the connection ends."""

    def __iter__(self) -> Iterator[bytes]:
        yield b'{"choices": [{"mess'
        raise ConnectionError("the server is gone")
