from __future__ import annotations

import sqlite3
import unicodedata
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memstone.errors import InvalidInput, UsageError
from memstone.language.en.dates import day_terms
from memstone.language.text.tokens import MAX_CHARS, document_terms, match_text, query_terms, scope_token
from memstone.language.text.words import STOP_WORDS

TOKENIZER = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"

NASTY = [
    "what's John's mother's maiden name?",
    "it is rock 'n' roll, isn't it",
    "''''", "'", '"', '""" OR 1=1 --', 'a "quoted phrase" and an "open one',
    "-", "--", "a - b", "foo -bar", "key:value", "column : word", ":", "#", "#hashtag", "issue #12", "C++", "c++ c# f#",
    "AND", "OR", "NOT", "NEAR", "a AND b", "NOT a", "NEAR(a b, 5)", "a NEAR/2 b", "AND AND", "{a b}: c", "^start",
    "(", ")", "((a)", "a)", "*", "a*", "prefix* OR",
    "a + b", "+", "a++", "+++", "##", "..", "...", ".net", "@", "a@b@c",
    "\\", "\\u0000", "%", "_", "__", "_-_", "&_'_'", "'_'", "$100", "100%",
    "1,000,000.50", "50 \u20ac", "~/.config", ";drop table f;",
    "\u6771\u4eac\u90fd\u306b\u4f4f\u3093\u3067\u3044\u307e\u3059", "\u6771", "\u6771\u4eac tower C++\u7de8\u7a0b",
    "\ud55c\uad6d\uc5b4", "\uff76\uff9e\uff77\uff9e", "\u304b\u3099", "\u30fb\u30fc\u3001\u3002\u300c\u300d", "\u3099",
    "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22", "\u0e01" + "\u0e31" * 500, "\u0939\u093f\u0928\u094d\u0926\u0940",
    "caf\u00e9 na\u00efve \u0141\u00f3d\u017a \u00d8rsted \u0130stanbul \u1e9e", "e" + "\u0301" * 300,
    "\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3 \u1fb4 \u0345", "\u0419\u0451\u043b\u043a\u0430",
    "\U0001f600", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f", "\U0001f44d\U0001f3fd",
    "\U0001f1e9\U0001f1ea\U0001f1eb", "1\ufe0f\u20e3",
    "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd", "\u0627\u0644\u0639\u064e\u0631\u064e\u0628\u0650\u064a\u0629\u061f",
    "\u202eevil\u202c", "\u0662\u0660\u0662\u0663",
    "zero\u200bwidth\u200d\ufeff", "\u200b", "soft\u00adhyphen", "a\u00a0b\u3000c\u2028d\u0085e", "a\x00b\x1fc\x7f",
    "\ud800 lone", "\ufffe\uffff\ufdd0", "\ue000\U000f0000", "\ufdfa", "\u2160\u24b6\u216b", "\u01c5\u13a0\uab70",
    "", " ", "\t\n", "x" * 100_000, "a-" * 50_000, "word " * 20_000, "\u6771" * 20_000, "'" * 100_000,
]  # fmt: skip


class FullText:
    """One document in a table that splits at blanks only, as the search mirror does."""

    def __init__(self, document: str) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute(f'CREATE VIRTUAL TABLE f USING fts5(body, tokenize="{TOKENIZER}")')
        self.db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(f, 'instance')")
        self.db.execute("INSERT INTO f(body) VALUES (?)", (document,))

    def tokens(self) -> Counter[str]:
        """What the table made of the document."""
        return Counter(term for (term,) in self.db.execute("SELECT term FROM v"))

    def matches(self, word: str) -> bool:
        """True when the word, quoted, finds the document."""
        return self.db.execute("SELECT rowid FROM f WHERE f MATCH ?", (f'"{word}"',)).fetchone() is not None


def finds(question: str, document: str) -> bool:
    return not set(query_terms(question)).isdisjoint(document_terms(document))


# --- what is found ---------------------------------------------------------------------------------------------------

