"""Whose rules a pass goes by: each memory is kept as those want it who hold it.

Most tenants have one policy for everybody, and then nothing more is asked. Where users or agents have settings of their
own, all of them are read once, and what several hold goes only when it is to go for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from memstone.core.settings.lenient import TENANT, scope_key
from memstone.core.settings.names import SETTINGS
from memstone.engine.parts import Parts
from memstone.engine.tuning import resolved
from memstone.model.memory import Layer, Link
from memstone.model.policy import Policy
from memstone.model.scope import Scope
from memstone.ports.ledger import Tx

_ALL: Final = 1_000_000_000
_KINDS: Final = ("user", "agent")
_ASKED: Final = (
    *(name for name, one in SETTINGS.items() if name.startswith("upkeep.") and not one.tenant_only),
    "recall.decay_days",
    "context.gate",
)
"""What a pass goes by and a user or an agent may have set."""


@dataclass(slots=True)
class Policies:
    """The policies of a tenant, as far as a pass goes by them."""

    base: Policy = field(default_factory=Policy)
    """What is configured."""

    stored: dict[str, dict[str, str]] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    """Users and agents who belong together and both have settings of their own."""

    known: dict[tuple[str, ...], Policy] = field(default_factory=dict)

    @property
    def differ(self) -> bool:
        """Whether anybody has settings of their own."""
        return any(key != TENANT for key in self.stored)

    def of(self, scope: Scope) -> Policy:
        """What holds for the memories of a user and an agent."""
        named = (scope_key(kind, getattr(scope, f"{kind}_id")) for kind in _KINDS)
        keys = tuple(key for key in (TENANT, *named) if key in self.stored)
        if keys not in self.known:
            self.known[keys] = resolved(self.base, {key: self.stored[key] for key in keys})
        return self.known[keys]

    def groups(self, scope: Scope) -> Iterator[tuple[Scope, Policy]]:
        """A scope with its policy, and then those within it who have another one."""
        yield scope, self.of(scope)
        own = [replace(scope, **names) for names in self._own() if _agrees(scope, names)]
        for one in dict.fromkeys(own):
            if one != scope and self.of(one) != self.of(scope):
                yield one, self.of(one)

    def _own(self) -> Iterator[dict[str, str]]:
        for key in self.stored:
            kind, _, name = key.partition(":")
            if name:
                yield {f"{kind}_id": name}
        for user, agent in self.pairs:
            yield {"user_id": user, "agent_id": agent}

    def agree(self, links: Iterable[Link], wants: Callable[[Policy], bool], otherwise: Policy) -> bool:
        """Whether all who hold a memory want something; without settings of anybody's own, whether a policy does."""
        if not self.differ:
            return wants(otherwise)
        return all(wants(self.of(link.scope)) for link in links)


def _agrees(scope: Scope, names: dict[str, str]) -> bool:
    return all(getattr(scope, field) in ("", name) for field, name in names.items())


async def policies(parts: Parts) -> Policies:
    """The policies that are set in a tenant."""
    base = parts.policy if parts.untuned is None else parts.untuned
    found = Policies(base)

    async def work(tx: Tx) -> None:
        found.stored, found.pairs = {}, []
        if await tx.preferences.version(parts.tenant_id):
            for name in _ASKED:
                for key, value in await tx.preferences.named(parts.tenant_id, name, _ALL):
                    if key == TENANT or key.startswith(tuple(f"{kind}:" for kind in _KINDS)):
                        found.stored.setdefault(key, {})[name] = value
        if all(any(key.startswith(f"{kind}:") for key in found.stored) for kind in _KINDS):
            found.pairs = await _pairs(tx, Scope(parts.tenant_id), found.stored)

    await parts.ledger.read(work)
    return found


async def _pairs(tx: Tx, tenant: Scope, stored: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    pairs = {pair for layer in Layer for pair in await tx.upkeep.owners(tenant, str(layer))}
    return sorted(
        (user, agent)
        for user, agent in pairs
        if scope_key("user", user) in stored and scope_key("agent", agent) in stored
    )
