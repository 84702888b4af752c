"""The key of a store, which lies outside it: it signs backups, and seals what must not be read in the database.

Whoever reads the database or a backup does not have it. So a backup that was changed is recognised, and a provider's
key in it cannot be used.
"""

from __future__ import annotations

from typing import Protocol


class StoreKey(Protocol):
    """Where the key is kept."""

    @property
    def place(self) -> str:
        """Where it is, for people: what an operator has to keep a copy of; '' for one that ends with the process."""
        ...

    async def find(self) -> bytes | None:
        """Return the key, None where there is none yet; ``ConfigError`` where it cannot be had or read."""
        ...

    async def make(self) -> bytes:
        """Return the key; where there is none yet, make one first."""
        ...


class Sealing(Protocol):
    """Encrypts short texts under a key."""

    def is_sealed(self, text: str) -> bool:
        """Return whether a text is one that ``seal`` gave."""
        ...

    def seal(self, key: bytes, text: str, about: str) -> str:
        """Return a text that tells nothing without the key, and that is of use only for what it is ``about``."""
        ...

    def unseal(self, key: bytes, sealed: str, about: str) -> str:
        """Return the text; ``Corrupted`` if it was sealed under another key, for something else, or was changed."""
        ...
