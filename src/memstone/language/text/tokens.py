"""The text analyser: turn text into the words by which memories are found.

The full text holds the words this module makes of a memory, separated by blanks, and a search asks
for the words it makes of the question; no database's own tokenizer has a say. What it does:

- Case, accents, Unicode forms, curly apostrophes and invisible characters make no difference.
- English words are stemmed. "don't" is ``dont``; 's, 're, 'll and their like are dropped.
- Identifiers stay whole (``foo-bar``, ``snake_case``, ``node.js``, ``3.11``, ``a.b@example.com``) and
  are held by their parts too. A short name with a mark (``c++``, ``c#``, ``.net``) has no parts:
  C++ is neither vitamin C nor C#.
- Scripts without blanks (Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese) are held by each
  character and each pair of neighbours; a question asks for pairs, or for its only character.
- Emoji and flags are words.

No word holds a blank, a double quote or a control character, or is longer than ``MAX_CHARS``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Final
from unicodedata import category

from memstone.errors import UsageError
from memstone.language.text.stem import stem_word
from memstone.language.text.words import FLAG_LETTERS, STOP_WORDS, UNSPACED, fold_letters

MAX_CHARS: Final = 64
QUERY_LIMIT: Final = 64

_CACHED_CHARS: Final = 40  # longer chunks are rarely seen twice and would make the cache big
_CACHED_QUERY: Final = 300  # a longer question costs more to hold than to read again
_SCOPE_LETTERS: Final = {"tenant_id": "t", "user_id": "u", "agent_id": "a", "run_id": "r"}


def _chunk_pattern(inside: str, more: str = "") -> re.Pattern[str]:
    """Find what stands between blanks and punctuation; ``inside`` is the class of a word's characters."""
    return re.compile(
        rf"""
        [0-9]{{1,3}}(?:,[0-9]{{3}})+(?:\.[0-9]+)?(?!{inside})   # 10,000.50
        | (?:(?<![^\s(])\.(?=[a-z]))?                           # the dot of .net
          {inside}+ (?:[-.'@&+]{inside}+)*                      # a word or a compound
          (?:(?<=[a-z])(?:\+\+(?!\+)|\+(?!{inside}|\+)|\#(?!{inside}|\#))(?:'s\b)?)?   # c++, c#, disney+
        {more}""",
        re.VERBOSE,
    )


@cache
def _wide_chunks() -> re.Pattern[str]:
    """Compile the pattern for texts beyond ASCII when one comes, because that takes as long as all other imports."""
    inside = rf"[^\x00-/:-\^`{{-\x7f{UNSPACED}{FLAG_LETTERS}]"
    return _chunk_pattern(inside, f"| [{UNSPACED}]+ | [{FLAG_LETTERS}]{{1,2}}")


@cache
def _unspaced_pattern() -> re.Pattern[str]:
    return re.compile(f"[{UNSPACED}]")


_stem = lru_cache(maxsize=65536)(stem_word)
_ASCII_CHUNKS: Final = _chunk_pattern("[0-9a-z_]")
_CLITIC: Final = re.compile(r"(?:'(?:s|m|re|ve|ll|d)){1,3}$")
_ACRONYM: Final = re.compile(r"[a-z](?:\.[a-z])+")
_ORDINAL: Final = re.compile(r"([0-9]+)(?:st|nd|rd|th)")
_JOINT: Final = re.compile(r"(?<!^)[-._@&+']+(?![+#]|$)")
_SIGNS: Final = "-._'@&+#"
_MIN_BARE: Final = 4  # "notepad++" is known as "notepad", but "c++" not as "c"
_MIN_PART: Final = 2
_MIN_NUMBER: Final = 3  # the "2023" of a date says something alone, the "3" of "3.11" does not
_SHORT_PART: Final = 2
_MAX_MARKS: Final = 8  # no word piles up more; a long pile would cost quadratic time


def document_terms(text: str) -> list[str]:
    """Return the words of a document as the full text holds them, in order."""
    found: list[str] = []
    spaced = text.isascii()
    for chunk in _split_chunks(text):
        cachable = len(chunk) <= _CACHED_CHARS and (spaced or not _is_unspaced(chunk))
        found += _word_terms(chunk) if cachable else map(_stem_piece, _document_pieces(chunk))
    return found


def match_text(text: str) -> str:
    """Return the document as the search mirror stores it."""
    return " ".join(document_terms(text))


def query_terms(text: str, limit: int = QUERY_LIMIT) -> list[str]:
    """Return the distinct words a question asks for, in order, without stop words unless there are no others.

    Of a question of more than ``limit`` words the first and the last half of ``limit`` are asked for,
    because a long message says what it wants at its start or at its end.
    """
    return list(_short_query(text, limit)) if len(text) <= _CACHED_QUERY else _query_terms(text, limit)


