"""``settings``, ``pause``, ``resume``, ``agents``: settings of a user, an agent or everybody."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, get_args

import click

from memstone.cli import arguments
from memstone.cli.arguments import Arguments, ask_confirmation, for_scope, for_store
from memstone.cli.fail import NOTHING, OK
from memstone.cli.terminal import Column, TextTable, day_time, print_line, print_note, print_table, show_pairs
from memstone.errors import NotFoundError
from memstone.literals import Vocabulary

if TYPE_CHECKING:
    from memstone.results import AgentItem, AgentList, PauseScope

_VOCABULARIES: Final = click.Choice(get_args(Vocabulary))


def _settings_scope(arguments: Arguments) -> dict[str, Any]:
    if arguments.run is not None:
        raise click.UsageError("settings belong to a user, an agent or everybody: a session has none")
    return {"user_id": arguments.user, "agent_id": arguments.agent}


@click.group(invoke_without_command=True)
@for_scope
def settings(arguments: Arguments) -> int:
    """Show or change stored settings.

    They apply to a user (--user), an agent (--agent) or, without either, everybody. Without a subcommand you see what
    differs from the defaults. Use `memstone settings get --all` to see the rest.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return OK
    return _get_settings(arguments, (), "native", every=False)


@settings.command("get")
@click.argument("names", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Include settings at their defaults.")
@click.option("--names", "vocabulary", type=_VOCABULARIES, default="native", show_default=True, help="Whose names.")
@for_scope
def get(arguments: Arguments, names: Sequence[str], *, every: bool, vocabulary: Vocabulary) -> int:
    """Show settings and where each value comes from.

    Give NAMES, or nothing for all settings that differ from their defaults.
    """
    return _get_settings(arguments, names, vocabulary, every=every)


def _get_settings(arguments: Arguments, names: Sequence[str], vocabulary: Vocabulary, *, every: bool) -> int:
    with arguments.memory() as memory:
        answer = memory.settings.get(**_settings_scope(arguments), names=vocabulary)
    unknown = [name for name in names if name not in answer["settings"]]
    if unknown:
        raise NotFoundError(f"unknown setting {unknown[0]}", hint="`memstone settings get --all` lists all settings")
    visible = names or [name for name, source in answer["sources"].items() if every or source != "default"]
    stored: dict[str, dict[str, Any]] = {
        "settings": {name: answer["settings"][name] for name in visible},
        "sources": {name: answer["sources"][name] for name in visible},
    }
    if not arguments.print_json({**answer, **stored}):
        _show_settings(stored)
    return OK if visible else NOTHING


def _show_settings(answer: dict[str, Any]) -> None:
    if not answer["settings"]:
        print_note("all settings have their default values")
        return
    table = TextTable([Column("SETTING"), Column("VALUE", grows=True), Column("FROM")])
    for name, value in answer["settings"].items():
        table.add(name, json.dumps(value, ensure_ascii=False), answer["sources"][name])
    print_table(table)


@settings.command("set")
@click.argument("pairs", nargs=-1, required=True, metavar="NAME=VALUE...")
@for_scope
def set_(options: Arguments, pairs: Sequence[str]) -> int:
    """Set values, all of them or none.

    A value that is valid JSON is read as JSON.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name.strip():
            raise click.BadParameter(f"{pair!r} is not name=value", param_hint="NAME=VALUE")
        values[name.strip()] = arguments.parse_scalar(value)
    with options.memory(create=True) as memory:
        answer = memory.settings.set(values, **_settings_scope(options))
    if not options.print_json(answer):
        show_pairs((name, json.dumps(value, ensure_ascii=False)) for name, value in answer["set"].items())
    return OK


@settings.command("unset")
@click.argument("names", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Remove every stored value.")
@for_scope
def unset(arguments: Arguments, names: Sequence[str], *, every: bool) -> int:
    """Remove the stored values of these NAMES.

    The value of the next level applies again.
    """
    if bool(names) == every:
        raise click.UsageError("name the settings, or use --all")
    with arguments.memory() as memory:
        answer = memory.settings.unset(None if every else list(names), **_settings_scope(arguments))
    if not arguments.print_json(answer):
        print_line(f"{answer['unset']:,} removed")
    return OK if answer["unset"] else NOTHING


@click.command()
@click.option(
    "--until", metavar="TIME", help="End the pause at this time, in ISO 8601. Without it, use `memstone resume`."
)
@for_scope
def pause(arguments: Arguments, *, until: str | None) -> int:
    """Pause memory for a user, an agent or a session.

    While paused, nothing is stored and nothing is shown to a model. Existing memories stay, and a search finds them.
    Give at least one of --user, --agent and --run; if you give several, the pause applies only where all of them match.
    """
    with arguments.memory(create=True) as memory:
        answer = memory.settings.pause(**arguments.scope(), until=until)
    if not arguments.print_json(answer):
        end = answer["paused"]["until"]
        print_line(f"paused{f' until {day_time(end)}' if end else ''}: {_format_scope(answer['paused'])}")
    return OK


@click.command()
@for_scope
def resume(arguments: Arguments) -> int:
    """End a pause."""
    with arguments.memory() as memory:
        answer = memory.settings.resume(**arguments.scope())
    if not arguments.print_json(answer):
        print_line(f"resumed: {_format_scope(answer['resumed'])}" if answer["resumed"] else "nothing was paused")
    return OK if answer["resumed"] else NOTHING


def _format_scope(found: PauseScope) -> str:
    return ", ".join(f"{kind.removesuffix('_id')} {name}" for kind, name in found.items() if kind != "until")


@click.group(invoke_without_command=True)
@for_store
def agents(arguments: Arguments) -> int:
    """List agents and their memory counts, or change one."""
    if click.get_current_context().invoked_subcommand is not None:
        return OK
    with arguments.memory() as memory:
        answer = memory.agents.list()
    if not arguments.print_json(answer):
        _show_agents(answer)
    return OK if answer["agents"] else NOTHING


def _show_agents(answer: AgentList) -> None:
    if not answer["agents"]:
        print_note("there are no agents")
        return
    table = TextTable(
        [Column("ID"), Column("NAME", grows=True), Column("MEMORIES", right=True), Column("SINCE", spare=1)]
    )
    for one in answer["agents"]:
        table.add(one["id"], one["name"], f"{one['memory_entry_count']:,}", day_time(one["created_at"]))
    print_table(table)
    if answer["total"] > len(answer["agents"]):
        print_note(f"{answer['total'] - len(answer['agents']):,} more")


@agents.command("show")
@click.argument("agent_id")
@for_store
def show_agent(arguments: Arguments, agent_id: str) -> int:
    """Show one agent."""
    with arguments.memory() as memory:
        found = memory.agents.get(agent_id)
    if found is None:
        raise NotFoundError(f"no agent {agent_id}", hint="`memstone agents` lists the known agents")
    if not arguments.print_json(found):
        _show_agent(found)
    return OK


def _show_agent(found: AgentItem) -> None:
    own = {name: json.dumps(value) for name, value in found["settings"].items()}
    times = {"created_at": day_time(found["created_at"]), "updated_at": day_time(found["updated_at"])}
    rest = {name: value for name, value in found.items() if name != "settings" and name not in times}
    show_pairs([*rest.items(), *own.items(), *times.items()])


@agents.command("save")
@click.argument("agent_id")
@click.option("--name", metavar="NAME", help="The name of the agent.")
@click.option("--model", metavar="MODEL", help="The model it uses; '' removes it.")
@click.option("--prompt", metavar="TEXT", help="Its instructions, or `-` for standard input; '' removes them.")
@for_store
def save(options: Arguments, agent_id: str, *, name: str | None, model: str | None, prompt: str | None) -> int:
    """Create or change an agent.

    To change its settings, use `memstone settings set ... --agent ID`.
    """
    message = None if prompt is None else arguments.read_text_argument(prompt)
    with options.memory(create=True) as memory:
        saved = memory.agents.save(agent_id, name=name, model=model, system_prompt=message)
    if not options.print_json(saved):
        _show_agent(saved)
    return OK


@agents.command("delete")
@click.argument("agent_id")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@for_store
def delete(arguments: Arguments, agent_id: str, *, yes: bool) -> int:
    """Remove an agent with its memories, queued work and settings."""
    if not (
        yes
        or ask_confirmation(arguments, f"Delete the agent {agent_id} and everything it remembers?", without="delete")
    ):
        return NOTHING
    with arguments.memory() as memory:
        answer = memory.agents.delete(agent_id)
    if not arguments.print_json(answer):
        print_line(f"{answer['id']} was deleted, with {answer['deleted']:,} memories and turns")
    return OK


COMMANDS: Final = (settings, pause, resume, agents)
