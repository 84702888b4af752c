"""Read queued conversations from their signals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from memstone.core.checks.filters import parse_filters
from memstone.engine.learn.converse import COMPARED_WITH, ConversationToLearn
from memstone.engine.runtime import Runtime
from memstone.engine.store.draft import Details, Draft, verbatim_draft
from memstone.engine.store.turns import Turn, taken_from, turn_of
from memstone.model.event import Signal
from memstone.model.message import Message
from memstone.model.scope import Scope

TOGETHER: Final = 20
"""So many turns of one session are learned from with one question."""

QUEUED: Final = "queued"
"""What is marked so belongs to a session that was kept for later; the rest was put off when a model failed."""

_ALIKE: Final = ("metadata", "prompt", "dated", "expires_at", "keep_turns", "project", COMPARED_WITH)


def is_session(signal: Signal) -> bool:
    """Return whether it is a part of a session, and nobody was promised that it is learned from by itself."""
    return bool(signal.data.get(QUEUED) or signal.data.get("ingested"))


def conversation_of(signals: Sequence[Signal]) -> ConversationToLearn:
    """Return signals of one session as the conversation they were; they agree in how to learn from it."""
    first, data = signals[0], signals[0].data
    turns = [turn for signal in signals for turn in _turns_from_signal(signal)]
    for at, turn in enumerate(turns):
        turn.draft.item = at
    keep_turns, project = data.get("keep_turns", True), project_of(first)
    scopes = (data["metadata"], data["prompt"], data["dated"], data.get("expires_at"), keep_turns, project)
    return ConversationToLearn(first.scope, turns, *scopes, compared_with=parse_filters(data.get(COMPARED_WITH)))


def _turns_from_signal(signal: Signal) -> list[Turn]:
    return [_turn_from_message(signal, one, at) for at, one in enumerate(signal.data["messages"])]


def _turn_from_message(signal: Signal, one: Mapping[str, Any], at: int) -> Turn:
    """Return a turn as it was when it was put off; those of a transcript have their own time and place."""
    message = Message(one["role"], one["content"], one["name"])
    when, dated = one.get("occurred_at", signal.occurred_at), one.get("dated", signal.data["dated"])
    turn = turn_of(signal.scope, message, when, at, dated=dated, repeated=one.get("repeated", 0))
    turn.draft.expires_at, turn.draft.metadata = signal.data.get("expires_at"), dict(signal.data["metadata"])
    turn.retold = True
    return taken_from(turn, one["origin"]) if "origin" in one else turn


def project_of(signal: Signal) -> Scope | None:
    """Return the project in which it was said, as it was then."""
    name = signal.data.get("project")
    return Scope(signal.scope.tenant_id, user_id=name) if name else None


def verbatim_of(runtime: Runtime, signal: Signal, at: int) -> Draft:
    """Return what was to be stored as it is and could not be embedded."""
    data = signal.data
    message = Message(data["role"], signal.user_text, data["name"])
    details = Details(data["kind"], signal.occurred_at, data["key"], data["expires_at"], data["metadata"])
    draft = verbatim_draft(signal.scope, message, details, runtime.policy.dedupe_scope, at)
    draft.also = project_of(signal)
    return draft


def group_signals(signals: Sequence[Signal]) -> Iterator[list[Signal]]:
    """Yield what is learned from together: neighbours of a session, as many as make one question.

    A failed one is learned from by itself.
    """
    group: list[Signal] = []
    for signal in signals:
        if group and not _goes_with(signal, group):
            yield group
            group = []
        group.append(signal)
    if group:
        yield group


def _goes_with(signal: Signal, group: Sequence[Signal]) -> bool:
    both = (group[-1], signal)
    if not all(one.data.get(QUEUED) and not one.attempts for one in both):
        return False
    turns = sum(len(one.data["messages"]) for one in (*group, signal))
    return turns <= TOGETHER and all(both[0].data.get(name) == both[1].data.get(name) for name in _ALIKE)