def _query_terms(text: str, limit: int) -> list[str]:
    pieces = [piece for chunk in _split_chunks(text) for piece in _query_pieces(chunk)]
    asked = [piece for piece in pieces if piece not in STOP_WORDS] or pieces
    return _truncate_middle(list(dict.fromkeys(map(_stem_piece, asked))), limit)


@lru_cache(maxsize=16)  # the steps of a search ask for the words of one question
def _short_query(text: str, limit: int) -> tuple[str, ...]:
    return tuple(_query_terms(text, limit))


@lru_cache(maxsize=4096)
def scope_token(tenant_id: str, field: str, value: str) -> str:
    """Return the word that stands for one id in the mirror's scope column: a letter and 16 hexadecimal digits."""
    letter = _SCOPE_LETTERS.get(field)
    if letter is None:
        raise UsageError(f"no scope token for {field!r}", hint=f"one of {', '.join(_SCOPE_LETTERS)}")
    digest = blake2b(digest_size=8)
    for part in (tenant_id, field, value):
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return letter + digest.hexdigest()


def _split_chunks(text: str) -> list[str]:
    return _ASCII_CHUNKS.findall(text.lower()) if text.isascii() else _wide_chunks().findall(fold_letters(text))


@lru_cache(maxsize=65536)
def _word_terms(chunk: str) -> tuple[str, ...]:
    return tuple(map(_stem_piece, _document_pieces(chunk)))


def _stem_piece(piece: str) -> str:
    return _stem(piece[:MAX_CHARS])


def _document_pieces(chunk: str) -> Iterable[str]:
    """Return what a document is held by for one chunk, not yet stemmed."""
    return _characters_and_pairs(chunk) if _is_unspaced(chunk) else _word_pieces(chunk)


def _query_pieces(chunk: str) -> Iterable[str]:
    """Return what a question asks for: of a script without blanks the pairs only, which say more than characters."""
    if not _is_unspaced(chunk):
        return _word_pieces(chunk)
    characters = _split_characters(chunk)
    return _character_pairs(characters) if len(characters) > 1 else characters


def _is_unspaced(chunk: str) -> bool:
    return not chunk.isascii() and _unspaced_pattern().match(chunk) is not None


def _split_characters(run: str) -> list[str]:
    """Return the characters of a run, each with the marks that belong to it."""
    found: list[str] = []
    for char in run:
        if found and category(char)[0] == "M":
            found[-1] += char if len(found[-1]) < _MAX_MARKS else ""
        else:
            found.append(char)
    return found


def _character_pairs(characters: list[str]) -> Iterator[str]:
    return map(str.__add__, characters, characters[1:])


def _characters_and_pairs(run: str) -> list[str]:
    characters = _split_characters(run)
    return [*characters, *_character_pairs(characters)]


def _word_pieces(chunk: str) -> list[str]:
    if chunk.isalpha():
        return [chunk]
    word = _CLITIC.sub("", chunk.replace(",", "").strip("_")).removeprefix("www.")
    if word.isalnum():
        ordinal = _ORDINAL.fullmatch(word)
        return [word, ordinal[1]] if ordinal else [word]
    if _ACRONYM.fullmatch(word):
        return [word.replace(".", "")]
    if word.endswith("n't"):
        return [word.replace("'", "")]
    address = [word] if "@" in word else []
    pieces = address + [piece for side in word.split("@") for piece in _split_compound(side)]
    return [piece for piece in pieces if piece.strip(_SIGNS)]


def _split_compound(word: str) -> list[str]:
    """Return a compound and its parts; without the parts that say nothing alone."""
    parts = _JOINT.split(word)
    if len(parts) == 1:
        return _mark_variants(word)
    found = [word.replace("'", "")]
    numbers_only = all(part.isdecimal() for part in parts)
    for part in parts:
        if len(part) >= (_MIN_NUMBER if numbers_only else _MIN_PART):
            found += _mark_variants(part)
    if _often_joined(word, parts):
        found.append("".join(parts))
    return found


def _mark_variants(word: str) -> list[str]:
    """Return a word that may carry a mark, as c++ and .net do; a long one is also known without it."""
    bare = word.strip(".+#")
    return [word, bare] if bare != word and len(bare) >= _MIN_BARE else [word]


def _often_joined(word: str, parts: list[str]) -> bool:
    """Return whether many write it as one word, as e-mail, wi-fi and t-shirt."""
    first, *rest = parts
    hyphen = len(rest) == 1 and word == f"{first}-{rest[0]}"
    return hyphen and "".join(parts).isalpha() and min(map(len, parts)) <= _SHORT_PART


def _truncate_middle(words: list[str], limit: int) -> list[str]:
    if len(words) <= limit:
        return words
    tail = limit // 2
    return words[: limit - tail] + words[len(words) - tail :]
