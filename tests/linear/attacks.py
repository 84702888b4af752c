"""Texts that make a regular expression work hardest, made from the expression itself.

An expression is slow where a part that may repeat is tried from many places: so for each such part there are texts of
nothing but what it repeats, with what leads up to it once, again and again, or as often as what it repeats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from re import _constants as op
from re import _parser
from typing import Any, Final

_OFTEN: Final = 20
"""A part that may stand at least so often counts as one without end."""

_REPEATS: Final = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
_LETTERS: Final = "a1 .\n-,A'(_:é\x01"
_OFTEN_SEEN: Final = "a \n.1"
_SIGNS: Final = 3
_WITHIN_WORDS: Final = "-'.,: "
_BRANCHES: Final = 4
_NOTHING: Final[tuple[Any, Any]] = (None, None)
_ODD: Final = "\x00z9"
"""What hardly any expression goes on with: it fails at the end, and tries again."""

_KINDS: Final[dict[Any, Callable[[str], bool]]] = {
    op.CATEGORY_DIGIT: str.isdigit,
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_WORD: lambda sign: sign.isalnum() or sign == "_",
    op.CATEGORY_NOT_DIGIT: lambda sign: not sign.isdigit(),
    op.CATEGORY_NOT_SPACE: lambda sign: not sign.isspace(),
    op.CATEGORY_NOT_WORD: lambda sign: not (sign.isalnum() or sign == "_"),
}

Node = tuple[Any, Any]
Shape = Callable[[int], str]


def attacks(pattern: re.Pattern[Any]) -> dict[str, Shape]:
    """Return shapes of text, by a name that shows what they are made of."""
    written = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = list(_parser.parse(written, pattern.flags & ~re.UNICODE))
    found: dict[str, Shape] = {}
    for before, body in dict.fromkeys(_repeats(tree, "")):
        found |= _again(before + body, before + body + " ", body)
        found |= {f"{before!r} then {body!r}… {end!r}": partial(_led_to, before, body, end) for end in ("", _ODD)}
        found |= {f"{before!r}… then {body!r}…": partial(_halves, before, body)} if before else {}
    example = _example(tree)
    return found | _again(example, example[:-1], example + " ", example + "\n")


def _again(*units: str) -> dict[str, Shape]:
    return {f"{unit!r}…": partial(_filled, unit) for unit in units if unit}


def _led_to(before: str, body: str, end: str, size: int) -> str:
    return before + _filled(body, size) + end


def _halves(first: str, second: str, size: int) -> str:
    return _filled(first, size // 2) + _filled(second, size // 2)


def _filled(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def _repeats(tree: Iterable[Node], before: str) -> Iterator[tuple[str, str]]:
    """Give each part that may repeat: what leads up to it, and what one time of it may be."""
    for kind, value in tree:
        for inner in _inside(kind, value):
            yield from _repeats(inner, before)
        if kind in _REPEATS and value[1] >= _OFTEN:
            yield from ((before, body) for body in _bodies(list(value[2])))
        before += _example([(kind, value)])


def _inside(kind: Any, value: Any) -> list[list[Node]]:
    if kind is op.BRANCH:
        return [list(branch) for branch in value[1]]
    if kind is op.SUBPATTERN:
        return [list(value[3])]
    if kind is op.ATOMIC_GROUP:
        return [list(value)]
    if kind in _REPEATS:
        return [list(value[2])]
    return [list(value[1])] if kind in (op.ASSERT, op.ASSERT_NOT) else []


def _bodies(tree: list[Node]) -> list[str]:
    """Return what one time of a repeated part may be: several signs of a class, several branches."""
    kind, value = tree[0] if len(tree) == 1 else _NOTHING
    if kind is op.SUBPATTERN:
        return _bodies(list(value[3]))
    if kind is op.BRANCH:
        found = [_example(branch) for branch in value[1][:_BRANCHES]]
    elif kind in (op.IN, op.ANY, op.NOT_LITERAL):
        found = [sign for sign in _OFTEN_SEEN if _fits(kind, value, sign)][:_SIGNS] or [_example(tree)]
        found += ["a" + sign for sign in _WITHIN_WORDS if _fits(kind, value, "a") and _fits(kind, value, sign)][:1]
    else:
        found = [_example(tree)]
    return [body for body in found if body]


def _example(tree: Iterable[Node]) -> str:
    """Return a short text that a part of an expression matches, as far as one is easily found."""
    return "".join(_sign(kind, value) for kind, value in tree)


def _sign(kind: Any, value: Any) -> str:
    if kind is op.LITERAL:
        return chr(value)
    if kind in (op.IN, op.ANY, op.NOT_LITERAL):
        return next((sign for sign in _choices(kind, value) if _fits(kind, value, sign)), "")
    if kind is op.BRANCH:
        return _example(value[1][0])
    if kind is op.SUBPATTERN:
        return _example(value[3])
    if kind is op.ATOMIC_GROUP:
        return _example(value)
    return _example(value[2]) * value[0] if kind in _REPEATS else ""


def _choices(kind: Any, value: Any) -> str:
    """Return signs that may fit: those a class names first."""
    if kind is not op.IN or value[0][0] is op.NEGATE:
        return _LETTERS
    named = (chr(what if inner is op.LITERAL else what[0]) for inner, what in value if inner in (op.LITERAL, op.RANGE))
    return "".join(named) + _LETTERS


def _fits(kind: Any, value: Any, sign: str) -> bool:
    if kind is op.ANY:
        return sign != "\n"
    if kind is op.NOT_LITERAL:
        return chr(value) != sign
    negated = value[0][0] is op.NEGATE
    return negated != any(_is_in(inner, what, sign) for inner, what in value if inner is not op.NEGATE)


def _is_in(kind: Any, value: Any, sign: str) -> bool:
    if kind is op.LITERAL:
        return chr(value) == sign
    if kind is op.RANGE:
        return bool(value[0] <= ord(sign) <= value[1])
    return _KINDS[value](sign)
