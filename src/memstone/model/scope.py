"""Scopes: whose memory a call is about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from memstone.errors import ScopeError
from memstone.model.ids import clean_id

if TYPE_CHECKING:
    from memstone.results import ScopeIds

DEFAULT_TENANT: Final = "default"
EVERYBODY: Final = "*"
"""The user whose memories are everybody's."""

NO_SCOPE: Final = "At least one of user_id, agent_id, or run_id must be provided"


@dataclass(frozen=True, slots=True)
class Scope:
    """Four columns; '' means not set.

    The tenant is the isolation wall and never comes from a request body. The others narrow:
    every field that is set must match, one that is not set is not constrained.
    """

    tenant_id: str = DEFAULT_TENANT
    user_id: str = ""
    agent_id: str = ""
    run_id: str = ""

    @classmethod
    def of(
        cls, *, user_id: object = None, agent_id: object = None, run_id: object = None, tenant_id: str = DEFAULT_TENANT
    ) -> Scope:
        """Return a scope from what a caller passed; ids are trimmed and checked."""
        try:
            return _validate_scope(tenant_id, user_id, agent_id, run_id)
        except TypeError:  # a value that no table can hold is none of an id either, and the check says so
            return _validate_scope.__wrapped__(tenant_id, user_id, agent_id, run_id)

    @property
    def is_open(self) -> bool:
        """True when nobody is named."""
        return not (self.user_id or self.agent_id or self.run_id)

    def holds(self, scope: Scope) -> bool:
        """Return whether a scope, such as that of a link, is part of this one; tenants are not compared."""
        pairs = (
            (self.user_id, scope.user_id),
            (self.agent_id, scope.agent_id),
            (self.run_id, scope.run_id),
        )
        return all(not wanted or has == wanted for wanted, has in pairs)

    def require_owner(self) -> Scope:
        """Return this scope, or raise ``ScopeError`` when nobody is named."""
        if self.is_open:
            raise ScopeError(NO_SCOPE, hint="")
        return self


def scope_ids(scope: Scope) -> ScopeIds:
    """Return the ids of a scope as answers show them: None where nobody is named."""
    return {
        "user_id": scope.user_id or None,
        "agent_id": scope.agent_id or None,
        "run_id": scope.run_id or None,
    }


@lru_cache(maxsize=1024, typed=True)
def _validate_scope(tenant_id: str, user_id: object, agent_id: object, run_id: object) -> Scope:
    """Check a scope. Most calls name the same few people; a scope cannot be changed, so they may share it."""
    if not isinstance(tenant_id, str) or not tenant_id.strip():
        raise ScopeError(
            f"tenant_id must be the name of a tenant, not {tenant_id!r}", hint="no call can act for all tenants"
        )
    return Scope(tenant_id, clean_id(user_id, "user_id"), clean_id(agent_id, "agent_id"), clean_id(run_id, "run_id"))
