"""``connect``: give assistants and chat applications on this machine a memory, or remove it."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli.arguments import Arguments, ask_confirmation, for_store
from memstone.cli.banner import client_host
from memstone.cli.config_files import FileFormat, change_entry, write_file
from memstone.cli.fail import NOTHING, OK
from memstone.cli.program import program_command, program_in_shell, store_options
from memstone.cli.terminal import escape_control_chars, print_line, print_note, style_text
from memstone.errors import MissingExtra, install_hint

if TYPE_CHECKING:
    from memstone.config import Settings

NAME: Final = "memstone"


@dataclass(frozen=True, slots=True)
class McpHost:
    """A program that starts MCP servers by itself: where it writes them down, and under which names.

    ``home`` is its file for everything you do, ``project`` the one in a project's folder. ``typed`` says that an entry
    names its transport.
    """

    title: str
    home: Callable[[], Path]
    project: str | None
    path: tuple[str, ...] = ("mcpServers",)
    format: FileFormat = "json"
    typed: bool = False
    after: str = ""


def _application_folder(name: str) -> Path:
    """Return where an application keeps its settings on this system."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / name
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / name
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / name


TOOLS: Final[dict[str, McpHost]] = {
    "claude-code": McpHost(
        "Claude Code",
        lambda: Path.home() / ".claude.json",
        ".mcp.json",
        typed=True,
        after="Claude Code reads it the next time it starts; /mcp shows it there.",
    ),
    "claude-desktop": McpHost(
        "Claude Desktop",
        lambda: _application_folder("Claude") / "claude_desktop_config.json",
        None,
        after="Quit Claude Desktop and start it again.",
    ),
    "cursor": McpHost(
        "Cursor",
        lambda: Path.home() / ".cursor" / "mcp.json",
        ".cursor/mcp.json",
        after="Restart Cursor; its settings list the server under MCP.",
    ),
    "vscode": McpHost(
        "VS Code",
        lambda: _application_folder("Code") / "User" / "mcp.json",
        ".vscode/mcp.json",
        path=("servers",),
        typed=True,
        after="VS Code asks you to trust the server when it first uses it; `MCP: List Servers` shows it.",
    ),
    "codex": McpHost(
        "Codex",
        lambda: Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml",
        ".codex/config.toml",
        path=("mcp_servers",),
        format="toml",
        after="Codex reads it the next time it starts; /mcp shows it there.",
    ),
}
GATEWAY_TOOLS: Final = {"open-webui": "Open WebUI", "librechat": "LibreChat"}
_NAMES: Final = (*TOOLS, *GATEWAY_TOOLS)


