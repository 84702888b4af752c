"""Keep docs/cli.md in step with the command line.

Between ``<!-- memstone NAME -->`` and ``<!-- end -->`` stands what the program says of a command: how it is written,
what it does, and its options. ``--check`` fails when that is out of date or when a command has no such place.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import click

from memstone.cli.run import memstone

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "cli.md"


def main(args: list[str] | None = None) -> int:
    """Write the document, or with ``--check`` only compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail instead of writing")
    wanted = parser.parse_args(args)
    before = DOCUMENT.read_text(encoding="utf-8")
    problems = missing(before, memstone)
    after = filled(before, memstone)
    if wanted.check and after != before:
        problems.append("docs/cli.md is out of date: run python scripts/cli_reference.py")
    for problem in problems:
        print(problem)
    if not wanted.check:
        DOCUMENT.write_text(after, encoding="utf-8")
    return 1 if problems else 0


def missing(text: str, group: click.Group) -> list[str]:
    """Return one line for every command that has no place in the document."""
    return [f"docs/cli.md has no place for memstone {name}" for name in group.commands if _begin(name) not in text]


def filled(text: str, group: click.Group) -> str:
    """Return the document with every place filled; a place of a command that is gone becomes empty."""

    def fresh(found: re.Match[str]) -> str:
        name = found[1]
        command = group if name == "OPTIONS" else group.commands.get(name)
        return f"{_begin(name)}\n{described(name, command) if command else ''}<!-- end -->"

    return re.sub(r"<!-- memstone (\S+) -->\n.*?<!-- end -->", fresh, text, flags=re.DOTALL)


def _begin(name: str) -> str:
    return f"<!-- memstone {name} -->"


def described(name: str, command: click.Command) -> str:
    """Return what the program says of a command, as Markdown."""
    if isinstance(command, click.Group):
        options = _options(command)
        verbs = [described(f"{name} {verb}", one) for verb, one in command.commands.items()] if not options else []
        return _table(options) + "\n" if options else "\n".join(verbs)
    own = [option for option in _options(command) if option.expose_value]
    shared = [option.opts[0] for option in _options(command) if not option.expose_value]
    parts = [
        f"```text\nmemstone {name} {_usage(command)}\n```",
        *_paragraphs(command),
        *([_table(own)] if own else []),
        "Also takes " + ", ".join(f"`{option}`" for option in shared) + ".",
    ]
    return "\n\n".join(parts) + "\n\n"


def _options(command: click.Command) -> list[click.Option]:
    return [param for param in command.params if isinstance(param, click.Option)]


def _usage(command: click.Command) -> str:
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    visible = [_argument(param) for param in arguments]
    return " ".join([*visible, "[OPTIONS]"])


def _argument(param: click.Argument) -> str:
    name = param.metavar or (param.name or "").upper()
    return name if param.required or name.startswith("[") else f"[{name}]"


def _paragraphs(command: click.Command) -> list[str]:
    return [" ".join(part.split()) for part in (command.help or "").split("\n\n") if part.strip()]


def _table(options: list[click.Option]) -> str:
    rows = [f"| {_names(option)} | {_meaning(option)} |" for option in options]
    return "\n".join(["| option | meaning |", "|---|---|", *rows])


def _names(option: click.Option) -> str:
    long_first = [*sorted(option.opts, key=len, reverse=True), *option.secondary_opts]
    value = "" if option.is_flag else " " + (option.metavar or _value(option.type))
    return ", ".join(f"`{name}{value}`" for name in long_first)


def _value(kind: object) -> str:
    if isinstance(kind, click.Choice):
        return "CHOICE"
    return "NUMBER" if kind in (click.INT, click.FLOAT) else "TEXT"


def _meaning(option: click.Option) -> str:
    text = option.help or ""
    if isinstance(option.type, click.Choice):
        text += " One of " + ", ".join(f"`{choice}`" for choice in option.type.choices) + "."
    if option.show_default:
        text += f" Default: `{option.default}`."
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
