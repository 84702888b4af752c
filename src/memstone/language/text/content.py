"""Find the significant words of a text, in any of the listed languages."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final

from memstone.language.text.words import STOP_WORDS, fold_letters

_FILES: Final = ("function_words.toml", "questions.toml", "first_person.toml")
_KINDS: Final = ("words", "own", "self")
_TELLING: Final = (*_KINDS, "courtesies")
_ENGLISH: Final = "en"
_CHUNK: Final = re.compile(r"[^\W_]+")
_RUN: Final = re.compile(
    "[\u3041-\u3096\u309b-\u309f]+"  # hiragana
    "|[\u30a1-\u30ff]+"  # katakana
    "|[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]+"  # Han
    "|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"  # Thai, Lao, Burmese, Khmer
    "|[^\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003fffd]+"
)
_HIRAGANA: Final = re.compile("[\u3041-\u3096]")
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u30a1-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
)
_HANGUL: Final = re.compile("[\uac00-\ud7a3]")
_BEGINNING: Final = 4
_SYLLABLES: Final = 2
"""Words of one stem begin alike: with so many letters, or syllables where a letter is one, and half of the longer."""


@cache
def _load_words() -> dict[str, dict[str, set[str]]]:
    """Return the words of all the files by language and by what they are listed as."""
    found = dict[str, dict[str, set[str]]]()
    for name in _FILES:
        for language, kinds in tomllib.loads(
            files("memstone.language.text").joinpath("data", name).read_text("utf-8")
        ).items():
            for kind, words in kinds.items():
                found.setdefault(language, {}).setdefault(kind, set()).update(words.split())
    return found


@cache
def _function_words() -> tuple[frozenset[str], re.Pattern[str]]:
    """Return the words that say nothing by themselves, folded, and what to take out of scripts without blanks."""
    words, within = set(STOP_WORDS), set[str]()
    for kinds in _load_words().values():
        within.update(map(fold_letters, kinds.get("within", ())))
        for kind in _KINDS:
            words.update(_CHUNK.findall(fold_letters(" ".join(kinds.get(kind, ())))))
    longest_first = sorted(within, key=lambda one: (-len(one), one))
    return frozenset(words), re.compile("|".join(map(re.escape, longest_first)))


@cache
def _telling_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the small words of other languages that are none in English, and those of English alone, as written."""
    others = {
        word
        for language, kinds in _load_words().items()
        for kind in _TELLING
        if language != _ENGLISH
        for word in kinds.get(kind, ())
        if len(word) > 1
    }
    own = {word for kind in _KINDS for word in _load_words()[_ENGLISH].get(kind, ())}
    return frozenset(others - own - STOP_WORDS - _load_words()[_ENGLISH]["alike"]), STOP_WORDS - (others - own)


def is_foreign(text: str) -> bool:
    """Return whether more small words of other languages are in a text than of English alone."""
    foreign, english = _telling_words()
    words = [chunk.casefold() for chunk in _CHUNK.findall(text)]
    return sum(map(foreign.__contains__, words)) > sum(map(english.__contains__, words))


@cache
def _languages_by_word() -> dict[str, frozenset[str]]:
    """Return the languages in which a small word is one, as it is written without accents."""
    found = {word: {_ENGLISH} for word in STOP_WORDS}
    for language, kinds in _load_words().items():
        for kind in _TELLING:
            for word in _CHUNK.findall(fold_letters(" ".join(kinds.get(kind, ())))):
                found.setdefault(word, set()).add(language)
    return {word: frozenset(languages) for word, languages in found.items()}


def languages_of(text: str) -> frozenset[str]:
    """Return the languages that a text may be in, by its small words: those with most of them, or one less."""
    counts = Counter(
        language for chunk in _CHUNK.findall(fold_letters(text)) for language in _languages_by_word().get(chunk, ())
    )
    best = max(counts.values(), default=0)
    return frozenset(language for language, count in counts.items() if count >= max(1, best - 1))


@cache
def _courtesies() -> tuple[frozenset[str], re.Pattern[str]]:
    """Return the words of greetings and thanks, folded, and those of scripts without blanks."""
    listed = {fold_letters(word) for kinds in _load_words().values() for word in kinds.get("courtesies", ())}
    unspaced = sorted((word for word in listed if _is_unspaced(word)), key=lambda one: (-len(one), one))
    return frozenset(_CHUNK.findall(" ".join(listed))), re.compile("|".join(map(re.escape, unspaced)))


def is_courtesy(text: str) -> bool:
    """Return whether a text greets or thanks in one of the languages, and nothing else."""
    (polite, within), (known, _) = _courtesies(), _function_words()
    sentence = fold_letters(text)
    words = _CHUNK.findall(within.sub(" ", sentence))
    thanks = any(word in polite for word in words) or within.search(sentence) is not None
    return thanks and all(word in polite or word in known for word in words)


def content_words(text: str, limit: int = 0) -> list[str]:
    """Return the words that say what a text is about, each once; of scripts without blanks, neighbouring characters.

    With ``limit`` only so many, the first and the last of them: a message says what it wants at its start or its end.
    """
    known, _ = _function_words()
    words = (word for chunk in _CHUNK.findall(fold_letters(text)) for word in _words_of(chunk))
    found = list(dict.fromkeys(word for word in words if word not in known))
    return found if not limit or len(found) <= limit else found[: limit // 2] + found[len(found) - limit // 2 :]


def _is_unspaced(chunk: str) -> bool:
    return _UNSPACED.search(chunk) is not None or _HIRAGANA.search(chunk) is not None


def _words_of(chunk: str) -> Iterator[str]:
    if not _is_unspaced(chunk):
        yield chunk
        return
    _, within = _function_words()
    for piece in within.sub(" ", chunk).split():
        for run in _RUN.findall(piece):
            if _HIRAGANA.match(run) is None:  # it spells grammar
                yield from map("".join, pairwise(run)) if len(run) > 1 and _UNSPACED.match(run) else (run,)


def share_of_words(words: Sequence[str], text: str) -> float:
    """Return the share of these words that a text holds, in whatever form."""
    if not words:
        return 0.0
    texts = content_words(text)
    alike = dict[str, list[str]]()
    for one in texts:
        alike.setdefault(one[:_SYLLABLES], []).append(one)
    existing = {*texts}
    return sum(word in existing or _has_form(word, alike.get(word[:_SYLLABLES], ()), text) for word in words) / len(
        words
    )


def _has_form(word: str, alike: Sequence[str], text: str) -> bool:
    if _UNSPACED.match(word):
        return len(word) == 1 and word in text
    return any(_is_form(word, other) for other in alike)


def _is_form(one: str, other: str) -> bool:
    """Return whether two words begin alike, as the forms of one do."""
    least = max(_SYLLABLES if _HANGUL.match(one) else _BEGINNING, (max(len(one), len(other)) + 1) // 2)
    return one[:least] == other[:least] and len(one) >= least and len(other) >= least
