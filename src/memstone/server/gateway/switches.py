"""What a request, and the settings, want of memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memstone.model.policy import Policy

HEADER: Final = "x-memory"
SCOPE_HEADER: Final = "x-memstone-scope"
_SCOPES: Final = {"session": "session", "apikey": "owner", "owner": "owner", "global": "global"}
_OLD_HEADER: Final = "x-omniroute-no-memory"
_ON: Final = frozenset({"on", "true", "1", "yes"})
_OFF: Final = frozenset({"off", "false", "0", "no", "none"})
_NO_SHOWING: Final = "inject-off"
_NO_LEARNING: Final = "extract-off"


@dataclass(frozen=True, slots=True)
class Switches:
    """To show, to learn, and to let the model search by itself."""

    inject: bool = True
    form: bool = True
    search: bool = False

    @classmethod
    def of(cls, headers: Mapping[str, str], policy: Policy, *, agent_route: bool = False) -> Switches:
        """From the header of a request; the settings have the last word."""
        wishes = _wishes(headers)
        off = bool(wishes & _OFF) or not is_understood(headers) or _old(headers) in _ON
        wanted = policy.retrieval.token_budget > 0 and not off
        enabled = policy.enabled and wanted
        route = policy.inject.agents if agent_route else policy.inject.chat
        return cls(
            inject=enabled and policy.shows and route and _NO_SHOWING not in wishes,
            form=enabled and policy.learns and _NO_LEARNING not in wishes,
            search=wanted and policy.search_tool and _NO_SHOWING not in wishes,
        )


def is_understood(headers: Mapping[str, str]) -> bool:
    """Whether the headers say something that is known; whoever wrote something else wanted less memory, not more."""
    return _wishes(headers) <= _ON | _OFF | {_NO_SHOWING, _NO_LEARNING} and (
        not headers.get(SCOPE_HEADER, "").strip() or scope_of(headers) is not None
    )


def scope_of(headers: Mapping[str, str]) -> str | None:
    """Return how far a request wants to look; None when it does not say so."""
    return _SCOPES.get(headers.get(SCOPE_HEADER, "").strip().lower())


def _wishes(headers: Mapping[str, str]) -> set[str]:
    given = (wish.strip().lower() for wish in headers.get(HEADER, "").split(","))
    return {wish for wish in given if wish}


def _old(headers: Mapping[str, str]) -> str:
    return headers.get(_OLD_HEADER, "").strip().lower()
