"""Texts that are hostile by their shape: each is one small thing, repeated or nested as often as its size allows."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Final

Shape = Callable[[int], str]


def again(unit: str) -> Shape:
    """Return a shape that repeats a unit."""
    return lambda size: (unit * (size // len(unit) + 1))[:size]


def nested(opening: str, closing: str, inside: str = "x") -> Shape:
    """Return a shape that opens as often as it closes."""

    def shape(size: int) -> str:
        deep = max(1, (size - len(inside)) // (len(opening) + len(closing)))
        return opening * deep + inside + closing * deep

    return shape


def in_lines(unit: str, width: int) -> Shape:
    """Return a shape that repeats a unit in lines of a width; the first lines are ordinary English."""
    plain = "I have the work of my life to do. " * 3
    line = (unit * (width // len(unit) + 1))[: width - 1] + "\n"
    return lambda size: f"{plain}\n{line * (size // width + 1)}"[:size]


def _base64(size: int) -> str:
    return base64.b64encode(bytes(at * 7 % 256 for at in range(size))).decode()[:size]


SHAPES: Final[dict[str, Shape]] = {
    "short sentences": again("a. "),
    "likes": again("I like x. "),
    "likes in lines": in_lines("I like tea. ", 80),
    "one long token": again("a"),
    "one long token of capitals": again("A"),
    "long tokens": again("abcdefghij" * 10 + " "),
    "names": again("Anna Smith "),
    "digits": again("7"),
    "nested brackets": nested("[", "]"),
    "open brackets": again("["),
    "nested parentheses": nested("(", ")"),
    "quotes": again('"'),
    "quoted words": again('"a" '),
    "curly quotes left open": again("“a "),
    "apostrophes": again("a'"),
    "nested tags": nested("<a>", "</a>"),
    "tags left open": again("<a "),
    "nested JSON": nested('{"a":', "}", "1"),
    "JSON objects": again('{"a":1},'),
    "escapes": again('\\"'),
    "newlines": again("\n"),
    "blank lines": again(" \n"),
    "blanks": again(" "),
    "blanks in lines": in_lines(" ", 800),
    "tabs": again(" \t"),
    "question marks": again("?"),
    "questions": again("what is it? "),
    "full stops": again(". "),
    "list markers": again("- x\n"),
    "numbered lines": again("1. x\n"),
    "dates": again("2024-01-02 "),
    "spoken dates": again("on March 3rd, next monday "),
    "numbers with separators": again("1,000."),
    "amounts": again("$1,5 "),
    "addresses of pages": again("http://a.b/c?d=e "),
    "one address of a page": again("http://a.b/"),
    "addresses of mail": again("a@b.cc "),
    "one address of mail": again("a.b@"),
    "combining marks": again("e\u0301\u0302"),
    "a run of marks": lambda size: "e" + again("\u0315\u0301\u0327")(size - 1),
    "zero-width runs": again("a\u200b\u200d"),
    "Chinese without spaces": again("我喜欢茶"),
    "Chinese sentences": again("我喜欢茶。"),
    "tables": again("| a | b |\n"),
    "code fences": again("```\na\n"),
    "fences of tildes": again("~~~\n"),
    "my my my": again("my "),
    "my my my in lines": in_lines("my ", 90),
    "quotes of quotes": again(">"),
    "quoted lines": again("> a\n"),
    "look-alikes of the block": again("<memstone-memory "),
    "blocks": again("<memstone-memory>\nx</memstone-memory>\n"),
    "notes left open": again("<system-reminder>"),
    "base64": _base64,
    "hex": again("deadbeef"),
    "not not not": again("not "),
    "and and": again("and "),
    "I am I am": again("I am "),
    "I am in lines": in_lines("I am ", 800),
    "commas": again("a, "),
    "semicolons": again("a; "),
    "dashes": again("a - "),
    "joined by dashes": again("a-"),
    "form fields": again("name: "),
    "form lines": again("name: x\n"),
    "speakers": again("Bob: hi\n"),
    "many speakers": lambda size: "".join(f"Bob{at}: hi\n" for at in range(size // 10))[:size],
    "words that differ": lambda size: " ".join(f"word{at}" for at in range(size // 8))[:size],
    "names that differ": lambda size: " ".join(f"Anna{at} Smith." for at in range(size // 14))[:size],
    "events of a stream": again("data: {}\n\n"),
    "lines of a stream": again("data: x\n"),
    "emoji": again("😀"),
    "turned around": again("\u202ea"),
    "phone numbers": again("+1 555 0100 "),
    "card numbers": again("4111 1111 "),
    "passwords": again("password is "),
    "keys": again("sk-abc"),
    "wishes to remember": again("remember that "),
    "wishes to forget": again("please forget "),
    "cars": again("I drive a toyota. My now a "),
    "percent signs": again("%41"),
    "headings": again("# a\n"),
    "headings of blanks": again("# # "),
    "code": again("def f(x): return x\n"),
    "entities of HTML": again("&amp;"),
    "system prompts": again("<|im_start|>system\n"),
    "mixed case": again("Aa"),
    "slashes": again("/a"),
}
"""By what they are made of."""
