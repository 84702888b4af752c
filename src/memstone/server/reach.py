"""How far a request reaches: asking about everybody is for administrators, running the service for its operator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from starlette.requests import Request

from memstone.core.settings.backends import operators
from memstone.errors import Forbidden, ScopeError
from memstone.model.access import Users, Verb
from memstone.server.access import Caller


def reaching(caller: Caller, named: Mapping[str, Any]) -> dict[str, Any]:
    """The scope of a request as keywords; who names nobody means everybody, which takes an administrator.

    Unless the key is not an administrator's, and a request that names nobody is about somebody.
    """
    given: dict[str, Any] = {name: named.get(name) or None for name in ("user_id", "agent_id", "run_id")}
    given["everybody"] = not any(given.values()) and not is_bound(caller)
    if given["everybody"]:
        caller.needs(Verb.ADMIN)
    return given


def is_bound(caller: Caller) -> bool:
    """Whether who names nobody means somebody: the one user or agent of a key, or its own pool."""
    bounds = caller.bounds
    return not bounds.is_open and bool(bounds.user_id or bounds.agent_id or bounds.unnamed)


def confirmed(caller: Caller, narrowing: Mapping[str, Any], confirm: str | None, *, dry_run: bool = False) -> None:
    """Go on only if something narrows a deletion, or whoever asks for it names what they are about to empty."""
    if dry_run or any(narrowing.values()):
        return
    reach = _name_of_reach(caller)
    if confirm != reach:
        choices = f"one of {', '.join(narrowing)}, or " if narrowing else ""
        raise ScopeError(
            "nothing narrows this deletion", hint=f"give {choices}confirm={reach}; dry_run shows what would be deleted"
        )


def _name_of_reach(caller: Caller) -> str:
    """What a caller calls all that they reach: a person, an agent, their own key, or the tenant."""
    bounds = caller.bounds
    if bounds.user_id:
        return bounds.name_of(bounds.user_id) or bounds.key_id
    own = bounds.key_id if bounds.users is Users.POOLS else caller.key.tenant_id
    return bounds.agent_id or own


def setting(caller: Caller, names: Iterable[str] | None) -> None:
    """Go on only if a caller may set these: quotas and masking are an administrator's, whomever they are set for."""
    if operators(names or ()):
        caller.needs(Verb.ADMIN)


def needs_operator(request: Request, caller: Caller) -> None:
    """Go on only for an administrator of the tenant that runs the service: the act concerns all tenants."""
    caller.needs(Verb.ADMIN)
    caller.needs_tenant()
    if caller.key.tenant_id != request.app.state.memstone.settings.tenant:
        raise Forbidden("this concerns every tenant", hint="use a key of the tenant that runs the service")
