"""Turns: check messages, remove Memstone's own blocks, mask secrets, and store them as rows.

A turn is the evidence of every fact that comes from it. The same words by the same speaker in the same scope are the
same turn, unless the caller gives a time. So an application that sends the whole conversation again repeats nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from memstone.core.prompt.fence import Fence
from memstone.core.redact import RedactedText, RedactionAction, RedactPolicy, Sensitive, redact_text
from memstone.engine.store.draft import TRUST, Draft, attachment_data, dedupe_value
from memstone.errors import InvalidInput
from memstone.language.language import TextGuard
from memstone.model.instant import Instant
from memstone.model.memory import Kind, Layer, Origin
from memstone.model.message import Message
from memstone.model.policy import Policy
from memstone.model.scope import Scope

# --- secrets are masked before anything is written, whichever call brings them ----------------------------------------


def redaction_of(policy: Policy) -> RedactPolicy:
    """Return what to do with each kind of secret."""
    return _build_redact_policy(policy.curation.redact)


@lru_cache(maxsize=64)
def _build_redact_policy(actions: tuple[tuple[str, str], ...]) -> RedactPolicy:
    return RedactPolicy(**{kind: RedactionAction(action) for kind, action in actions})


@lru_cache(maxsize=64)
def only_masking(policy: RedactPolicy) -> RedactPolicy:
    """Return the same, but mask what would be dropped."""
    drops = {str(kind): RedactionAction.MASK for kind in Sensitive if policy.action(kind) is RedactionAction.DROP}
    return replace(policy, **drops) if drops else policy


def mask_messages(messages: Sequence[Message], policy: RedactPolicy) -> tuple[list[Message], list[str]]:
    """Mask secrets in messages, leave out refused ones, and return warnings."""
    remaining: list[Message] = []
    warnings: list[str] = []
    for at, message in enumerate(messages):
        found = redact_text(message.text, policy)
        if found.found:
            warnings.append(format_redaction_warning(f"messages[{at}]", found))
        if found.text.strip():
            remaining.append(replace(message, text=found.text) if found.found else message)
    return remaining, warnings


def format_redaction_warning(name: str, found: RedactedText) -> str:
    """Return the warning about a text that contained a secret, without the secret."""
    what = "was not stored" if found.dropped else "was masked before it was stored"
    return f"{name} {what}: {', '.join(found.found)}"


def masked_text(text: str, name: str, policy: RedactPolicy) -> tuple[str, list[str]]:
    """Mask secrets in a text; raise ``InvalidInput`` if it must not be stored."""
    found = redact_text(text, policy)
    if found.dropped:
        raise InvalidInput(
            format_redaction_warning(name, found),
            hint="extract.redact is set to drop such texts; mask would keep the rest of the text",
        )
    return found.text, [format_redaction_warning(name, found)] if found.found else []


def masked_metadata(metadata: dict[str, Any], policy: RedactPolicy) -> tuple[dict[str, Any], list[str]]:
    """Mask secrets in metadata values."""
    kinds: dict[Sensitive, None] = {}
    mask = only_masking(policy)

    def without(text: str) -> str:
        found = redact_text(text, mask)
        kinds.update(dict.fromkeys(found.found))
        return found.text

    clean = map_json_texts(metadata, without)
    return clean, [f"metadata was masked before it was stored: {', '.join(kinds)}"] if kinds else []


def map_json_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Change every text in a JSON value; field names stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: map_json_texts(one, change) for name, one in value.items()}
    return [map_json_texts(one, change) for one in value] if isinstance(value, list) else value


# --- what was said, turn by turn --------------------------------------------------------------------------------------


_EVERY_FIELD: Final = ("user_id", "agent_id", "run_id")


IDLE: Final = "idle"
"""Where the data of a turn say that it tells nothing to remember, as far as somebody has judged that."""


@dataclass(slots=True)
class Turn:
    """One message of a conversation and the row it becomes."""

    message: Message
    draft: Draft
    id: str = ""
    said_before: bool = False
    retold: bool = False
    """Taken from the inbox: these are the words of then, whatever was said since."""

    place: int = 0
    """The number of the row, when it was stored before."""

    repeated: int = 0
    """How often a transcript has had the same words, speaker and time before."""

    answered: bool = False
    """The newest words of the user, in a call that goes on with the answer to them."""

    deleted: bool = False
    """A person has deleted it, and these are the old words again: nothing is kept of it or learned from it."""

    @property
    def text(self) -> str:
        """The words as they are stored."""
        return self.message.text

    @property
    def occurred_at(self) -> Instant:
        """When it was said; for known words, the first time."""
        return self.draft.occurred_at


@dataclass(slots=True)
class StorableMessages:
    """Cleaned messages, and what was removed from them."""

    messages: list[Message]
    warnings: list[str]


def clean_messages(messages: Sequence[Message], redaction: RedactPolicy) -> StorableMessages:
    """Remove Memstone's own blocks and secrets from messages.

    One that is nothing but that is left out.
    """
    return StorableMessages(*mask_messages([without_injected(message) for message in messages], redaction))


def without_injected(message: Message) -> Message:
    """Remove Memstone's own blocks from a message."""
    text, found = _STRIPPER.strip(message.text)
    return replace(message, text=text) if found else message


