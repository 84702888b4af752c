"""Convert transcripts of all accepted forms to checked turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

from memstone.core.talk.messages import MessagesInput, as_mapping, left_out, read_message, unknown_fields
from memstone.errors import InvalidInput
from memstone.model.ids import clean_id
from memstone.model.instant import Instant, parse_when, to_instant
from memstone.model.message import Message
from memstone.model.policy import Limits

# --- from the shapes in which transcripts are kept to checked turns ---------------------------------------------------


TranscriptInput: TypeAlias = "MessagesInput | Iterable[Mapping[str, Any] | str]"

_CONTENT: Final = ("content", "text")
_NAME: Final = ("name", "speaker")
_TIME: Final = ("occurred_at", "timestamp", "created_at")
_LATEST_SECONDS: Final = 1e11
"""The year 5138: a larger number counts milliseconds."""

_RUN: Final = ("run_id", "session_id", "conversation_id")
_NAMES: Final = frozenset({"role", *_CONTENT, *_NAME, *_TIME, *_RUN})
_LISTED: Final = "role, content, name, timestamp and run_id"
_NAME_CHARS: Final = 100
_ALIKE: Final = 0.8


@dataclass(frozen=True, slots=True)
class TranscriptMessage:
    """One message of a transcript; a time or a run that it does not name is not set."""

    message: Message
    occurred_at: Instant | None = None
    run_id: str = ""


def read_transcript(
    transcript_input: TranscriptInput, limits: Limits, warnings: list[str] | None = None
) -> list[TranscriptMessage]:
    """Return checked turns, in order, however many; ``InvalidInput`` says which one is wrong and how.

    ``warnings`` is told of fields that were left out.
    """
    items = [transcript_input] if isinstance(transcript_input, (str, Mapping)) else transcript_input
    if not isinstance(items, Iterable) or isinstance(items, (bytes, bytearray)):
        raise InvalidInput(
            f"turns must be messages, not {type(transcript_input).__name__}",
            hint='for example [{"role": "user", "content": "I live in Oslo", "timestamp": "2026-03-02T09:00:00Z"}]',
        )
    unread: set[str] = set()
    messages = [_read_turn(item, f"turns[{at}]", limits, unread) for at, item in enumerate(items)]
    if not messages:
        raise InvalidInput("turns is empty")
    if unread and warnings is not None:
        warnings.append(left_out("turns", unread))
    return messages


def _read_turn(item: object, where: str, limits: Limits, unread: set[str]) -> TranscriptMessage:
    value = None if isinstance(item, str) else as_mapping(item)
    if value is None:
        return TranscriptMessage(read_message(item, where, limits, unread))
    rest = dict(value)
    content, name, when, run = (_pop_first_value(rest, names) for names in (_CONTENT, _NAME, _TIME, _RUN))
    refuse_misspelt(rest, where)
    message = read_message({**rest, "content": content, "name": name}, where, limits, unread)
    return TranscriptMessage(message, _parse_instant(when, f"{where}.{_TIME[0]}"), clean_id(run, f"{where}.run_id"))


def refuse_unknown(turns: Iterable[Any]) -> None:
    """Raise ``InvalidInput`` for a turn with a field that no turn has, for callers who are to be told at once."""
    for at, turn in enumerate(turns):
        values = as_mapping(turn) or {}
        refuse_misspelt(values, f"turns[{at}]")
        for name in sorted(unknown_fields(values) - _NAMES):
            raise InvalidInput(f"turns[{at}].{name[:_NAME_CHARS]}: unknown name", hint=f"a turn has {_LISTED}")


def refuse_misspelt(turn: Mapping[str, Any], where: str) -> None:
    """Raise ``InvalidInput`` for a field that is all but called like one: what it says would be lost."""
    for name in sorted(unknown_fields(turn) - _NAMES):
        found = get_close_matches(_normalize_name(name), _SPELT, n=1, cutoff=_ALIKE)
        if found:
            hint = f"did you mean {_SPELT[found[0]]}?"
            raise InvalidInput(f"{where}.{name[:_NAME_CHARS]}: unknown name", hint=hint)


def _normalize_name(name: str) -> str:
    """Return a name without regard to how its words are joined."""
    return name[:_NAME_CHARS].replace("-", "").replace("_", "").lower()


_SPELT: Final = {_normalize_name(name): name for name in sorted(_NAMES)}


def _parse_instant(value: Any, name: str) -> Instant | None:
    """Return a time as transcripts write it: ISO 8601, or seconds or milliseconds since 1970."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return to_instant(datetime.fromtimestamp(value / 1000 if abs(value) > _LATEST_SECONDS else value, UTC))
        except (OverflowError, ValueError, OSError) as error:
            raise InvalidInput(f"{name} is not a time: {value!r}") from error
    return None if value is None else parse_when(value, name)


def _pop_first_value(rest: dict[str, Any], names: tuple[str, ...]) -> Any:
    """Return the first of these fields that is set; the others that mean the same go with it."""
    values = [rest.pop(name, None) for name in names]
    return next((value for value in values if value is not None), None)
