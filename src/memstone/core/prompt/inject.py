"""Put a block into a list of chat messages; the list that is passed does not change."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

from memstone.errors import InvalidInput
from memstone.language.text.tokens import document_terms
from memstone.language.text.words import UNSPACED
from memstone.model.context import ContextPack

# --- where a block of memory goes in a list of chat messages. The list that is given is never changed -----------------


Messages: TypeAlias = list[dict[str, Any]]

# Two names of one role. Who writes the newer one must not find the older beside it.
_NEWER: Final = "developer"
INSTRUCTING: Final = frozenset({"system", _NEWER})


class Position(StrEnum):
    """Where a block goes.

    ``split``: what stays the same first, what belongs to the question right before the last user message, so that
    prompt caches keep hitting. ``system_first``: all of it in front. ``system_merge``: in the leading system message.
    ``prefix_last_user``: before the words of the last user message, in the same message.
    """

    SPLIT = "split"
    SYSTEM_FIRST = "system_first"
    SYSTEM_MERGE = "system_merge"
    PREFIX_LAST_USER = "prefix_last_user"


def inject(messages: Sequence[Mapping[str, Any]], pack: ContextPack, position: str = Position.SPLIT) -> Messages:
    """Return chat messages with what ``Memory.context`` gave in its place; the list that is given stays as it is."""
    try:
        return insert_block(messages, (pack.text, pack.stable, pack.volatile), Position(position))
    except ValueError as error:
        raise InvalidInput(f"unknown position {position!r}", hint="one of " + ", ".join(Position)) from error


def insert_block(messages: Sequence[Mapping[str, Any]], block: tuple[str, str, str], position: Position) -> Messages:
    """Return the messages with a block of memory in its place; as they were when there is nothing to put in.

    A block is everything under one fence, and the same in two parts: no message holds more than one fence.
    """
    items = [dict(message) if isinstance(message, Mapping) else message for message in messages]
    full_text, stable, volatile = block
    if not full_text:
        return items
    match position:
        case Position.SYSTEM_FIRST:
            return [instruction_message(full_text, items), *items]
        case Position.SYSTEM_MERGE:
            return _merge_into_system(items, full_text)
        case Position.PREFIX_LAST_USER:
            return prefix_last_user(items, full_text)
        case _:
            return _insert_split(items, stable, volatile)


def text_at(block: tuple[str, str, str], position: str) -> str:
    """Return what a model reads of a block that is in a position: all at once, or in its two parts."""
    full_text, stable, volatile = block
    if position != Position.SPLIT:
        return full_text
    return "\n\n".join(part for part in (stable, volatile) if part)


def instruction_message(text: str, messages: Sequence[Any]) -> dict[str, Any]:
    """Return a system message for a list, in the words of that list."""
    newer = any(_message_role(message) == _NEWER for message in messages)
    return {"role": _NEWER if newer else "system", "content": text}


def _insert_split(messages: Messages, stable: str, volatile: str) -> Messages:
    at = last_user(messages)
    place = len(messages) if at is None else at
    before = [instruction_message(stable, messages)] if stable else []
    beside = [instruction_message(volatile, messages)] if volatile else []
    return [*before, *messages[:place], *beside, *messages[place:]]


def _merge_into_system(messages: Messages, text: str) -> Messages:
    if not messages or _message_role(messages[0]) not in INSTRUCTING:
        return [instruction_message(text, messages), *messages]
    return [{**messages[0], "content": _join_content(messages[0].get("content"), text, first=False)}, *messages[1:]]


def prefix_last_user(messages: Messages, text: str) -> Messages:
    """Return the messages with a text before the words of the last user message, or in front where there is none."""
    at = last_user(messages)
    if at is None:
        return [instruction_message(text, messages), *messages]
    changed = {**messages[at], "content": _join_content(messages[at].get("content"), text, first=True)}
    return [*messages[:at], changed, *messages[at + 1 :]]


def _join_content(content: Any, text: str, *, first: bool) -> Any:
    """Return a message's content with a text beside it, in whichever form the content has."""
    if isinstance(content, list):
        part = {"type": "text", "text": text}
        place = sum(map(_is_result, content)) if first else len(content)  # results of tools stand first, or are refused
        return [*content[:place], part, *content[place:]]
    sentence = "" if content is None else str(content)
    return "\n\n".join(part for part in ((text, sentence) if first else (sentence, text)) if part)


def last_user(messages: Messages) -> int | None:
    """Return where the last message is in which the user speaks; None if there is none."""
    places = (at for at in range(len(messages) - 1, -1, -1) if _is_user_message(messages[at]))
    return next(places, None)


def _is_user_message(message: Any) -> bool:
    """Return whether it is a message of the user, and not only what tools gave in the user's place."""
    if _message_role(message) != "user":
        return False
    content = message.get("content")
    return not (isinstance(content, list) and content and all(map(_is_result, content)))


