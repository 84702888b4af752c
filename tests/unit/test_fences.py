from __future__ import annotations

import random
import re

import pytest

from memstone.language.en.own_prose import find_markup_blocks, find_quotations, own_sentences

FENCED = re.compile(
    r"```.*?(?:```|\Z)|\"\"\".*?(?:\"\"\"|\Z)|~~~.*?(?:~~~|\Z)|^-{3,}\s*$.*?(?:^-{3,}\s*$|\Z)"
    r"|<(\w{1,30})[^>]{0,200}>.{0,4000}?</\1>",
    re.DOTALL | re.MULTILINE,
)
"""What a fence is, in one expression: right, but it takes very long on a text full of openings."""

QUOTED = re.compile(
    r"\"[^\"\n]{12,}\"|“[^”\n]{12,}”|(?<![\w'])'[A-Z][^'\n]*(?:'(?=\w)[^'\n]*)*[.!?]?'(?!\w)|(?<=: )\"[^\"\n]+\""
)
PIECES = (
    *"``` ~~~ --- -- <a> </a> <ab> </ab> <abc> </abc> < </ > - a b x é “ ” ' 'A it's I.".split(),
    *('"', '"', '"""', "\n", " ", ": ", "<ab c='1'>", "b" * 28, "abcd" * 50, "I am.", "a b c d e f"),
)


@pytest.mark.parametrize("seed", range(8))
def test_fences_and_quotations_are_what_the_expressions_say(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same texts every time
    found = 0
    for _ in range(2_000):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 24)))
        assert list(find_markup_blocks(text)) == [fence.span() for fence in FENCED.finditer(text)], text
        assert list(find_quotations(text)) == [quote.span() for quote in QUOTED.finditer(text)], text
        found += len(list(find_markup_blocks(text))) + len(list(find_quotations(text)))
    assert found > 500


def test_an_element_ends_within_so_many_characters() -> None:
    assert list(find_markup_blocks("<a>" + "x" * 4_000 + "</a>")) == [(0, 4_007)]
    assert list(find_markup_blocks("<a>" + "x" * 4_001 + "</a>")) == []


def test_what_is_left_out_are_fences_and_what_somebody_says() -> None:
    text = 'I like tea. <p>I am code</p> Bob told me: "I never drink tea at home." I like "Dune".'
    assert [one.text for one in own_sentences(text)] == ["I like tea.", "Bob told me:", 'I like "Dune".']


def test_of_very_many_sentences_the_last_are_read() -> None:
    spans = own_sentences("".join(f"I have {number} cats.\n" for number in range(3_000)))
    assert (spans[0].text, spans[-1].text, len(spans)) == ("I have 2500 cats.", "I have 2999 cats.", 500)
