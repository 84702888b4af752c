"""Conversations with questions whose answers are known, read from the files of others: LoCoMo and LongMemEval."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memstone.errors import InvalidInput

ADVERSARIAL: Final = "adversarial"
"""Questions about what nobody said. They have evidence all the same, but finding it is not what they are about."""

_LOCOMO_KINDS: Final = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: ADVERSARIAL}
_LOCOMO_SESSION: Final = re.compile(r"session_(\d+)")
_LOCOMO_TURN: Final = re.compile(r"D:?(\d+):(\d+)")  # a few entries name several turns, or have a colon too many
_LOCOMO_TIMES: Final = ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %b, %Y")
_LONGMEMEVAL_TIME: Final = re.compile(r"(\d{4}/\d\d/\d\d) \(\w+\) (\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class Turn:
    """Something that was said."""

    id: str
    session: str
    speaker: str
    text: str
    said_at: datetime | None = None
    role: str = "user"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the turns and sessions that answer it."""

    id: str
    text: str
    kind: str
    turns: frozenset[str]
    sessions: frozenset[str]

    def wanted(self, by: str) -> frozenset[str]:
        """Return what should be found."""
        return self.turns if by == "turn" else self.sessions


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation and what is asked about it; ``asked_at`` where the file says when."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    asked_at: datetime | None = None


def locomo(data: Any) -> Iterator[Case]:
    """Yield the cases of LoCoMo: a few long conversations of two people, each with many questions.

    The evidence is turns.
    """
    for sample in data:
        turns = tuple(_locomo_turns(sample["conversation"]))
        sessions = {turn.id: turn.session for turn in turns}
        questions = (
            _locomo_question(f"{sample['sample_id']}-q{at}", qa, sessions) for at, qa in enumerate(sample["qa"])
        )
        yield Case(sample["sample_id"], turns, tuple(questions))


def _locomo_turns(conversation: dict[str, Any]) -> Iterator[Turn]:
    numbers = sorted(int(match[1]) for name in conversation if (match := _LOCOMO_SESSION.fullmatch(name)))
    for session in (f"session_{number}" for number in numbers):
        said_at = _locomo_time(conversation.get(f"{session}_date_time", ""))
        for turn in conversation[session]:
            visible = turn.get("blip_caption")  # of a picture; many answers stand only there
            text = f"{turn.get('text', '')} [shares {visible}]" if visible else turn.get("text", "")
            yield Turn(turn["dia_id"], session, turn["speaker"], text, said_at)


def _locomo_question(name: str, qa: dict[str, Any], sessions: dict[str, str]) -> Question:
    named = (f"D{int(s)}:{int(n)}" for entry in qa.get("evidence", []) for s, n in _LOCOMO_TURN.findall(entry))
    turns = frozenset(turn for turn in named if turn in sessions)
    return Question(name, qa["question"], _LOCOMO_KINDS[qa["category"]], turns, frozenset(map(sessions.get, turns)))  # type: ignore[arg-type]


def _locomo_time(text: str) -> datetime | None:
    for form in _LOCOMO_TIMES:
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def longmemeval(data: Any) -> Iterator[Case]:
    """Yield the cases of LongMemEval: many users with one question each.

    The evidence is sessions, and turns marked in them.
    """
    for item in data:
        name, kind = item["question_id"], item["question_type"]
        kind += "_abs" if name.endswith("_abs") else ""
        turns, marked = _longmemeval_turns(item)
        asked = Question(name, item["question"], kind, marked, frozenset(item["answer_session_ids"]))
        yield Case(name, turns, (asked,), _longmemeval_time(item.get("question_date") or ""))


def _longmemeval_turns(item: dict[str, Any]) -> tuple[tuple[Turn, ...], frozenset[str]]:
    turns: list[Turn] = []
    marked: set[str] = set()
    sessions = zip(item["haystack_session_ids"], item["haystack_dates"], item["haystack_sessions"], strict=True)
    for session, date, message in sessions:
        for at, one in enumerate(message):
            turn = Turn(f"{session}#{at}", session, one["role"], one["content"], _longmemeval_time(date), one["role"])
            turns.append(turn)
            marked.update({turn.id} if one.get("has_answer") else ())
    return tuple(turns), frozenset(marked)


def _longmemeval_time(text: str) -> datetime | None:
    found = _LONGMEMEVAL_TIME.match(text)
    return datetime.strptime(f"{found[1]} {found[2]}", "%Y/%m/%d %H:%M").replace(tzinfo=UTC) if found else None


FORMATS: Final[dict[str, Callable[[Any], Iterator[Case]]]] = {"locomo": locomo, "longmemeval": longmemeval}


@contextmanager
def reading(path: Path, form: str) -> Iterator[None]:
    """Say which file it is that cannot be understood, and what it should have been."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"{path.name} is not in the format {form}: {type(error).__name__}: {error}"
        raise InvalidInput(problem, hint="see docs/quality.md for where the files come from") from error


def load(form: str, path: Path) -> list[Case]:
    """Return the cases of a file."""
    with reading(path, form):
        return list(FORMATS[form](json.loads(path.read_text("utf-8"))))


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSONL file."""
    try:
        return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    except ValueError as error:
        raise InvalidInput(f"{path.name} is not JSONL: {error}") from error
