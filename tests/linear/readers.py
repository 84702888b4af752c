"""Everything that reads a caller's text, as functions of one text.

Public functions of ``memstone.core``, ``memstone.language`` and ``memstone.model`` are found by importing them: one
that takes text is called with it for each of its arguments that is text, and with something plain for the others. A
new one is covered by being there, unless it takes something nobody here knows how to fill: then a test asks for it.
What reads text elsewhere, or by methods of objects, is named below.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import cache, partial
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np
from click import ClickException
from starlette.datastructures import Headers

from memstone.adapters.embed.onnx_model import WordPiece
from memstone.adapters.io.http import Lines
from memstone.cli.arguments import parse_filter_options, parse_metadata, parse_scalar
from memstone.core.access.jwt import Claims
from memstone.core.checks.arguments import checked_metadata
from memstone.core.checks.filters import parse_filters, split_scope
from memstone.core.dialects.anthropic import Messages
from memstone.core.dialects.base import repair_surrogates, text_of
from memstone.core.dialects.chat import Chat
from memstone.core.dialects.responses import Responses
from memstone.core.importers.items import SourceReader
from memstone.core.llm.evidence import Source
from memstone.core.llm.operations import KnownFact, Talk, learn_question, parse_operations
from memstone.core.llm.questions import ModelQuestion
from memstone.core.prompt.fence import Fence
from memstone.core.prompt.inject import Position
from memstone.core.ranking.abstain import BY_WORDS
from memstone.core.redact import RedactPolicy
from memstone.core.talk.messages import read_messages
from memstone.core.talk.transcript import read_transcript
from memstone.engine.store.turns import without_injected
from memstone.errors import MemstoneError
from memstone.language.en.changes import parse_statement
from memstone.language.en.digest import build_extractive_digest
from memstone.language.en.fact_text import Clause
from memstone.language.en.gate.phrases import own_words_of
from memstone.language.en.names import NameSpan
from memstone.language.en.pieces import OUTPUTS
from memstone.language.en.prompt_injection import blank_suspect_text
from memstone.language.text.statements import _with_its_joint
from memstone.model.fact import New, Span
from memstone.model.memory import EntityType
from memstone.model.message import Message
from memstone.model.policy import Identity, Limits, Policy
from memstone.ports.io import HttpRequest
from memstone.server.access import read_headers, user_in_chat
from memstone.server.connections import parse_address
from memstone.server.gateway.sse import SseParser, event_of
from memstone.server.observe import mask_secrets, redact_value
from tests.english import ENGLISH
from tests.linear.patterns import modules

Work = Callable[[str], object]


class FlatCurator:
    """Finds every word worth remembering, so that all that stands behind it is done."""

    def read_words(self, before: str, words: Sequence[str]) -> Any:
        """Return the same numbers for every word."""
        del before
        return np.ones((len(words), OUTPUTS), np.float32)

    def read_list(self, text: str, others: Sequence[str]) -> Any:
        """Return the same numbers for every text."""
        del text
        return np.ones((len(others), 2), np.float32)

    def judge(self, text: str) -> Any:
        """Find every memory ok."""
        del text
        return np.array([2.0, 0.0, 0.0, 0.0], np.float32)


_NOW: Final = datetime(2026, 5, 4, 12, tzinfo=UTC)
_PLAIN: Final = "I like green tea, and my dog is called Bob."
_WIDE: Final = Limits(text_chars=10**9, metadata_bytes=10**9, messages=10**6)
_TEXT: Final = "str"

_FILLED: Final[dict[str, Callable[[str], Any]]] = {
    _TEXT: lambda text: text,
    "object": lambda text: text,
    "bytes": lambda text: text.encode("utf-8", "replace"),
    "Sequence[str]": lambda text: [text],
    "Iterable[str]": lambda text: [text],
    "Collection[str]": lambda text: [text],
    "tuple[str, ...]": lambda text: (text,),
    "tuple[str, str, str]": lambda text: (text, text, text),
    "set[str]": lambda text: {text},
    "Sequence[tuple[str, str]]": lambda text: [("m1", text)],
    "Mapping[int, str]": lambda text: {1: text},
    "Sequence[Message]": lambda text: [Message("user", text)],
    "Message": lambda text: Message("user", text),
    "Source": Source,
    "OwnWords": own_words_of,
    "Clause": lambda text: Clause(text, text),
    "Talk": lambda text: _talk(text),  # noqa: PLW0108 - defined below
    "Iterable[Span]": lambda text: [Span(text, 0, len(text))],
}
"""What holds a text, by the annotation of the argument."""

_OTHERS: Final[dict[str, Callable[[], Any]]] = {
    "int": lambda: 5,
    "float": lambda: 0.5,
    "bool": lambda: False,
    "datetime": lambda: _NOW,
    "date": lambda: date(2026, 5, 4),
    "Instant": lambda: "2026-05-04T12:00:00.000000Z",
    "Curator | None": FlatCurator,
    "Curator": FlatCurator,
    "Statement": lambda: parse_statement(_PLAIN),
    "New": lambda: New(_PLAIN),
    "Limits": lambda: _WIDE,
    "SourceReader": lambda: SourceReader(10**9),
    "RedactPolicy": RedactPolicy,
    "Any": lambda: {"note": _PLAIN},
    "Language": lambda: ENGLISH,
    "NameReader": lambda: ENGLISH.names,
    "IdentityRules": lambda: ENGLISH.identity,
    "TextGuard": lambda: ENGLISH.guard,
    "SettingsAdvice": lambda: ENGLISH.advice,
    "Resolve": lambda: lambda text: ENGLISH.dates.find(text, _NOW, UTC),
    "tuple[tuple[str, str], ...]": tuple,
    "Sequence[tuple[int, int]]": lambda: [(2, 8)],
    "Claims": lambda: Claims("u1", "t1", "reader", "s1", 0, 0, 2**33),
    "Form": lambda: "NFKC",
    "Policy": Policy,
    "Position": lambda: Position.SPLIT,
    "ModelQuestion": lambda: ModelQuestion([{"role": "user", "content": _PLAIN}], {}, "v1"),
    "NameSpan": lambda: NameSpan(7, 12, "Green", EntityType.PERSON),
    "AbstentionWeights": lambda: BY_WORDS,
    "Messages": lambda: [{"role": "user", "content": _PLAIN}],
    "tzinfo": lambda: UTC,
    "Mapping[str, Any]": dict,
    "Mapping[str, float]": dict,
    "Mapping[str, str]": dict,
    "Sequence[PortraitFact]": list,
    "Sequence[Sentence]": list,
    "Sequence[Span]": list,
    "Sequence[Sequence[str]]": lambda: [["tea"]],
    "Sequence[Sequence[Neighbour]]": list,
    "Sequence[Sequence[KnownFact]]": lambda: [[KnownFact("1", _PLAIN)]],
    "Sequence[Sequence[float]]": lambda: [[0.5] * 8],
    "Sequence[Entity]": list,
    "Sequence[Neighbour]": list,
    "Sequence[OwnPattern]": list,
    "Iterable[OwnSlot]": list,
    "Iterable[FoundMemory]": list,
    "Sequence[Any]": list,
    "Sequence[Mapping[str, Any]]": list,
}
"""What an argument that is no text is given."""

_EXPECTED: Final = (MemstoneError, ClickException, ValueError, LookupError, RecursionError)
"""What a text may be refused with."""


@cache
def readers() -> dict[str, Work]:
    """Return all of them, by name."""
    found = {f"{_place(function)}({name})": _called(function, name) for function, name in _by_argument()}
    return found | {name: partial(_tried, work) for name, work in _BY_HAND.items()}


def unfilled() -> list[str]:
    """Return functions that take text and something nobody here knows how to fill."""
    return [_place(function) for function in _functions() if _texts(function) and not _fillable(function)]


def _by_argument() -> Iterator[tuple[FunctionType, str]]:
    for function in _functions():
        if _fillable(function):
            yield from ((function, name) for name in _texts(function))


def _functions() -> Iterator[FunctionType]:
    for module in modules():
        if module.__name__.startswith(("memstone.core.", "memstone.language.", "memstone.model.")):
            yield from (one for one in _own(module) if _place(one) not in NOT_FOR_TEXTS)


def _own(module: ModuleType) -> Iterator[FunctionType]:
    """Give the public functions that a module defines, also those that are wrapped in a cache."""
    for name, value in vars(module).items():
        function = inspect.unwrap(value) if callable(value) and not inspect.isclass(value) else None
        if not isinstance(function, FunctionType) or inspect.iscoroutinefunction(function):
            continue
        if function.__module__ == module.__name__ and not name.startswith("_"):
            yield function


def _place(function: FunctionType) -> str:
    return f"{function.__module__.removeprefix('memstone.')}.{function.__name__}"


def _required(function: FunctionType) -> list[inspect.Parameter]:
    value = inspect.signature(function).parameters.values()
    return [one for one in value if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


def _texts(function: FunctionType) -> list[str]:
    return [one.name for one in _required(function) if str(one.annotation) in _FILLED]


def _fillable(function: FunctionType) -> bool:
    return all(str(one.annotation) in {*_FILLED, *_OTHERS} for one in _required(function))


def _called(function: FunctionType, hostile: str) -> Work:
    """Return a function that passes its text to one argument, and something plain to the others."""
    wanted = _required(function)

    def work(text: str) -> object:
        values = {one.name: _value(one, text if one.name == hostile else _PLAIN) for one in wanted}
        positional = [values.pop(one.name) for one in wanted if one.kind is not one.KEYWORD_ONLY]
        return _tried(lambda _: function(*positional, **values), text)

    return work


def _value(one: inspect.Parameter, text: str) -> Any:
    kind = str(one.annotation)
    return _FILLED[kind](text) if kind in _FILLED else _OTHERS[kind]()


def _tried(work: Work, text: str) -> object:
    try:
        found = work(text)
        return list(found) if isinstance(found, Iterator) else found
    except _EXPECTED:
        return None


# --- by hand ----------------------------------------------------------------------------------------------------------


def _in_pieces(text: str) -> object:
    events, raw = SseParser(), text.encode("utf-8", "replace")
    return [list(events.feed(raw[at : at + 64])) for at in range(0, len(raw), 64)]


def _in_lines(text: str) -> object:
    lines, raw = Lines(HttpRequest("GET", "http://127.0.0.1/")), text.encode("utf-8", "replace")
    return [lines.feed(raw[at : at + 64]) for at in range(0, len(raw), 64)] + [lines.end()]


def _headers(text: str) -> object:
    raw = text.encode("utf-8", "replace")
    found = read_headers(Headers(raw=[(b"x-memstone-user", raw), (b"x-session-id", raw)]))
    return user_in_chat(found, {"user": text}, Identity(), trusted=True)


def _chat(dialect: Any, text: str) -> object:
    lines: Sequence[Mapping[str, Any]] = [
        {"role": "user", "content": text},
        {"role": "user", "content": [{"type": "text", "text": text}, {"type": "input_text", "text": text}]},
    ]
    body = {"model": "m", "messages": lines, "input": lines}
    return (
        dialect.question(body),
        repair_surrogates(dialect.messages(body)),
        dialect.get_messages(body),
        dialect.goes_on(body),
    )


def _talk(text: str) -> Talk:
    messages = [Message("user", text), Message("assistant", text)]
    return Talk(messages, messages, [KnownFact("1", text)], _NOW, withheld=[text], language=ENGLISH)


def _operations(text: str, talk: str) -> object:
    """Read an answer of a model that says the text in every field, about a conversation."""
    one = {"op": "ADD", "memory": 1, "text": text, "turns": [1], "quote": text, "category": text, "about": text}
    items = [one, {**one, "op": "UPDATE"}, {**one, "text": _PLAIN}, {**one, "quote": "nobody said this"}]
    return parse_operations(json.dumps({"operations": items}), _talk(talk))


_WORDPIECE: Final = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##a", "##b", "tea", "##s", ".", "7"])
_FENCE: Final = Fence(b"key", foreign=True)

_BY_HAND: Final[dict[str, Work]] = {
    "WordPiece.encode": _WORDPIECE.encode,
    "WordPiece.words": _WORDPIECE.words,
    "Fence.strip": _FENCE.strip,
    "disarmed words of the user": lambda text: blank_suspect_text(Message("user", text), own=True),
    "without_injected": lambda text: without_injected(Message("user", text)),
    "Events.feed": _in_pieces,
    "event_of": lambda text: event_of(text.encode("utf-8", "replace")),
    "Lines.feed": _in_lines,
    "headers": _headers,
    "answer of a model": lambda text: _operations(text, _PLAIN),
    "answer of a model about a long talk": lambda text: _operations(_PLAIN, text),
    "question for a model": lambda text: learn_question(_talk(text)),
    "Chat": partial(_chat, Chat()),
    "Messages": partial(_chat, Messages()),
    "Responses": partial(_chat, Responses()),
    "text_of": text_of,
    "digest of one turn": lambda text: build_extractive_digest([Message("user", text)]),
    "digest of many turns": lambda text: build_extractive_digest(
        [Message("user" if at % 2 else "assistant", line) for at, line in enumerate(text.split("\n"))]
    ),
    "read_messages": lambda text: read_messages([{"role": "user", "content": text}], _WIDE),
    "read_messages of many": lambda text: read_messages([{"role": "user", "content": one} for one in text], _WIDE),
    "read_transcript": lambda text: read_transcript(
        [{"role": "user", "content": one, "timestamp": text[:100]} for one in text.split("\n")], _WIDE
    ),
    "filter value": lambda text: parse_filters({"note": text}),
    "filter name": lambda text: parse_filters({text: 1}),
    "filter of many": lambda text: parse_filters({"OR": [{f"n{at}": one} for at, one in enumerate(text)]}),
    "filter of JSON": lambda text: parse_filters(json.loads(text)),
    "filter of scopes": lambda text: split_scope({"AND": [{"user_id": one} for one in text]}),
    "metadata": lambda text: checked_metadata({"note": text, "notes": [text], text: 1}, _WIDE),
    "metadata of a command": lambda text: parse_metadata([f"note={text}"]),
    "filters of a command": lambda text: parse_filter_options([f"note={text}"]),
    "value of a command": parse_scalar,
    "value of the log": redact_value,
    "text of the log": mask_secrets,
    "address": parse_address,
    "part of a sentence": lambda text: _with_its_joint(text, len(text) // 2, len(text) // 2 + 4),
}

NOT_FOR_TEXTS: Final = frozenset(
    """
    core.access.passwords.hash_password core.access.passwords.is_correct_password
    language.en.gate.phrases.any_of core.redact.pattern_finder core.prompts.prompt_text
    language.text.clues.compile_with_clues language.text.clues.is_possible core.llm.questions.system_message
    core.checks.own_rules.runs_away core.settings.lenient.scope_key language.lists.read_data
    """.split()
)
"""What makes expressions, reads those of an operator (which are short), looks up names of our own, takes long on
purpose, or compares statements, which are short too."""
