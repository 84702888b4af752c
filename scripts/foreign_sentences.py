"""Report sentences of a text collection that are in the files of this repository.

``python scripts/foreign_sentences.py PATH...`` takes files or folders. Of JSON and JSON Lines every string is read, of
other text every line. A sentence counts from six words on (``--words``); case, punctuation and line breaks make no
difference, so a sentence is also found where it was broken over several lines of source. ``--runs N`` also reports N
words in a row, for sentences that were taken in part. It ends with 1 when something was found.

Whoever measures with a collection that must not be copied runs this before a commit.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).resolve().parent.parent
FEWEST_WORDS = 6
_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026\u3002\uff01\uff1f])[\"'\u201d\u2019)]*\s+|[\r\n]+")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})|\\[nrt]")
_APOSTROPHES = str.maketrans("", "", "'\u2019\u02bc`")
Words: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A sentence of a collection, and where in the repository it stands."""

    place: str
    line: int
    sentence: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Print every sentence that was found, and say how many there are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", nargs="+", type=Path, help="files or folders with the texts")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository to look through")
    parser.add_argument("--words", type=int, default=FEWEST_WORDS, help="the fewest words of a sentence")
    parser.add_argument("--runs", type=int, default=0, help="also report so many words in a row")
    value = parser.parse_args(arguments)
    texts = list(read_collection(value.collection))
    wanted = {words for text in texts for words in sentences(text) if len(words) >= value.words}
    if value.runs:
        wanted |= {run for text in texts for words in sentences(text) for run in _runs(words, value.runs)}
    found = sorted(find(wanted, repository_files(value.root), value.root))
    for one in found:
        print(f"{one.place}:{one.line}: {one.sentence}")
    print(f"foreign sentences: {len(wanted)} looked for, {len(found)} found")
    return 1 if found else 0


# --- the collection ---------------------------------------------------------------------------------------------------


def read_collection(paths: Iterable[Path]) -> Iterator[str]:
    """Yield every text of these files and folders; what is no text is named on standard error."""
    for path in paths:
        if path.is_dir():
            yield from read_collection(sorted(path.iterdir()))
            continue
        text = _text_of(path)
        if text is None:
            print(f"{path} is not text: left out", file=sys.stderr)
        else:
            yield from _strings_in(path, text)


def _strings_in(path: Path, text: str) -> Iterator[str]:
    if path.suffix == ".json":
        yield from _strings(json.loads(text))
    elif path.suffix in (".jsonl", ".ndjson"):
        for line in filter(str.strip, text.splitlines()):
            yield from _strings(json.loads(line))
    else:
        yield text


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)


def sentences(text: str) -> Iterator[Words]:
    """Yield the sentences of a text as words, and each of its lines that is more than one sentence."""
    for line in text.splitlines():
        parts = [words for part in _SENTENCE_END.split(line) if (words := words_of(part))]
        yield from parts


def words_of(text: str) -> Words:
    """Return the words of a text without differences that carry no meaning."""
    plain = unicodedata.normalize("NFKC", text.translate(_APOSTROPHES)).casefold()
    return tuple(_WORD.findall(plain))


def _runs(words: Words, length: int) -> Iterator[Words]:
    return (words[at : at + length] for at in range(len(words) - length + 1))


# --- the repository ---------------------------------------------------------------------------------------------------


def repository_files(root: Path) -> list[Path]:
    """Return the files that git knows or would add."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    return [path for name in sorted(set(listed.split("\0"))) if name and (path := root / name).is_file()]


def find(wanted: Iterable[Words], files: Iterable[Path], root: Path) -> set[Finding]:
    """Return where sentences are in files."""
    by_start: dict[Words, list[Words]] = defaultdict(list)
    sizes: dict[int, set[Words]] = defaultdict(set)
    for words in wanted:
        start = words[:FEWEST_WORDS]
        by_start[start].append(words)
        sizes[len(start)].add(start)
    found = set[Finding]()
    for path in files:
        text = _text_of(path)
        if text is not None:
            found.update(_found_in(text, by_start, sizes, str(path.relative_to(root))))
    return found


def _found_in(
    text: str, by_start: dict[Words, list[Words]], sizes: dict[int, set[Words]], place: str
) -> Iterator[Finding]:
    texts, lines = _numbered_words(text)
    for size, starts in sizes.items():
        for at in range(len(texts) - size + 1):
            start = tuple(texts[at : at + size])
            if start in starts:
                for words in by_start[start]:
                    if tuple(texts[at : at + len(words)]) == words:
                        yield Finding(place, lines[at], " ".join(words))


def _numbered_words(text: str) -> tuple[list[str], list[int]]:
    """Return all words of a file, and the line that each stands on."""
    texts, lines = list[str](), list[int]()
    for number, line in enumerate(text.splitlines(), 1):
        words = words_of(_ESCAPED.sub(_unescaped, line))
        texts += words
        lines += [number] * len(words)
    return texts, lines


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return chr(int(code, 16)) if code else " "


def _text_of(path: Path) -> str | None:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


if __name__ == "__main__":
    sys.exit(main())
