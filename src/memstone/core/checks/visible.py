"""The one visibility predicate.

Everything that reads memories starts from this tree: the ledger turns it into SQL, vector stores into
their own language, and every hit is checked against it again before it leaves the engine.
"""

from __future__ import annotations

from collections.abc import Iterable

from memstone.model.bounds import Bounds, Users
from memstone.model.ids import POOLS
from memstone.model.instant import Instant
from memstone.model.memory import DIRECT, Layer, Status
from memstone.model.query import And, Condition, Not, Op, Or, Where
from memstone.model.scope import Scope

DEFAULT_LAYERS = (Layer.FACT,)


def within(scope: Scope) -> Where:
    """Seen through a link of this scope: the tenant must match, and every other field that is set."""
    given = ((name, getattr(scope, name)) for name in ("user_id", "agent_id", "run_id"))
    tenant = Condition("tenant_id", Op.EQ, scope.tenant_id)
    return And((tenant, *(Condition(name, Op.EQ, value) for name, value in given if value)))


def own() -> Where:
    """Hold for what its holder said, and neither for what somebody shared with them nor for what a project was fed."""
    return Condition("link_origin", Op.EQ, DIRECT)


def reached(bounds: Bounds) -> Where:
    """Seen through a link of somebody within bounds."""
    one = within(Scope(bounds.tenant_id, bounds.user_id, bounds.agent_id))
    if bounds.user_id or bounds.users is Users.ALL:
        return one
    own = bounds.own_pool
    some: list[Where] = [Condition("user_id", Op.EQ, str(own)), _begins("user_id", f"{own}:")]
    if bounds.users is Users.PEOPLE:
        some.append(Not(_begins("user_id", POOLS)))
    return And((one, Or(tuple(some))))


def _begins(field: str, prefix: str) -> Where:
    """A field begins with a text: texts are compared by code point, so these stand side by side."""
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return And((Condition(field, Op.GTE, prefix), Condition(field, Op.LT, after)))


def current(statuses: Iterable[str] = (Status.ACTIVE,)) -> Where:
    """The version that holds now, in one of these statuses."""
    return And((Condition("valid_to", Op.EXISTS, value=False), _one_of("status", statuses)))


def valid_at(moment: Instant) -> Where:
    """The version that held at a moment; what was deleted stays deleted."""
    return And(
        (
            Condition("valid_from", Op.LTE, moment),
            Or((Condition("valid_to", Op.EXISTS, value=False), Condition("valid_to", Op.GT, moment))),
            _one_of("status", (Status.ACTIVE, Status.SUPERSEDED)),
        )
    )


def unexpired(moment: Instant) -> Where:
    """Has no expiry, or one that lies ahead."""
    return Or((Condition("expires_at", Op.EXISTS, value=False), Condition("expires_at", Op.GT, moment)))


def visible(
    scope: Scope,
    now: Instant,
    *,
    layers: Iterable[str] = DEFAULT_LAYERS,
    statuses: Iterable[str] = (Status.ACTIVE,),
    as_of: Instant | None = None,
    show_expired: bool = False,
    extra: Where | None = None,
) -> And:
    """What this scope may see now (or saw at ``as_of``); ``extra`` is the caller's filter."""
    parts: list[Where] = [within(scope), _one_of("layer", layers)]
    parts.append(current(statuses) if as_of is None else valid_at(as_of))
    if not show_expired:
        parts.append(unexpired(as_of or now))
    if extra is not None:
        parts.append(extra)
    return And(tuple(parts))


def _one_of(field: str, values: Iterable[str]) -> Where:
    chosen = tuple(str(value) for value in values)
    return Condition(field, Op.EQ, chosen[0]) if len(chosen) == 1 else Condition(field, Op.IN, chosen)
