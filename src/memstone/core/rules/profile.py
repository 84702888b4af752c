"""What somebody writes down about themselves line by line: "- Name: Olga", "- City: Stockholm".

Forms, characters and records are written the same way, so it counts only behind words that say whom it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memstone.core.rules.material import Span

_ABOUT_ME: Final = re.compile(
    r"\b(?:about (?:me|myself)|(?:my|our) (?:\w+ )?(?:profile|details|info|information|data|facts|basics|background|stats|preferences)"
    r"|(?:this is|here is|here's|that's) me|me in (?:short|brief|a nutshell)|to know me|introduce myself)\b[^\n]{0,40}$",
    re.IGNORECASE,
)
_LINE: Final = re.compile(
    r"^[ \t]*+(?:(?:[-*•–+]|\d+[.)])[ \t]*+)?\**(?P<key>[A-Za-z][A-Za-z /-]{1,28}?)\**[ \t]*:\**[ \t]++(?P<value>\S(?:[^\n]*[^ \t\n])?)[ \t]*$"
)
_FEWEST: Final = 2
_MOST: Final = 100
"""Nobody writes more lines about themselves; of more, the last."""

_FORMS: Final = (
    ("name", "my name is {}"),
    ("nickname", "my nickname is {}"),
    ("age", "I am {}"),
    ("job|occupation|profession|role|work|title|job title", "my job is {}"),
    ("employer|company", "I work at {}"),
    ("city|location|home|lives|lives in|living in|based in|hometown|residence", "I live in {}"),
    ("from|origin", "I am from {}"),
    ("hobby|hobbies|interests?", "my hobbies are {}"),
    ("allerg(?:y|ies)", "I am allergic to {}"),
    ("diet", "my diet is {}"),
    ("birthday|date of birth|born", "my birthday is {}"),
    ("languages?", "I speak {}"),
    ("pets?|kids|children|siblings", "I have {}"),
    ("partner|wife|husband|spouse", "my partner is {}"),
    ("e-?mail|phone|phone number|address|pronouns|time ?zone|height|weight|blood type", "my {key} is {}"),
    ("likes|loves", "I like {}"),
    ("dislikes|hates", "I dislike {}"),
)
_KEYS: Final = tuple((re.compile(rf"(?:{keys})", re.IGNORECASE), form) for keys, form in _FORMS)
_EMPTY: Final = re.compile(r"(?:none|n/?a|no|nothing|-|\?|tbd|unknown)\W*+", re.IGNORECASE)


def profile(message: str) -> list[tuple[Span, str]]:
    """The lines of a message that state something about the speaker, each as a sentence in the first person."""
    found: list[tuple[Span, str]] = []
    about_me, at = False, 0
    for line in message.splitlines(keepends=True):
        written = _LINE.match(line.rstrip("\r\n"))
        if written:
            found += list(_stated(written, at)) if about_me else []
        elif line.strip():
            about_me = bool(_ABOUT_ME.search(line.strip().rstrip(":.!")))
        at += len(line)
    return found[-_MOST:] if len(found) >= _FEWEST else []


def _stated(written: re.Match[str], at: int) -> Iterator[tuple[Span, str]]:
    key, value = written["key"].strip(), written["value"].rstrip(" .;")
    form = next((form for pattern, form in _KEYS if pattern.fullmatch(key)), "")
    if form and value and not _EMPTY.fullmatch(value):
        start, end = at + written.start("key"), at + written.end("value")
        yield (
            Span(written.string[written.start("key") : written.end("value")], start, end),
            form.format(value, key=key.lower()),
        )


_FORM_LINE: Final = re.compile(r"^[^\w\n]{0,20}[\w /-]{2,28}: ++\S", re.MULTILINE)


def is_form(message: str) -> bool:
    """Whether several lines of a message have a word and what stands for it."""
    return len(_FORM_LINE.findall(message)) > 1