FOUND = [
    ("running", "She runs every day"),
    ("cities", "my favourite city"),
    ("cafe", "the Caf\u00e9 de Flore"),
    ("CAF\u00c9", "cafe\u0301"),
    ("lodz", "born in \u0141\u00f3d\u017a"),
    ("orsted", "\u00d8rsted"),
    ("strasse", "Hauptstra\u00dfe, Stra\u00dfe"),
    ("\u043a\u043e\u0442\u0435\u043d\u043e\u043a \u0415\u043b\u043a\u0430", "\u0451\u043b\u043a\u0430"),
    ("\u03c3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2", "\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3"),
    ("c++", "I write C++."),
    ("C++", "modern C++17"),
    ("c++", "C++'s templates"),
    ("c++", "Objective-C++"),
    ("C#", "(C#)"),
    (".net", "the .NET runtime"),
    ("foo", "foo-bar"),
    ("foo-bar", "foo bar"),
    ("case", "snake_case"),
    ("snake_case", "call snake_case()"),
    ("node", "Node.js"),
    ("node.js", "NODE.JS!"),
    ("gitignore", "a .gitignore file"),
    ("notepad", "Notepad++"),
    ("3.11", "Python 3.11."),
    ("gpt-4o", "asked GPT-4o"),
    ("ann@example.com", "mail Ann@Example.com, please"),
    ("example.com", "ann@example.com"),
    ("ann", "ann.lee@example.com"),
    ("example.com", "https://www.example.com/a/b.html?q=1"),
    ("report.pdf", "/home/ann/Report.pdf"),
    ("report", "/home/ann/Report.pdf"),
    ("word", "some _word_ in italics"),
    ("init", "__init__"),
    ("email", "my e-mail"),
    ("e-mail", "my email"),
    ("wifi", "Wi\u2011Fi"),
    ("USA", "the U.S.A."),
    ("5 pm", "at 5 p.m."),
    ("10000", "it cost 10,000 euros"),
    ("7 May", "May 7th"),
    ("2023", "on 2023-05-07"),
    ("2023", "\u0662\u0660\u0662\u0663"),
    ("AT&T", "at&t"),
    ("John", "John\u2019s car"),
    ("dont", "don\u2019t"),
    ("don't", "don\u00b4t"),
    ("o'brien", "O\u2019Brien"),
    ("brien", "O'Brien"),
    ("homme", "l\u2019homme"),
    ("password", "pass\u200bword"),
    ("hyphen", "hy\u00adphen"),
    ("hello", "\uff28\uff45\uff4c\uff4c\uff4f"),
    ("\u4eac", "\u6771\u4eac\u90fd"),
    ("\u90fd", "\u6771\u4eac\u90fd"),
    ("\u4eac\u90fd", "\u6771\u4eac\u90fd\u306b"),
    ("\u6771", "\u6771"),
    ("\u30ac", "\uff76\uff9e"),
    ("\ud55c\uad6d", "\ud55c\uad6d\uc5b4\ub97c"),
    ("\u0e44\u0e17\u0e22", "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22"),
    ("\u05e9\u05dc\u05d5\u05dd", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd"),
    ("\u0639\u0631\u0628\u064a", "\u0639\u064e\u0631\u064e\u0628\u064a"),
    ("\U0001f600", "great\U0001f600!"),
    ("\u2764", "\u2764\ufe0f"),
    ("\U0001f44d", "\U0001f44d\U0001f3fd"),
    ("\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7\U0001f1e9\U0001f1ea"),
    ("what is that", "that is what it is"),
]

NOT_FOUND = [
    ("C++", "vitamin C"),
    ("C++", "C#"),
    ("C", "C++ and C#"),
    ("C#", "C++"),
    (".net", "a fishing net"),
    ("3.11", "3 of 11"),
    ("\u4eac\u6771", "\u6771\u4eac"),
    ("\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7"),
    ("does she swim", "John Doe"),
    ("What did I do?", "nobody"),
    ("I'll be there", "fell ill"),
    ("\u0939\u093f\u0928\u094d\u0926\u0940", "\u0939\u0928\u0926"),
    ("", "anything"),
    ("?!", "?!"),
]


@pytest.mark.req("R-2")
@pytest.mark.parametrize(("question", "document"), FOUND)
def test_a_question_finds_the_document(question: str, document: str) -> None:
    assert finds(question, document)


@pytest.mark.parametrize(("question", "document"), NOT_FOUND)
def test_a_question_does_not_find_the_document(question: str, document: str) -> None:
    assert not finds(question, document)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I don't like Ann's cats", ["i", "dont", "like", "ann", "cat"]),
        ("we're sure they'd've gone", ["we", "sure", "thei", "gone"]),
        ("c++", ["c++"]),
        ("foo-bar", ["foo-bar", "foo", "bar"]),
        ("1.2.3", ["1.2.3"]),
        ("A B", ["a", "b"]),
        ("\u6771\u4eac\u90fd", ["\u6771", "\u4eac", "\u90fd", "\u6771\u4eac", "\u4eac\u90fd"]),
        ("\u0915\u093f\u0924\u093e\u092c", ["\u0915\u093f\u0924\u093e\u092c"]),
        ("wait...what", ["wait", "what"]),
        ("a\U0001f600b", ["a", "\U0001f600", "b"]),
    ],
)
def test_a_document_is_held_by_these_words(text: str, words: list[str]) -> None:
    assert document_terms(text) == words
    assert match_text(text) == " ".join(words)


