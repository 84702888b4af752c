"""How far a request reaches: asking about everybody is for administrators, running the service for its operator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from starlette.requests import Request

from memstone.core.settings.translate import operators
from memstone.errors import Forbidden, ScopeError
from memstone.model.access import Verb
from memstone.server.access import Caller


def reaching(caller: Caller, named: Mapping[str, Any]) -> dict[str, Any]:
    """The scope of a request as keywords; without anybody in it, it takes an administrator or a key that is bound."""
    given = {name: named.get(name) or None for name in ("user_id", "agent_id", "run_id")}
    if not any(given.values()) and not is_bound(caller):
        caller.needs(Verb.ADMIN)
    return given


def is_bound(caller: Caller) -> bool:
    """Whether a key speaks for one user or agent, so that who names nobody means them."""
    return bool(caller.subjects.user_id or caller.subjects.agent_id)


def confirmed(caller: Caller, narrowing: Mapping[str, Any], confirm: str | None, *, dry_run: bool = False) -> None:
    """Go on only if something narrows a deletion, or whoever asks for it names what they are about to empty."""
    if dry_run or any(narrowing.values()):
        return
    reach = caller.subjects.user_id or caller.subjects.agent_id or caller.key.tenant_id
    if confirm != reach:
        choices = f"one of {', '.join(narrowing)}, or " if narrowing else ""
        raise ScopeError(
            "nothing narrows this deletion", hint=f"give {choices}confirm={reach}; dry_run shows what would be deleted"
        )


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
