"""``accounts`` and ``instructions``: people who log in, and what to remember for a use case."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli.arguments import Arguments, for_store
from memstone.cli.fail import NOTHING, OK
from memstone.cli.terminal import (
    Column,
    TextTable,
    day_time,
    escape_control_chars,
    is_terminal,
    print_line,
    print_note,
    print_table,
)
from memstone.errors import UsageError

if TYPE_CHECKING:
    from memstone.literals import RoleName
    from memstone.results import AccountItem

_ROLES: Final = click.Choice(["viewer", "editor", "admin"])
_FROM_STDIN: Final = click.option("--password-stdin", is_flag=True, help="Read the password from standard input.")


@click.group()
def accounts() -> None:
    """Manage the accounts of people who log in to the service."""


@accounts.command("add")
@click.argument("login")
@click.option("--name", default="", help="The person's name.")
@click.option("--role", type=_ROLES, default="viewer", show_default=True, help="What the account may do.")
@click.option("--for-user", help="Limit the account to this user's memories.")
@click.option("--for-agent", help="Limit the account to this agent's memories.")
@_FROM_STDIN
@for_store
def add(
    arguments: Arguments,
    *,
    login: str,
    name: str,
    role: RoleName,
    for_user: str | None,
    for_agent: str | None,
    password_stdin: bool,
) -> int:
    """Create an account. Memstone asks for the password and never shows it."""
    password = _read_password(from_stdin=password_stdin)
    with arguments.memory(create=True) as memory:
        made = memory.admin.accounts.create(login, password, name=name, role=role, user_id=for_user, agent_id=for_agent)
    if not arguments.print_json(made):
        print_line(f"{escape_control_chars(made['login'])} can log in as {made['role']}")
    return OK


@accounts.command("list")
@for_store
def list_accounts(arguments: Arguments) -> int:
    """List the accounts."""
    with arguments.memory() as memory:
        found = memory.admin.accounts.list()
    if not arguments.print_json({"results": found}):
        _show_accounts(found)
    return OK if found else NOTHING


def _show_accounts(found: Sequence[AccountItem]) -> None:
    if not found:
        print_note("there are no accounts")
        return
    columns = [Column("LOGIN", grows=True), Column("ROLE"), Column("NAME", grows=True, spare=1), Column("ACCESS")]
    table = TextTable([*columns, Column("LAST LOGIN", spare=2), Column("ID", spare=3)])
    for one in found:
        reach = one["user_id"] or one["agent_id"] or "the whole tenant"
        role = f"{one['role']} (disabled)" if one["disabled"] else one["role"]
        table.add(one["login"], role, one["name"], reach, day_time(one["last_login_at"]), one["id"])
    print_table(table)


@accounts.command("set")
@click.argument("account")
@click.option("--login", help="The new login.")
@click.option("--name", help="The person's name.")
@click.option("--role", type=_ROLES, help="What the account may do.")
@click.option("--for-user", help="Limit the account to this user's memories; '' removes the limit.")
@click.option("--for-agent", help="Limit the account to this agent's memories; '' removes the limit.")
@for_store
def change(
    arguments: Arguments,
    *,
    account: str,
    login: str | None,
    name: str | None,
    role: str | None,
    for_user: str | None,
    for_agent: str | None,
) -> int:
    """Change an account, given by its login or id."""
    values = {"login": login, "name": name, "role": role, "user_id": for_user, "agent_id": for_agent}
    return _change_account(arguments, account, "was changed", **values)


@accounts.command("disable")
@click.argument("account")
@for_store
def disable(arguments: Arguments, *, account: str) -> int:
    """Stop an account from logging in and end its sessions."""
    return _change_account(arguments, account, "can no longer log in", disabled=True)


@accounts.command("enable")
@click.argument("account")
@for_store
def enable(arguments: Arguments, *, account: str) -> int:
    """Let a disabled account log in again."""
    return _change_account(arguments, account, "can log in", disabled=False)


@accounts.command("passwd")
@click.argument("account")
@_FROM_STDIN
@for_store
def passwd(arguments: Arguments, *, account: str, password_stdin: bool) -> int:
    """Change an account's password and end its sessions."""
    return _change_account(arguments, account, "has a new password", password=_read_password(from_stdin=password_stdin))


def _change_account(arguments: Arguments, account: str, done: str, **values: Any) -> int:
    with arguments.memory() as memory:
        answer = memory.admin.accounts.update(account, **values)
    if not arguments.print_json(answer):
        print_line(f"{escape_control_chars(answer['login'])} {done}")
    return OK


@accounts.command("remove")
@click.argument("account")
@for_store
def remove(arguments: Arguments, *, account: str) -> int:
    """Remove an account and end its sessions."""
    with arguments.memory() as memory:
        gone = memory.admin.accounts.remove(account)
    if not arguments.print_json(gone):
        print_line(f"{escape_control_chars(gone['login'])} was removed")
    return OK


@accounts.command("rotate-key")
@click.option("--at-once", is_flag=True, help="Stop accepting existing tokens immediately.")
@for_store
def rotate_key(arguments: Arguments, *, at_once: bool) -> int:
    """Change the key that signs login tokens. Nobody has to log in again."""
    with arguments.memory() as memory:
        answer = memory.admin.accounts.rotate_token_key(grace=not at_once)
    if not arguments.print_json(answer):
        print_line("tokens are now signed with a new key")
    return OK


def _read_password(*, from_stdin: bool) -> str:
    """Return a password, without an echo and twice, or as the first line of standard input."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not is_terminal(sys.stdin):
        raise UsageError(
            "cannot ask for a password: there is no terminal",
            hint="use --password-stdin to read it from standard input",
        )
    text: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return text


@click.command()
@click.argument("use_case", metavar="USE_CASE")
@for_store
def instructions(arguments: Arguments, *, use_case: str) -> int:
    """Suggest what to remember for a use case, as settings.

    Describe the use case in plain words. If a language model is configured, it makes the suggestion; otherwise rules
    do. Nothing is changed.
    """
    from memstone.memory import Memory

    with (
        arguments.configure_logging(),
        Memory(_in_memory_settings(arguments)) as memory,
    ):  # no store is needed to think about one
        answer = memory.settings.suggest_instructions(use_case)
    if not arguments.print_json(answer):
        print_line(_as_toml(answer["example_settings"]["extract"]))
        for one in answer.get("degraded", ()):
            print_note(f"warning: made by rules, because the language model failed: {one['message']}", "warn")
        print_note(
            f"for {', '.join(answer['domains'])}, by {_BY[answer['source']]}; copy this into the configuration file"
        )
    return OK


_BY: Final = {"llm": "the language model", "rules": "rules"}


def _in_memory_settings(arguments: Arguments) -> Any:
    settings = arguments.settings()
    store = settings.store.model_copy(update={"url": "memory:"})
    embedder = settings.embedder.model_copy(update={"provider": "none", "remote": None})
    return settings.model_copy(update={"store": store, "embedder": embedder})


def _as_toml(extract: dict[str, Any]) -> str:
    lines = ["[extract]", f'instructions = """\n{_escape_toml_text(extract["instructions"])}"""']
    for name in ("categories", "redact"):
        if extract.get(name):
            lines += [
                "",
                f"[extract.{name}]",
                *(f"{_to_toml_key(key)} = {_to_toml_string(value)}" for key, value in extract[name].items()),
            ]
    return "\n".join(lines)


def _escape_toml_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _to_toml_key(name: str) -> str:
    return name if name.isascii() and name.isalpha() else _to_toml_string(name)


def _to_toml_string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


COMMANDS: Final = (accounts, instructions)