_STRIPPER: Final = Fence(b"any", foreign=True)
"""Removes every fence, whoever made it: what a memory says is never learned again from what it was shown to."""


def turns_of(
    scope: Scope,
    messages: Sequence[Message],
    occurred_at: Instant,
    *,
    dated: bool,
    expires_at: Instant | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> list[Turn]:
    """Return a conversation as turns, in order."""
    turns = [turn_of(scope, message, occurred_at, at, dated=dated) for at, message in enumerate(messages)]
    for turn in turns:
        turn.draft.expires_at, turn.draft.metadata = expires_at, dict(metadata or {})
    newest = next((turn for turn in reversed(turns) if turn.message.role == "user"), None)
    if newest is not None:
        newest.answered = newest is not turns[-1]
    return turns


def turn_of(scope: Scope, message: Message, occurred_at: Instant, at: int, *, dated: bool, repeated: int = 0) -> Turn:
    """Return one message as a turn.

    ``repeated`` is how often a transcript has had the same words, speaker and time before.
    """
    origin = Origin(message.role)
    when = occurred_at if dated else None
    draft = Draft(
        scope=scope,
        text=message.text,
        dedupe=turn_dedupe(scope, message.speaker, message.text, when, repeated),
        kind=Kind.EPISODIC,
        origin=origin,
        trust=TRUST[origin],
        occurred_at=occurred_at,
        role=message.role,
        dated=dated,
        speaker=message.speaker,
        data={"role": message.role, "speaker": message.speaker, "index": at, **attachment_data(message)},
        item=at,
        layer=Layer.TURN,
    )
    return Turn(message, draft, repeated=repeated)


def as_heard(turn: Turn, guard: TextGuard) -> Message:
    """Return the words to learn from, without what others than the user want remembered or done."""
    return guard.blank_suspect_text(turn.message, own=turn.draft.origin == Origin.USER)


def taken_from(turn: Turn, origin: str) -> Turn:
    """Return a turn from another system, with the trust of its origin."""
    turn.draft.origin, turn.draft.trust = Origin(origin), TRUST[Origin(origin)]
    return turn


def origin_of(turn: Turn) -> dict[str, str]:
    """Return the origin of a turn; nothing if its role says it."""
    return {} if turn.draft.origin == turn.message.role else {"origin": str(turn.draft.origin)}


def message_of(turn: Turn) -> dict[str, Any]:
    """Return a turn as a signal contains it."""
    message = turn.message
    when = {"occurred_at": turn.occurred_at, "dated": turn.draft.dated, "repeated": turn.repeated}
    return {"role": message.role, "content": turn.text, "name": message.name, **when, **origin_of(turn)}


def turn_dedupe(scope: Scope, speaker: str, text: str, when: Instant | None, repeated: int = 0) -> str:
    """Return what makes two turns equal: place, speaker, words, and the time if the caller sets it."""
    answer_text = f"turn:{when or ''}:{speaker}" + (f":{repeated}" if repeated else "")
    return dedupe_value(scope, _EVERY_FIELD, speaker=answer_text, key=None, text=text)
