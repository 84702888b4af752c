"""What this process knows of the inbox, so that nobody asks the database whether something waits when nothing does."""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Final

from memstone.model.scope import Scope

if TYPE_CHECKING:
    from memstone.engine.parts import Parts

_REST: Final = 5.0
_LONGEST: Final = 600.0
"""What failed again is left alone for so many seconds, and every time for twice as long, up to this."""

_BELIEVED: Final = 60.0
"""So long it is believed that nothing waits: another process may have put something off."""

_MOST: Final = 1_000


class Waiting:
    """Whether something waits for another try, by tenant, and whose has just been tried in vain.

    Looked up once a minute at most while nothing waits, else told by whoever puts something off or learns from it. Safe
    to share between threads: each step is one operation on a dictionary, and a step that is lost costs a look.
    """

    def __init__(self) -> None:
        self._anything: dict[str, float] = {}
        self._resting: dict[Scope, tuple[float, float]] = {}

    def left(self, tenant_id: str) -> None:
        """Something was put off."""
        self._anything[tenant_id] = inf

    def none(self, tenant_id: str) -> bool:
        """Whether this process knows that nothing waits."""
        return monotonic() < self._anything.get(tenant_id, 0.0) < inf

    async def anything(self, parts: Parts) -> bool:
        """Whether anything waits, as far as this process knows."""
        if self.none(parts.tenant_id):
            return False
        return self._anything.get(parts.tenant_id) == inf or await self.look(parts)

    async def look(self, parts: Parts) -> bool:
        """Ask the ledger."""
        tenant = Scope(parts.tenant_id)
        self._anything.pop(parts.tenant_id, None)  # what is put off meanwhile is not forgotten
        found = bool(await parts.ledger.peek(lambda tx: tx.signals.pending(tenant, 1)))
        return self._anything.setdefault(parts.tenant_id, inf if found else monotonic() + _BELIEVED) == inf

    def rests(self, whose: Scope) -> bool:
        """Whether what waits for somebody was tried in vain a moment ago."""
        rest = self._resting.get(whose)
        return rest is not None and rest[0] > monotonic()

    def tried(self, whose: Scope, *, in_vain: bool) -> None:
        """Take note of another try."""
        if not in_vain:
            self._resting.pop(whose, None)
            return
        if len(self._resting) >= _MOST:
            now = monotonic()
            self._resting = {one: rest for one, rest in self._resting.items() if rest[0] > now}
        seconds = min(2 * self._resting.get(whose, (0.0, _REST / 2))[1], _LONGEST)
        self._resting[whose] = monotonic() + seconds, seconds
