"""Change one entry in another program's configuration file; the rest stays as it is.

A file is changed as text, and the result is read again: where anything but the one entry would differ, nothing is
written.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from memstone.errors import Conflict

FileFormat: TypeAlias = Literal["json", "toml"]
BACKUP: Final = ".memstone-backup"
_INDENT: Final = "  "


def change_entry(text: str, kind: FileFormat, path: Sequence[str], value: dict[str, Any] | None) -> str:
    """Return the text of a file with one entry set, or removed for None; the same text where it is so already.

    ``Conflict`` where the file cannot be read, or where more than that entry would change.
    """
    before = _parse(text, kind)
    if _entry_of(before, path) == value:
        return text
    changed = _change_json(text, path, value) if kind == "json" else _change_toml(text, path, value)
    after = _parse(changed, kind)
    if _entry_of(after, path) != value or _without_entry(before, path) != _without_entry(after, path):
        raise Conflict(
            f"the entry {'.'.join(path)} is written in a way that cannot be changed safely",
            hint="nothing was written; change it by hand, as shown by --print",
        )
    return changed


def write_file(path: Path, text: str) -> Path | None:
    """Replace a file as a whole or not at all; returns the copy of what was there.

    A link keeps pointing where it points, and the file keeps its permissions.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    backup = None
    if target.exists():
        backup = target.with_name(target.name + BACKUP)
        shutil.copy2(target, backup)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        if backup is not None:
            shutil.copymode(target, name)
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    return backup


def _parse(text: str, kind: FileFormat) -> dict[str, Any]:
    try:
        found = tomllib.loads(text) if kind == "toml" else json.loads(_plain_json(text) or "{}")
    except ValueError as error:
        raise Conflict(f"the file is not valid {kind.upper()}: {error}", hint="correct it, then try again") from None
    if not isinstance(found, dict):
        raise Conflict("the file does not contain a JSON object", hint="correct it, then try again")
    return found