# --- words survive the full text -------------------------------------------------------------------------------------


@pytest.mark.req("R-2")
@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_a_nasty_text_is_stored_word_by_word_and_found_by_each_of_its_words(text: str) -> None:
    words = document_terms(text)
    mirror = FullText(match_text(text))
    assert mirror.tokens() == Counter(words)
    assert all(mirror.matches(word) for word in set(words))
    assert all(mirror.matches(word) for word in query_terms(text))


ODD_CHARACTERS = (
    "aC+#.'-_@&1, \"\x00\u0130\u2019\u0301\u0345\u03a3\u6771\u304b\u3099\u0e01\u0e31"
    "\u200d\ufe0f\U0001f600\U0001f1e9\ud800"
)
ODD = st.text(st.sampled_from(ODD_CHARACTERS))


@pytest.mark.req("R-2")
@given(st.one_of(st.text(), ODD))
@example("a\u0345")
@example("\ufffe")
def test_any_text_is_stored_word_by_word(text: str) -> None:
    words = document_terms(text)
    mirror = FullText(" ".join(words))
    assert mirror.tokens() == Counter(words)
    assert all(mirror.matches(word) for word in words)


def test_every_kind_of_character_makes_words_the_full_text_leaves_alone() -> None:
    # of the many characters without case or marks (Han, Hangul, private and unassigned ones) a sample is enough
    plain = ("Lo", "Co", "Cn")
    characters = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in plain or ord(c) % 61 == 0]
    words = document_terms(" ".join(f"a{char}b" for char in characters))
    mirror = FullText(" ".join(words))
    assert len(words) > len(characters)
    assert mirror.tokens() == Counter(words)


@given(st.one_of(st.text(), ODD))
def test_no_word_holds_a_blank_a_quote_or_a_control_character_or_is_too_long(text: str) -> None:
    for word in document_terms(text):
        assert 0 < len(word) <= MAX_CHARS
        assert '"' not in word
        assert not any(char.isspace() or unicodedata.category(char) in ("Cc", "Cf", "Cs") for char in word)


@given(st.one_of(st.text(), ODD))
def test_unicode_form_makes_no_difference(text: str) -> None:
    assert document_terms(unicodedata.normalize("NFD", text)) == document_terms(unicodedata.normalize("NFC", text))


@given(st.text(st.characters(max_codepoint=0x24F)))
def test_a_document_is_found_by_its_own_text_and_case_makes_no_difference(text: str) -> None:
    assert set(query_terms(text, limit=10_000)) <= set(document_terms(text))
    assert document_terms(text.swapcase().swapcase()) == document_terms(text.swapcase())


@given(st.text(st.characters(max_codepoint=0x7E)))
def test_ascii_text_has_the_same_words_when_the_text_around_it_is_not_ascii(text: str) -> None:
    assert document_terms(f"\u00e9 {text}") == ["e", *document_terms(f" {text}")]