@click.command()
@click.argument("tool", type=click.Choice(_NAMES))
@click.option("--remove", is_flag=True, help="Undo it: remove the entry, or revoke the key.")
@click.option("--project", is_flag=True, help="Only for the project in this folder, in a file of its own.")
@click.option("--print", "only_print", is_flag=True, help="Show the change, and write nothing.")
@click.option("--for-user", default="me", show_default=True, help="Whose memory the tool uses.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@for_store
def connect(
    arguments: Arguments, tool: str, *, remove: bool, project: bool, only_print: bool, for_user: str, yes: bool
) -> int:
    """Give an assistant on this machine a memory.

    TOOL is claude-code, claude-desktop, cursor, vscode or codex, which start `memstone mcp` themselves: you see the
    change to their settings before it is written. Other entries and comments stay, and the file as it was is kept
    beside it. For open-webui and librechat, which talk to `memstone serve`, you get a key and the settings to paste.
    """
    if tool in GATEWAY_TOOLS:
        if project:
            raise click.UsageError(f"{tool} has no settings for one project")
        return _connect_gateway(arguments, tool, remove=remove, only_print=only_print, yes=yes)
    return _connect_tool(
        arguments, TOOLS[tool], tool, remove=remove, project=project, only_print=only_print, user=for_user, yes=yes
    )


# --- tools that start the server themselves ---------------------------------------------------------------------------


def _connect_tool(
    arguments: Arguments,
    tool: McpHost,
    name: str,
    *,
    remove: bool,
    project: bool,
    only_print: bool,
    user: str,
    yes: bool,
) -> int:
    if project and tool.project is None:
        raise click.UsageError(f"{name} has no settings for one project")
    if not remove:
        _require_extras()
    file = Path.cwd() / tool.project if project and tool.project else tool.home()
    before = file.read_text("utf-8") if file.exists() else ""
    entry = None if remove else _server_entry(arguments, tool, user)
    after = change_entry(before, tool.format, (*tool.path, NAME), entry)
    answer = {"tool": name, "file": str(file), "entry": entry, "changed": after != before}
    if after == before:
        if not arguments.print_json({**answer, "written": False}):
            print_line(f"{tool.title} {'does not use' if remove else 'already uses'} Memstone: {file}")
        return NOTHING if remove else OK
    if not arguments.json:
        _show_change(file, before, after)
    if only_print or not (yes or ask_confirmation(arguments, "Write this?", without="write it")):
        if not arguments.print_json({**answer, "written": False}):
            print_note("nothing was written")
        return OK if only_print else NOTHING
    backup = write_file(file, after)
    if not arguments.print_json({**answer, "written": True, "backup": str(backup) if backup else None}):
        _show_written(tool, name, backup, remove=remove, project=project)
    return OK


def _require_extras() -> None:
    if find_spec("mcp") is None or find_spec("fastapi") is None:
        raise MissingExtra(
            "MCP tools need the extras 'mcp' and 'server'",
            hint=install_hint("mcp,server"),
        )


def _server_entry(arguments: Arguments, tool: McpHost, user: str) -> dict[str, Any]:
    command, *rest = program_command()
    args = [*rest, "mcp", "--for-user", user, *store_options(arguments)]
    return {**({"type": "stdio"} if tool.typed else {}), "command": command, "args": args}


def _show_change(file: Path, before: str, after: str) -> None:
    print_line(f"This is the change to {file}:")
    print_line()
    styles = {"+": "good", "-": "bad", "@": "dim"}
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    for line in [one for one in lines if not one.startswith(("---", "+++"))]:
        text = line if line.isprintable() else escape_control_chars(line)
        print_line(style_text(f"  {text}", styles.get(line[:1], "")))
    print_line()
    sys.stdout.flush()


def _show_written(tool: McpHost, name: str, backup: Path | None, *, remove: bool, project: bool) -> None:
    if backup is not None:
        print_note(f"the file as it was: {backup}")
    if remove:
        print_line(f"{tool.title} no longer uses Memstone.")
        return
    print_line(f"{tool.title} uses Memstone. {tool.after}")
    undo = f"{program_in_shell()} connect {name}{' --project' if project else ''} --remove"
    print_note(f"hint: `{undo}` undoes it", "note")


# --- applications that talk to the gateway ----------------------------------------------------------------------------


def _connect_gateway(arguments: Arguments, tool: str, *, remove: bool, only_print: bool, yes: bool) -> int:
    settings = arguments.settings()
    if remove:
        return _revoke_keys(arguments, tool)
    if only_print:
        return _show_gateway(arguments, tool, _gateway_lines(settings, tool, "rt_..."))
    question = f"Create a key for {GATEWAY_TOOLS[tool]}, which may name its users?"
    if not (yes or ask_confirmation(arguments, question, without="create the key")):
        print_note("nothing was created")
        return NOTHING
    with arguments.memory(create=True) as memory:
        key = memory.admin.keys.create(tool, verbs=["read", "write"], may_assert_user=True)["key"]
    return _show_gateway(arguments, tool, _gateway_lines(settings, tool, key), key)


def _show_gateway(arguments: Arguments, tool: str, lines: tuple[str, ...], key: str | None = None) -> int:
    if not arguments.print_json({"tool": tool, "settings": "\n".join(lines), "key": key}):
        place = "the environment of Open WebUI" if tool == "open-webui" else "librechat.yaml and .env of LibreChat"
        print_line(f"Put this into {place}; the key is shown only once:" if key else f"For {place}:")
        print_line()
        print_line("\n".join(lines))
        print_line()
        print_note("`memstone serve --upstream ...` must be running; from a container, its address is", "note")
        print_note("http://host.docker.internal:8420/v1, and server.hosts must name host.docker.internal", "note")
        if key:
            print_note(f"hint: `{program_in_shell()} connect {tool} --remove` revokes the key", "note")
    return OK


def _gateway_lines(settings: Settings, tool: str, key: str) -> tuple[str, ...]:
    address = f"http://{client_host(settings.server.host)}:{settings.server.port}/v1"
    if tool == "open-webui":
        return (
            f"OPENAI_API_BASE_URLS={address}",
            f"OPENAI_API_KEYS={key}",
            "ENABLE_FORWARD_USER_INFO_HEADERS=true",
        )
    return (
        "# .env",
        f"MEMSTONE_KEY={key}",
        "",
        "# librechat.yaml",
        "endpoints:",
        "  custom:",
        '    - name: "Memstone"',
        '      apiKey: "${MEMSTONE_KEY}"',
        f'      baseURL: "{address}"',
        "      models:",
        '        default: ["gpt-4o-mini"]',
        "        fetch: true",
        "      headers:",
        '        X-Memstone-User: "{{LIBRECHAT_USER_ID}}"',
        '        X-Memstone-Session: "{{LIBRECHAT_BODY_CONVERSATIONID}}"',
    )


def _revoke_keys(arguments: Arguments, tool: str) -> int:
    with arguments.memory() as memory:
        valid = [one for one in memory.admin.keys.list() if one["name"] == tool and not one["revoked_at"]]
        ended = [memory.admin.keys.revoke(one["id"]) for one in valid]
    if not arguments.print_json({"tool": tool, "revoked": [one["prefix"] for one in ended]}):
        counted = "1 key" if len(ended) == 1 else f"{len(ended):,} keys"
        print_line(f"{counted} revoked" if ended else f"there is no key of {GATEWAY_TOOLS[tool]}")
        if ended:
            print_note(f"hint: remove the lines from the settings of {GATEWAY_TOOLS[tool]}, too", "note")
    return OK if ended else NOTHING


COMMANDS: Final = (connect,)