def _is_result(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "tool_result"


def _message_role(message: Any) -> Any:
    """Return whose message it is; something else may be in a list too, and is for somebody else to judge."""
    return message.get("role") if isinstance(message, Mapping) else None


# --- the part of a long text that is shown ----------------------------------------------------------------------------


EXCERPT_CHARS: Final = 220
_BEFORE_MATCH: Final = 60
_START: Final = 2  # so many letters of an English word are those of its stem
_LOOKED: Final = 100_000
"""So many characters of a text are looked through; what it says behind them is found all the same, and not shown."""

_BLANKS: Final = {ord(blank): " " for blank in "\t\n\r\v\f\x1c\x1d\x1e\x1f"}


def cut_excerpt(text: str, match: int = 0, chars: int = EXCERPT_CHARS) -> str:
    """Return the beginning of a text on one line, or the part around a match that stands further on."""
    short = one_line(text)
    if len(short) <= chars:
        return short
    at = len(one_line(text[:match]))
    if at + _BEFORE_MATCH < chars:
        return f"{short[:chars]}\u2026"
    start = min(at - _BEFORE_MATCH, len(short) - chars)
    end = "\u2026" if start + chars < len(short) else ""
    return f"\u2026{short[start : start + chars]}{end}"


def one_line(text: str) -> str:
    """Return a text without its line breaks."""
    return " ".join(text.split())


def place_of(text: str, words: Collection[str]) -> int:
    """Return where most of these analysed words stand close together, for an excerpt; 0 when none is there."""
    if len(text) <= EXCERPT_CHARS or not words:
        return 0
    wanted, near, close = frozenset(words), Counter[str](), deque[tuple[int, str]]()
    best = most = 0
    for at, word in _find_words(text[:_LOOKED], wanted):
        while close and close[0][0] <= at - (EXCERPT_CHARS - _BEFORE_MATCH):
            left = close.popleft()[1]
            near[left] -= 1
            if not near[left]:
                del near[left]
        close.append((at, word))
        near[word] += 1
        if len(near) > most:
            best, most = close[0][0], len(near)
            if most == len(wanted):
                break
    return best


def _find_words(text: str, words: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield each place where one of the words stands.

    In a script without blanks one or two characters are a word.
    """
    known: dict[str, list[str]] = {}  # a long text says most of its words many times
    for at, sentence in (_ascii_candidates if text.isascii() else _unicode_candidates)(text, words):
        here = known.get(sentence)
        if here is None:  # of something endless an excerpt shows the beginning
            here = known[sentence] = [
                term for term in dict.fromkeys(document_terms(sentence[:EXCERPT_CHARS])) if term in words
            ]
        for term in here:
            yield at, term


def _ascii_candidates(text: str, words: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield what stands between blanks and may be one of the words, because it holds how one begins."""
    low, end = text.lower().translate(_BLANKS), 0
    for start in _word_start_pattern(words).finditer(low):
        if start.start() >= end:
            begin, end = low.rfind(" ", end, start.start()) + 1 or end, low.find(" ", start.start())
            end = len(text) if end < 0 else end
            yield begin, text[begin:end]


def _unicode_candidates(text: str, words: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield the same of a text beyond ASCII, with all that has an accent; and the pairs of scripts without blanks."""
    letters, starts = frozenset("".join(words)), _word_start_pattern(words)
    for piece in _piece_pattern(letters).finditer(text):
        at, sentence = piece.start(), piece[0]
        if sentence.isascii():
            if starts.search(sentence.lower()):
                yield at, sentence
        elif len(sentence) > 1:
            yield at, sentence
        elif sentence in letters:
            yield at, text[at : at + 2]


@lru_cache(maxsize=8)  # one question is looked for in many texts
def _word_start_pattern(words: frozenset[str]) -> re.Pattern[str]:
    """Find how one of the words begins."""
    return re.compile("|".join(sorted({re.escape(word[:_START]) for word in words})))


@lru_cache(maxsize=8)
def _piece_pattern(letters: frozenset[str]) -> re.Pattern[str]:
    """Return, for texts beyond ASCII, what finds what stands between blanks or is one of the characters asked for.

    The latter are those of the scripts without blanks.
    """
    single = "".join(sorted(letter for letter in letters if not letter.isascii() and _unspaced_pattern().match(letter)))
    return re.compile(rf"[{single}]|{_spaced_word_pattern()}" if single else _spaced_word_pattern())


@cache
def _unspaced_pattern() -> re.Pattern[str]:
    """Compile a pattern when the first text beyond ASCII comes, because that takes a while."""
    return re.compile(f"[{UNSPACED}]")


def _spaced_word_pattern() -> str:
    return rf"[^\s{UNSPACED}]+"


# --- what models accept -----------------------------------------------------------------------------------------------


class SystemRole(StrEnum):
    """Where a model takes a system message."""

    YES = "yes"
    FIRST_ONLY = "first_only"
    NO = "no"


# By the name of the provider or of the model; both are looked for, in the whole and in the part after the last "/".
_NONE: Final = frozenset({"o1", "o1-mini", "o1-preview", "glm", "glmt", "glm-cn", "zai", "qianfan"})
_FIRST: Final = frozenset({"xiaomi-mimo", "mimo"})


def should_inject(messages: Any, *, enabled: bool) -> bool:
    """Return whether there is anything to put memory into: it is switched on, and there is a list with messages."""
    return enabled and isinstance(messages, list) and bool(messages)


def system_role(*names: str | None) -> SystemRole:
    """Return what is known of a provider and a model, by their names; whoever is strictest decides."""
    known_names = {part for name in names if name for part in _model_name_parts(name)}
    if known_names & _NONE:
        return SystemRole.NO
    return SystemRole.FIRST_ONLY if known_names & _FIRST else SystemRole.YES


def _model_name_parts(name: str) -> set[str]:
    full_text = name.strip().lower()
    provider, _, model = full_text.rpartition("/")
    return {part for part in (full_text, provider, model) if part}
