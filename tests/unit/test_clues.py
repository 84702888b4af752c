from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from memstone.language.en import stance
from memstone.language.en.sentences import expand_contractions
from memstone.language.text.clues import CluedPattern, clues_of, compile_with_clues, is_possible

CURATION = Path(__file__).resolve().parent.parent / "data" / "curation"


@pytest.mark.parametrize(
    ("pattern", "clues"),
    [
        ("tea", {"tea"}),
        (r"\b(?:tea|coffee)\b", {"tea", "coffee"}),
        (r"(?:tea)?cup", {"cup"}),
        (r"cups?", {"cup"}),
        (r"a{0,3}bc", {"bc"}),
        (r"ab{2,3}c", {"ab"}),
        (r"(?:green tea|tea)", {"tea"}),
        (r"(?P<what>\w+) is (?:now )?mine", {"mine"}),
        (r"a\.b", {"a.b"}),
        (r"(?<=hot )tea(?! pot)", {"tea"}),
        (r"tea|\w+", set()),
        (r"(?:tea|)", set()),
        (r"(?:tea)*", set()),
        (r"x", set()),
        (r"[abc]+\d", set()),
        (r"(\w)tea\1", set()),
        (r"(?i:tea)", set()),
        (r"\x74ea", set()),
    ],
)
def test_a_pattern_tells_what_it_cannot_match_without(pattern: str, clues: set[str]) -> None:
    assert clues_of(re.compile(pattern)) == clues


def test_a_pattern_for_capitals_and_small_letters_has_small_clues() -> None:
    assert clues_of(re.compile("(?-i:Tea) TIME", re.IGNORECASE)) == {" time"}
    assert compile_with_clues("Tea", re.IGNORECASE).search("GREEN TEA")
    assert compile_with_clues("is", re.IGNORECASE).search("\u0131\u017f"), (
        "letters that only count as i and s where case is ignored"
    )


def test_a_spread_out_pattern_has_no_clues() -> None:
    assert clues_of(re.compile("tea # leaves", re.VERBOSE)) == frozenset()


def test_what_has_no_clues_is_always_tried() -> None:
    assert is_possible("anything", ())
    assert not is_possible("anything", ("tea",))


def test_a_pattern_with_clues_does_what_the_bare_pattern_does() -> None:
    tea = compile_with_clues(r"\b(tea|coffee)s?\b")
    found = tea.search("two teas")
    assert found is not None
    assert found[1] == "tea"
    assert tea.match("two teas") is None
    assert tea.match("teas") is not None
    assert tea.sub(r"<\1>", "teas and cocoa") == "<tea> and cocoa"
    assert tea.sub("-", "cocoa") == "cocoa"


def _sentences() -> list[str]:
    """Everything that is said in the chats and in the changes that are open to look at."""
    files = [(CURATION / f"{name}.jsonl").read_text("utf-8") for name in ("chats", "changes_open")]
    lines = [line for file in files for line in file.splitlines()]
    return [expand_contractions(text).lower() for line in lines for text in _texts(json.loads(line))]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def _shipped() -> list[str]:
    return [one.pattern.pattern for one in vars(stance).values() if isinstance(one, CluedPattern)]


def test_no_clue_hides_a_match_of_a_shipped_pattern() -> None:
    sentences = _sentences()
    matched = 0
    for pattern in _shipped():
        bare, tried = re.compile(pattern), compile_with_clues(pattern)
        hits = [sentence for sentence in sentences if bare.search(sentence)]
        assert all(tried.search(sentence) for sentence in hits), pattern
        matched += len(hits)
    assert matched > 30


def test_the_shipped_tables_have_clues() -> None:
    without = [pattern for pattern in _shipped() if not compile_with_clues(pattern).clues]
    assert not without
