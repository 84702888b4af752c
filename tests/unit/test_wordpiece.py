from __future__ import annotations

import sys
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from memstone.adapters.embed.local import VOCAB_SHA256
from memstone.adapters.embed.onnx_model import DATA, MAX_TOKENS, WordPiece
from memstone.errors import ConfigError

VOCABULARY = (DATA / "vocab.txt").read_text("utf-8").removesuffix("\n").split("\n")
OURS = WordPiece(VOCABULARY)
NO_LIMIT = WordPiece(VOCABULARY, max_tokens=sys.maxsize)
SURROGATES = range(0xD800, 0xE000)

NASTY = [
    "",
    " \t\r\n",
    "\x00\x01\x1c\x1d\x1e\x1f\x7f\x85\x9f",
    "a\x0bb\x0cc\x1cd\x85e",  # white space to Python, control characters to BERT
    "non\u00a0breaking\u2003spaces\u3000and\u2028lines\u2029here\u180e!",
    "zero\u200bwidth\u200djoiner\ufeffmark\u00adhyphen",
    "replacement \ufffd character, private \ue000 use",
    "caf\u00e9 cafe\u0301 na\u00efve \u01d5\u0323 \u1e69 Z\u0351\u036b\u0343alg\u0335o",
    "\u0130stanbul I\u0307 \u0131 \u1e9e STRASSE stra\u00dfe \ufb01ne",
    "\u039f\u0394\u039f\u03a3 \u03a3\u03a3 \u03a3 \u03c2 \u1f88\u0345",
    "\u6771\u4eacは\u6771\u4eac, \uf900 \U0002f800 \U00020000 \U0002b820 \U0002b920",
    "\ud55c\uad6d\uc5b4 \u1112\u1161\u11ab \u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22",
    "\u0939\u093f\u0928\u094d\u0926\u0940",
    "\u0627\u0644\u0639\u0631\u0628\u064a\u0651\u0629 \u05e2\u05b4\u05d1\u05b0\u05e8\u05b4\u05d9\u05ea",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f \U0001f1e9\U0001f1ea 1\ufe0f\u20e3",
    "$1,000.50 + 3^2 = <b>~`|\\ don't \u2019s \u2014 \u00ab\u00bb \u00bf? \u20ac5 \u00a9 \u1fef \u2260 \u037e",
    "\U000e0041\U000e007f tags, \u0378 unassigned, \U00011660 young punctuation, \u08d4 a young mark",
    "x" * 100 + " " + "y" * 101 + " " + "z" * 50 + "." + "z" * 60,
    "a\u0301" * 100 + " " + "a\u0301" * 101,  # a hundred letters once the accents are gone
    "unbelievableness supercalifragilisticexpialidocious \u2581word ##ing # #ing [unused1]",
    "https://example.com/a_b?c=d&e=%20f#g user@host.tld C:\\dir\\file.txt",
    "\u5b57" * 300,
    "." * 300,
    "one " * 300,
]


def reference(*, limit: int | None = MAX_TOKENS) -> Any:
    """The ``tokenizers`` package, set up as the model's tokenizer file says."""
    numbers = {token: number for number, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", numbers["[CLS]"]), ("[SEP]", numbers["[SEP]"])]
    )
    if limit is not None:
        tokenizer.enable_truncation(limit)
    return tokenizer


REFERENCE = reference()
REFERENCE_WITHOUT_LIMIT = reference(limit=None)


def tokens(text: str) -> list[str]:
    return [VOCABULARY[number] for number in OURS.encode(text)]


def test_the_vocabulary_is_the_pinned_one() -> None:
    content = (DATA / "vocab.txt").read_bytes()

    assert sha256(content).hexdigest() == VOCAB_SHA256
    assert len(VOCABULARY) == 30_522


def test_a_sentence_becomes_the_known_ids() -> None:
    assert OURS.encode("Hello, world!") == [101, 7592, 1010, 2088, 999, 102]


def test_unknown_words_are_split_into_the_longest_pieces() -> None:
    assert tokens("Embeddings") == ["[CLS]", "em", "##bed", "##ding", "##s", "[SEP]"]


@pytest.mark.parametrize("text", NASTY)
def test_nasty_text_gives_the_ids_of_the_reference(text: str) -> None:
    assert OURS.encode(text) == REFERENCE.encode(text).ids
    assert NO_LIMIT.encode(text) == REFERENCE_WITHOUT_LIMIT.encode(text).ids


@given(st.text())
def test_any_text_gives_the_ids_of_the_reference(text: str) -> None:
    assert NO_LIMIT.encode(text) == REFERENCE_WITHOUT_LIMIT.encode(text).ids


ALPHABET = st.sampled_from("aeinst \t\n.,'-#[]\u0301\u0308\u00e9\u00df\u0130\u03a3\u4e2d\uac00\u200d\u00ad\x1c\x85")


@given(st.text(ALPHABET | st.characters(codec="utf-8"), max_size=400))
def test_text_where_letters_marks_and_separators_meet_gives_the_ids_of_the_reference(text: str) -> None:
    assert OURS.encode(text) == REFERENCE.encode(text).ids
    assert NO_LIMIT.encode(text) == REFERENCE_WITHOUT_LIMIT.encode(text).ids


def characters(size: int) -> Iterator[list[str]]:
    """All but the planes that are empty or private from end to end; of those, the first and the last."""
    for start in [*range(0, 0x40000, size), 0x40000, 0xDF000, 0xE0000, 0xF0000, 0x10F000]:
        yield [chr(number) for number in range(start, start + size) if number not in SURROGATES]


@pytest.mark.slow
def test_every_character_alone_and_within_a_word_gives_the_ids_of_the_reference() -> None:
    for block in characters(4096):
        text = " ".join(f"{character} a{character}b" for character in block)
        assert NO_LIMIT.encode(text) == REFERENCE_WITHOUT_LIMIT.encode(text).ids, hex(ord(block[0]))


@pytest.mark.parametrize("name", ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]"])
def test_a_control_token_in_the_text_is_only_text(name: str) -> None:
    assert tokens(f"a {name} b") == ["[CLS]", "a", "[", *tokens(name[1:-1])[1:-1], "]", "b", "[SEP]"]


@pytest.mark.parametrize("size", [253, 254, 255, 10_000])
def test_a_long_text_is_cut_so_that_it_fits_with_its_ends(size: int) -> None:
    ids = OURS.encode("word " * size)

    assert len(ids) == min(size + 2, 256)
    assert (VOCABULARY[ids[0]], VOCABULARY[ids[-1]]) == ("[CLS]", "[SEP]")


def test_a_lone_surrogate_is_an_unknown_word() -> None:
    assert tokens("a \ud800 b") == ["[CLS]", "a", "[UNK]", "b", "[SEP]"]


def test_a_vocabulary_file_with_windows_line_ends_is_understood() -> None:
    text = "\r\n".join(VOCABULARY) + "\r\n"

    assert WordPiece.from_text(text).encode(NASTY[-4]) == OURS.encode(NASTY[-4])


def test_a_vocabulary_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no \[CLS\].*uncased BERT"):
        WordPiece.from_text("<s>\n</s>\nword\n")