def _entry_of(values: dict[str, Any], path: Sequence[str]) -> Any:
    found: Any = values
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _without_entry(values: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return the same without the entry, and without the sections that held nothing else."""
    if len(path) == 1:
        return {name: value for name, value in values.items() if name != path[0]}
    inner = values.get(path[0], {})
    rest = _without_entry(inner, path[1:]) if isinstance(inner, dict) else inner
    return {name: value for name, value in {**values, path[0]: rest}.items() if name != path[0] or rest}


# --- JSON, with comments and trailing commas as editors allow them ----------------------------------------------------


_TOKEN: Final = re.compile(
    r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|[{}\[\],:]|[^\s{}\[\],:"/]+', re.DOTALL
)


@dataclass(frozen=True, slots=True)
class _JsonToken:
    text: str
    start: int
    end: int


def _tokens(text: str) -> list[_JsonToken]:
    found = (_JsonToken(one[0], one.start(), one.end()) for one in _TOKEN.finditer(text))
    return [token for token in found if not token.text.startswith(("//", "/*"))]


def _plain_json(text: str) -> str:
    """Return the same as any reader takes it: without comments, and without commas that nothing follows."""
    tokens = _tokens(text.removeprefix("\ufeff"))
    kept = [
        token.text
        for at, token in enumerate(tokens)
        if not (token.text == "," and at + 1 < len(tokens) and tokens[at + 1].text in "}]")
    ]
    return " ".join(kept)


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of an object: from its name to the end of its value, by tokens."""

    name: str
    first: int
    last: int


def _members(tokens: Sequence[_JsonToken], opening: int) -> tuple[list[_Member], int]:
    """Return the members of the object that opens at a token, and the token that closes it."""
    found, at = list[_Member](), opening + 1
    while tokens[at].text != "}":
        if tokens[at].text == ",":
            at += 1
            continue
        last = _value_end(tokens, at + 2)
        found.append(_Member(json.loads(tokens[at].text), at, last))
        at = last + 1
    return found, at


def _value_end(tokens: Sequence[_JsonToken], at: int) -> int:
    depth = 0
    while True:
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(tokens[at].text, 0)
        if depth == 0:
            return at
        at += 1


def _change_json(text: str, path: Sequence[str], value: dict[str, Any] | None) -> str:
    if not _tokens(text):
        text = "{}\n"
    tokens, opening = _tokens(text), 0
    for depth, step in enumerate(path):
        members, closing = _members(tokens, opening)
        found = next((one for one in members if one.name == step), None)
        last = depth == len(path) - 1
        if found is None:
            return (
                text
                if value is None
                else _insert_member(text, tokens, (opening, closing), members, path[depth:], value)
            )
        if last:
            return (
                _remove_member(text, tokens, members, found)
                if value is None
                else _replace_value(text, tokens, found, value, depth)
            )
        opening = found.first + 2
    return text


def _insert_member(
    text: str,
    tokens: Sequence[_JsonToken],
    braces: tuple[int, int],
    members: Sequence[_Member],
    path: Sequence[str],
    value: dict[str, Any],
) -> str:
    wrapped: Any = value
    for step in reversed(path[1:]):
        wrapped = {step: wrapped}
    opening, closing = braces
    outer = _indent_at(text, tokens[closing].start if members else tokens[opening].start)
    inner = _indent_at(text, tokens[members[-1].first].start) if members else outer + _INDENT
    written = f"{json.dumps(path[0])}: {_dump(wrapped, inner)}"
    if not members:
        return f"{text[: tokens[opening].end]}\n{inner}{written}\n{outer}{text[tokens[closing].start :]}"
    end = tokens[members[-1].last].end
    following = tokens[members[-1].last + 1]
    has_comma = following.text == ","  # one that nothing followed
    place = _line_end(text, following.end if has_comma else end)
    comma = "" if has_comma else ","
    return f"{text[:end]}{comma}{text[end:place]}\n{inner}{written}{text[place:]}"


def _line_end(text: str, place: int) -> int:
    """Return the end of the line, if nothing but a remark about what stands before follows there."""
    end = text.find("\n", place)
    rest = text[place : end if end >= 0 else len(text)]
    return place + len(rest.rstrip()) if rest.strip().startswith("//") else place


def _replace_value(text: str, tokens: Sequence[_JsonToken], member: _Member, value: dict[str, Any], depth: int) -> str:
    inner = _indent_at(text, tokens[member.first].start) or _INDENT * (depth + 1)
    start, end = tokens[member.first + 2].start, tokens[member.last].end
    return f"{text[:start]}{_dump(value, inner)}{text[end:]}"


def _remove_member(text: str, tokens: Sequence[_JsonToken], members: Sequence[_Member], member: _Member) -> str:
    """Return the text without a member, the comma that belonged to it, and the line it leaves empty."""
    start, end = tokens[member.first].start, tokens[member.last].end
    following, comma = tokens[member.last + 1], tokens[member.first - 1]
    if following.text == ",":
        end = following.end
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip() and text[end : end + 1] in ("\n", "\r", ""):
        start, end = line, end + (2 if text[end : end + 2] == "\r\n" else 1)
    head = text[:start]
    if following.text != "," and len(members) > 1:
        head = text[: comma.start] + text[comma.end : start]
    return head + text[end:]


def _indent_at(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())]


def _dump(value: Any, indent: str) -> str:
    return json.dumps(value, indent=len(_INDENT), ensure_ascii=False).replace("\n", f"\n{indent}")


# --- TOML -------------------------------------------------------------------------------------------------------------


_HEADER: Final = re.compile(r"^\s*+\[++(?P<name>[^\]]++)\]++\s*+(#.*)?$")


def _change_toml(text: str, path: Sequence[str], value: dict[str, Any] | None) -> str:
    """Return the text without the tables of the entry, and with its table at the end."""
    kept, inside = list[str](), False
    for line in text.splitlines(keepends=True):
        header = _HEADER.match(line)
        if header is not None:
            inside = _is_below(header["name"], path)
        if not inside:
            kept.append(line)
    rest = "".join(kept).rstrip("\n")
    rest = f"{rest}\n" if rest else ""
    if value is None:
        return rest
    rows = [f"{name} = {_dump_toml(one)}" for name, one in value.items()]
    table = "\n".join([f"[{'.'.join(map(_toml_key, path))}]", *rows])
    return f"{rest}\n{table}\n" if rest else f"{table}\n"


def _is_below(header: str, path: Sequence[str]) -> bool:
    with suppress(ValueError):
        named: Any = tomllib.loads(f"[{header}]")
        for step in path:
            if not isinstance(named, dict) or list(named) != [step]:
                return False
            named = named[step]
        return True
    return False


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _dump_toml(value: Any) -> str:
    """Return text, a list of text or a table of text as TOML, which writes them as JSON does."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_toml_key(name)} = {json.dumps(one, ensure_ascii=False)}" for name, one in value.items())
        return "{ " + inner + " }"
    return json.dumps(value, ensure_ascii=False)
