"""What the curator is fitted to: labelled messages, changes of memories, and memories that readers have judged.

``scripts/fit_curator.py`` shows these to the network. Nothing here needs torch.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from memstone.language.en.changes import bare_words
from memstone.language.en.fact_text import Clause, build_wording
from memstone.language.en.pieces import ABOUT, JUDGEMENTS, KINDS, WHYS
from memstone.language.en.verbs import lemmatize_verb

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "benchmarks" / "quality" / "messages"
CHANGES = ROOT / "tests" / "data" / "curation"
JUDGED = ROOT / "benchmarks" / "quality" / "judged"

SHORTEST: Final = 3
UNPOINTED, NOTED, CONTRACTED = 0.15, 0.25, 0.5
"""How often a fact by itself is shown without its punctuation, in the third person, and with "I'm" for "I am"."""

MOST_KNOWN: Final = 24
"""So many of the memories of a person are looked at, the nearest first."""

SOME: Final = 0.5
"""How many of the facts and of the words not worth keeping serve as judged memories."""

UNTOUCHED, CHANGED, SAME = 0, 1, 2
CHANGING: Final = ("author_v",)
_LIGHT: Final = frozenset(
    "user user's the a an is are has have in of to and for at on with he she they his her their from by as".split()
)
_WORD: Final = re.compile(r"\S+")


class Nearness(Protocol):
    """How near texts are to each other."""

    def learn(self, texts: Sequence[str]) -> None:
        """Take in texts that will be compared."""
        ...

    def between(self, text: str, others: Sequence[str]) -> Any:
        """Return the cosines of a text and some others."""
        ...


@dataclass
class Piece:
    """A contiguous part of a message by its words, and what it is."""

    start: int
    end: int
    keep: bool
    kind: int
    about: int
    leans: bool = False
    """Whether the fact it states has words that stand elsewhere in the message."""

    answers: bool = False
    """Whether it has words of what was said before."""


@dataclass
class Message:
    """A labelled message: its words, and the pieces it falls into."""

    author: str
    before: str
    words: list[str]
    pieces: list[Piece] = field(default_factory=list)


@dataclass
class Memory:
    """A memory beside a message: how it may be worded, and what the message does to it."""

    wordings: list[list[int]]
    outcome: int = UNTOUCHED


@dataclass
class Case:
    """A message, in its ways to be read, and the memories known when it was said, the nearest first."""

    author: str
    messages: list[list[int]]
    memories: list[Memory]


def shorten(messages: Sequence[dict[str, Any]], author: str, draw: random.Random) -> Iterator[Message]:
    """Yield what people also say all by itself: a fact in a plain sentence, as a note, or something that is none."""
    for answer in messages:
        for one in answer["facts"]:
            text = one["fact"]
            if text.startswith("User") and '"' not in text:
                message = text if draw.random() < NOTED else first_person(text, draw)
                message = message.rstrip(".") if draw.random() < UNPOINTED else message
                words = (message.lower() if draw.random() < UNPOINTED else message).split()
                piece = Piece(0, len(words), keep=True, kind=KINDS.index(one["kind"]), about=ABOUT.index(one["about"]))
                yield Message(author, "", words, [piece])
        for one in answer["rest"]:
            words = one["quote"].split()
            if len(words) > 1:
                yield Message(
                    author, "", words, [Piece(0, len(words), keep=False, kind=WHYS.index(one["why"]), about=0)]
                )


def first_person(fact: str, draw: random.Random) -> str:
    """Return a sentence about the user as they would say it."""
    first, _, rest = fact.partition(" ")
    if first == "User's":
        return _of_own(f"My {rest}")
    verb, _, more = rest.partition(" ")
    text = {"is": "am", "has": "have", "does": "do", "was": "was"}.get(
        verb, lemmatize_verb(verb) if verb.endswith("s") else verb
    )
    answer_text = _of_own(f"I {text} {more}")
    if draw.random() < CONTRACTED:
        answer_text = (
            answer_text.replace("I am ", "I'm ", 1)
            .replace("do not ", "don't ", 1)
            .replace("I have been", "I've been", 1)
        )
    return answer_text


def _of_own(text: str) -> str:
    return text.replace("User's", "my").replace("User", "me").replace(" their ", " my ")


def read_messages(paths: Sequence[Path]) -> Iterator[Message]:
    """Yield all labelled messages of some files, each in words and pieces."""
    for path in paths:
        author = path.stem
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        yield from (_message(author, one) for one in lines)
        yield from shorten(lines, f"{author} short", random.Random(0))  # noqa: S311 - no secret


def _message(author: str, answer: dict[str, Any]) -> Message:
    text = answer["message"]
    spans = [match.span() for match in _WORD.finditer(text)]
    found = Message(author, answer.get("before", ""), [text[start:end] for start, end in spans])
    pieces, taken = [], 0
    marked = [
        (one["quote"], (True, KINDS.index(one["kind"]), ABOUT.index(one["about"]), *_taken_from(answer, one)))
        for one in answer["facts"]
    ]
    marked += [(one["quote"], (False, WHYS.index(one["why"]), 0, False, False)) for one in answer["rest"]]
    for quote, labels in marked:
        at = text.find(quote)
        inside = [place for place, (start, end) in enumerate(spans) if start < at + len(quote) and end > at]
        if at >= 0 and inside:
            pieces.append(Piece(inside[0], inside[-1] + 1, *labels))
    for piece in sorted(pieces, key=lambda one: one.start):
        if piece.start >= taken:
            found.pieces.append(piece)
            taken = piece.end
    return found


def _taken_from(answer: dict[str, Any], one: dict[str, Any]) -> tuple[bool, bool]:
    """Return whether a fact has words that are not in its quote but elsewhere in the message, or were said before."""
    missing = {word for word in bare_words(one["fact"]) - bare_words(one["quote"]) if not word[0].isdigit()}
    leans = bool(missing & bare_words(answer["message"]))
    return leans, not leans and bool(missing & bare_words(answer.get("before", "")))


def read_cases(by: Any) -> list[Case]:
    """Return the labelled changes that come with a few memories each."""
    files = {"open": CHANGES / "changes_open.jsonl"} | {
        one.stem: one for one in sorted((CHANGES / "fit").glob("*.jsonl"))
    }
    lines = ((author, line) for author, path in files.items() for line in path.read_text("utf-8").splitlines())
    return [_case(f"changes_{author}", json.loads(line), by) for author, line in lines]


def _case(author: str, answer: dict[str, Any], by: Any) -> Case:
    right = answer.get("target") or answer.get("known")
    outcome = {"SUPERSEDE": CHANGED, "NONE": SAME}.get(answer["label"], UNTOUCHED)
    memories = [
        Memory([by.encode(one["text"])], outcome if right and one["id"] == right else UNTOUCHED)
        for one in answer["existing"]
    ]
    return Case(author, [by.encode(answer["new"])], memories)


def quiet_cases(paths: Sequence[Path], by: Any, near: Nearness) -> Iterator[Case]:
    """Yield messages that change nothing, beside other things that the same person has told: most messages are so.

    Left out are people who tell of changes all the time, and whose changes nobody has labelled.
    """
    for path in paths:
        rows = _lines(path) if path.stem not in CHANGING else []
        facts = [(one["person"], at, fact) for at, one in enumerate(rows) for fact in one["facts"]]
        near.learn([one["message"] for one in rows] + [fact["fact"] for _, _, fact in facts])
        for at, one in enumerate(rows):
            own = [fact for person, place, fact in facts if person == one["person"] and place != at]
            if own:
                yield Case(f"{path.stem} quiet", [by.encode(one["message"])], _nearest(one, own, {}, by, near))


def series_cases(paths: Sequence[Path], by: Any, near: Nearness) -> Iterator[Case]:
    """Yield messages of people over time, beside what is known of them: what each changes or repeats is labelled."""
    for path in paths:
        known: dict[str, dict[str, dict[str, Any]]] = {}
        lines = _lines(path)
        near.learn([one["message"] for one in lines] + [fact["fact"] for one in lines for fact in one["facts"]])
        for one in lines:
            own = known.setdefault(one["person"], {})
            marked = {again["fact"]: SAME for again in one["repeats"]}
            marked |= {change["fact"]: CHANGED for change in one["changes"]}
            if own:
                visible = [one["message"], *{change["quote"] for change in one["changes"]}]
                for at, message in enumerate(visible):
                    outcomes = marked if at == 0 else _of_quote(one, message)
                    memories = _nearest(one, list(own.values()), outcomes, by, near)
                    yield Case(path.stem if at == 0 else f"{path.stem} part", [by.encode(message)], memories)
            for change in one["changes"]:
                own.pop(change["fact"], None)
            own |= {fact["id"]: fact for fact in one["facts"]}


def _of_quote(one: dict[str, Any], text: str) -> dict[str, int]:
    return {change["fact"]: CHANGED for change in one["changes"] if change["quote"] == text}


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _nearest(
    one: dict[str, Any], own: Sequence[dict[str, Any]], outcomes: dict[str, int], by: Any, near: Nearness
) -> list[Memory]:
    """Return what is known, in the order in which the product looks at it."""
    message = one["message"]
    cosines = near.between(message, [fact["fact"] for fact in own])
    words = _words(message)
    shared = [min(3, len(words & _words(fact["fact"]))) for fact in own]
    order = np.argsort([-cosine - 0.15 * common for cosine, common in zip(cosines, shared, strict=True)])
    ordered = [own[int(at)] for at in order[:MOST_KNOWN]]
    rest = [own[int(at)] for at in order[MOST_KNOWN:] if own[int(at)].get("id") in outcomes]
    return [Memory(_wordings(fact, by), outcomes.get(fact.get("id", ""), UNTOUCHED)) for fact in [*ordered, *rest]]


def _wordings(fact: dict[str, Any], by: Any) -> list[list[int]]:
    """Return a fact as somebody would put it, and as it is stored: told about the user, or in their own words."""
    stored = build_wording(Clause(fact["quote"], fact["quote"], is_own=fact["about"] == "user"))
    texts = [str(fact["fact"]), *([stored.text] if stored else []), f'User said: "{fact["quote"]}"']
    return [by.encode(text) for text in texts]


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9']+", text.lower())) - _LIGHT


def read_judged(by: Any) -> list[tuple[str, list[int], int]]:
    """Return memories that readers have judged: author, text, and what they found."""
    return [
        (one["author"], by.encode(one["memory"]), JUDGEMENTS.index(one["judged"]))
        for path in sorted(JUDGED.glob("memories_*.jsonl"))
        for one in _lines(path)
    ]


def labelled_judgements(paths: Sequence[Path], by: Any, draw: random.Random) -> Iterator[tuple[str, list[int], int]]:
    """Yield facts as their authors put them, which are understood, and words that they found not worth keeping."""
    for path in paths:
        for one in _lines(path):
            for fact in one["facts"]:
                if draw.random() < SOME:
                    yield f"{path.stem} weak", by.encode(str(fact["fact"])), JUDGEMENTS.index("ok")
            for other in one["rest"]:
                if len(other["quote"].split()) > SHORTEST and draw.random() < SOME:
                    text = build_wording(Clause(other["quote"], other["quote"]))
                    output = text.text if text else f'User said: "{other["quote"]}"'
                    yield f"{path.stem} weak", by.encode(output), JUDGEMENTS.index("worthless")