def test_a_long_run_is_cut_to_one_short_word() -> None:
    assert document_terms("x" * 1000) == ["x" * MAX_CHARS]


# --- questions -------------------------------------------------------------------------------------------------------


def test_a_question_is_asked_without_stop_words_and_each_word_once() -> None:
    assert query_terms("What did the dogs do with the other dog?") == ["dog", "other"]


def test_a_question_of_stop_words_alone_keeps_them() -> None:
    assert query_terms("To be or not") == ["not"]
    assert query_terms("Who is it?") == ["who", "is", "it"]


def test_stop_words_inside_a_compound_are_not_asked_for() -> None:
    assert query_terms("state-of-the-art") == ["state-of-the-art", "state", "art"]


def test_operators_of_query_languages_are_words() -> None:
    assert query_terms("NEAR NOT alpha* -beta title:gamma") == ["near", "not", "alpha", "beta", "titl", "gamma"]


def test_a_question_in_a_script_without_blanks_asks_for_pairs() -> None:
    assert query_terms("\u6771\u4eac\u90fd") == ["\u6771\u4eac", "\u4eac\u90fd"]
    assert query_terms("\u6771") == ["\u6771"]


def test_a_long_question_keeps_its_start_and_its_end() -> None:
    asked = query_terms(" ".join(f"w{number}" for number in range(1000)))
    assert asked == [f"w{number}" for number in (*range(32), *range(968, 1000))]
    assert query_terms("w1 w2 w3 w4", limit=3) == ["w1", "w2", "w4"]
    assert query_terms("w1 w2", limit=0) == []


def test_a_question_of_limit_words_is_kept_whole() -> None:
    assert len(query_terms(" ".join(f"w{number}" for number in range(64)))) == 64


def test_stop_words_are_few_and_leave_the_month_of_may() -> None:
    assert 60 <= len(STOP_WORDS) <= 120
    assert not STOP_WORDS & {"may", "march", "us", "not"}


# --- days and scopes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question", ["7 May 2023", "May 2023", "in 2023?", "2023-05-07", "2023-05", "last Sunday", "7th of may"]
)
def test_a_day_is_found_by_the_ways_to_say_it(question: str) -> None:
    assert set(query_terms(question)) - {"last", "7th"} <= set(day_terms("2023-05-07T23:30:00.000000Z").split())


def test_a_day_has_its_words_once_and_no_others() -> None:
    assert day_terms("2024-01-29T00:00:00.000000Z") == "29 januari jan 2024 2024-01 2024-01-29 mondai"


def test_what_is_not_a_date_has_no_day() -> None:
    with pytest.raises(InvalidInput):
        day_terms("some day")


@pytest.mark.req("R-34")
def test_scope_tokens_tell_tenants_fields_and_values_apart() -> None:
    parts = [
        ("default", "user_id", "ann"),
        ("defaul", "user_id", "tann"),
        ("default", "agent_id", "ann"),
        ("default", "run_id", "ann"),
        ("default", "tenant_id", "ann"),
        ("default", "user_id", "ann&x=1"),
        ("default", "user_id", "Ann"),
        ("other", "user_id", "ann"),
    ]
    assert len({scope_token(*part) for part in parts}) == len(parts)


@pytest.mark.parametrize(
    ("field", "letter"), [("tenant_id", "t"), ("user_id", "u"), ("agent_id", "a"), ("run_id", "r")]
)
def test_a_scope_token_is_one_short_word(field: str, letter: str) -> None:
    token = scope_token("default", field, "\ud800 &\"'")
    assert token[0] == letter
    assert len(token) == 17
    assert int(token[1:], 16) >= 0


def test_a_scope_token_does_not_change_from_one_version_to_the_next() -> None:
    assert scope_token("default", "user_id", "bob") == "ubcf88e8baafe3ad7"


def test_there_is_no_scope_token_for_other_fields() -> None:
    with pytest.raises(UsageError, match="user_id"):
        scope_token("default", "email", "ann")
