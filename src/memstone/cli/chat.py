"""``chat``: talk in the terminal, and see what memory does with every message."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli.arguments import Arguments, for_scope
from memstone.cli.fail import OK, describe_error
from memstone.cli.terminal import (
    WaitNotes,
    as_json,
    columns_of,
    escape_control_chars,
    format_score,
    is_terminal,
    pad_text,
    print_line,
    print_note,
    style_text,
    warn_degraded,
    wrap_text,
)
from memstone.cli.upstreams import describe_missing_key, find_upstreams, list_models, stream_answer
from memstone.errors import ConfigError, MemstoneError

if TYPE_CHECKING:
    from memstone.config import Settings
    from memstone.memory import Memory
    from memstone.model.context import ContextPack
    from memstone.results import AddResult, ContextReceipt
    from memstone.sections_service import UpstreamSettings

_USER: Final = "me"
_INDENT: Final = "     "
_WIDE: Final = 100
_LABEL: Final = 9
_MOST: Final = 8
"""So many memories are listed below a message; /block shows all of them."""
_HISTORY: Final = 40
"""So many messages of this chat are sent along: what is older is up to memory."""
_SYSTEM: Final = (
    "You are a helpful assistant in a terminal chat. Answer briefly, in plain text. You may be shown what is known "
    "about the user: use it where it helps."
)
_EVENTS: Final = {
    "ADD": ("learned", "good"),
    "UPDATE": ("changed", "warn"),
    "REPLACE": ("changed", "warn"),
    "DELETE": ("forgotten", "bad"),
    "NONE": ("known", "dim"),
}
_COMMANDS: Final = {
    "/memories": "what is known about you",
    "/profile": "what a model is always shown about you",
    "/block": "what the model was shown for your last message, word for word",
    "/undo": "undo what your last message changed",
    "/help": "this list",
    "/quit": "leave (Ctrl-D does the same)",
}


@dataclass(slots=True)
class ChatModel:
    """The model that answers, and where it is."""

    upstream: UpstreamSettings
    name: str


@dataclass(slots=True)
class ChatRoom:
    """One chat: whose memory it is, who answers, and what was said so far."""

    memory: Memory
    scope: dict[str, Any]
    model: ChatModel | None
    json: bool = False
    messages: list[dict[str, str]] = field(default_factory=list)
    block: str = ""

    def take_message(self, text: str) -> None:
        """Show what memory recalls for a message, answer it if a model is there, and learn from both."""
        with WaitNotes("recalling"):  # the first time, the model is loaded
            pack = self.memory.context(text, **self.scope)
        receipt = self.memory.receipt(pack.receipt_id) if pack.receipt_id else None
        self.block = pack.text
        if not self.json:
            _show_recalled(pack, receipt)
        answer = self._answer(text, pack) if self.model else None
        spoken = [{"role": "user", "content": text}, *([{"role": "assistant", "content": answer}] if answer else [])]
        with WaitNotes("learning"):
            learned = self.memory.add(spoken, **self.scope)
        self.messages = [*self.messages, *spoken][-_HISTORY:]
        if self.json:
            shown = [{"memory": one.memory, "id": one.memory_id} for one in pack.citations]
            print_line(as_json({"message": text, "shown": shown, "answer": answer, "learned": learned["results"]}))
        else:
            _show_learned(learned)
        sys.stdout.flush()

    def _answer(self, text: str, pack: ContextPack) -> str | None:
        """Stream the answer of the model; None where it gave none, which is said and ends nothing."""
        from memstone import inject

        assert self.model is not None  # noqa: S101 - tells the type checker what the caller knows
        start = {"role": "system", "content": _SYSTEM}
        messages = inject([start, *self.messages, {"role": "user", "content": text}], pack, "system_merge")
        pieces: list[str] = []
        waiting = WaitNotes("waiting for the answer")
        try:
            with waiting:
                for piece in filter(None, stream_answer(self.model.upstream, self.model.name, messages)):
                    waiting.finish()
                    if not pieces and not self.json:
                        sys.stdout.write(style_text("ai>  ", "note"))
                    pieces.append(piece)
                    self._write(piece)
        except MemstoneError as error:
            self._write("\n" if pieces else "")
            _print_error(error)
            return None
        answer = "".join(pieces).strip()
        self._write("\n" if answer else f"{_INDENT}the model said nothing\n")
        return answer or None

    def _write(self, piece: str) -> None:
        if not self.json:
            sys.stdout.write("\n".join(map(_escape_line, piece.split("\n"))))
            sys.stdout.flush()

    def run_slash_command(self, text: str) -> bool:
        """Carry out a command of the chat; False where it ends the chat."""
        name = text.split(maxsplit=1)[0].lower()
        if name in ("/quit", "/exit"):
            return False
        does = {
            "/memories": lambda: _show_texts(self.memory.get_all(**self.scope, limit=50)["results"], "nothing yet"),
            "/profile": self._show_profile,
            "/block": lambda: print_line(
                "\n".join(map(_escape_line, self.block.splitlines())) or "it was shown nothing"
            ),
            "/undo": self._undo_last,
        }.get(name, _show_commands)
        does()
        sys.stdout.flush()
        return True

    def _show_profile(self) -> None:
        found = self.memory.profile.get(user_id=self.scope["user_id"], agent_id=self.scope["agent_id"])
        _show_texts([*found["instructions"], *found["facts"], *found["turns"]], "nothing yet")

    def _undo_last(self) -> None:
        from memstone.cli.undo import undo_last

        for answer in undo_last(self.memory, self.scope):
            for one in answer["results"]:
                is_gone = one["status"] == "deleted"
                text = self.memory.history(one["id"])[-1]["old_value"] if is_gone else one.get("memory")
                _print_row("undone", "warn", str(text), "deleted" if is_gone else "restored")


def _escape_line(line: str) -> str:
    """Return a line of a model's answer: its blanks stay, control characters are shown."""
    return line if line.isprintable() else "".join(c if c.isprintable() else escape_control_chars(c) for c in line)


# --- what is shown beside a message -----------------------------------------------------------------------------------


def _show_recalled(pack: ContextPack, receipt: ContextReceipt | None) -> None:
    warn_degraded(pack.degraded)
    scores = {one["id"]: one for one in receipt["chosen"]} if receipt else {}
    for one in pack.citations[:_MOST]:
        chosen = scores.get(one.memory_id)
        if chosen is None or not chosen["counts"]:
            _print_row("shown", "note", one.memory, "always shown")
        else:
            score = f", {format_score(chosen['score'])}" if chosen["score"] is not None else ""
            _print_row("recalled", "note", one.memory, f"close to the message{score}")
    if len(pack.citations) > _MOST:
        _print_row("", "dim", f"and {len(pack.citations) - _MOST:,} more: /block shows all")
    if not pack.citations:
        _print_row("shown", "dim", "nothing", pack.gate.reason if pack.gate.route == "none" else "")


def _show_learned(answer: AddResult) -> None:
    for one in answer["results"]:
        label, style = _EVENTS.get(one["event"], (one["event"].lower(), "dim"))
        before: str | None = one.get("old_memory")
        text = f"{before} -> {one['memory']}" if before and before != one["memory"] else str(one["memory"])
        _print_row(label, style, text, _explain_change(one))
    if not answer["results"]:
        _print_row("learned", "dim", "nothing", _explain_nothing(answer))
    for warning in answer.get("warnings", ()):
        print_note(f"warning: {warning}", "warn")
    if "error" in answer:
        print_note(f"error: stored, but nothing was learned yet: {answer['error']['message']}", "bad")


def _explain_change(change: Mapping[str, Any]) -> str:
    """Return why something changed: the words it comes from, or what it changes."""
    quote = (change.get("evidence") or {}).get("quote")
    if change["event"] == "ADD" and quote:
        return f'from "{quote}"'
    return str(change.get("reason") or "")


def _explain_nothing(answer: AddResult) -> str:
    if answer.get("reason") == "language":
        return "only a language model reads this language; it is stored as a turn"
    if answer["status"] != "ok":
        return str(answer.get("reason") or answer["status"])
    return "it states no fact; it is stored as a turn"


def _show_texts(found: Sequence[Mapping[str, Any]], otherwise: str) -> None:
    for one in found:
        _print_row(str(one["id"])[:8], "dim", str(one["memory"]))
    if not found:
        print_line(f"{_INDENT}{otherwise}")


def _show_commands() -> None:
    for name, purpose in _COMMANDS.items():
        _print_row(name, "note", purpose)


def _print_row(label: str, style: str, text: str, why: str = "") -> None:
    """Print what happened, and behind it why; below one another where it does not fit."""
    room = min(_WIDE, columns_of(sys.stdout) or _WIDE) - len(_INDENT) - _LABEL - 2
    begin = f"{_INDENT}{style_text(pad_text(label, _LABEL), style)}  "
    lines = wrap_text(escape_control_chars(text), room)
    reason = f"({escape_control_chars(why)})" if why else ""
    fits = len(lines[-1]) + 2 + len(reason) <= room
    for at, line in enumerate(lines):
        rest = f"  {style_text(reason, 'dim')}" if reason and fits and at == len(lines) - 1 else ""
        print_line(f"{begin if not at else ' ' * (len(_INDENT) + _LABEL + 2)}{line}{rest}")
    if reason and not fits:
        for line in wrap_text(reason, room):
            print_line(f"{' ' * (len(_INDENT) + _LABEL + 2)}{style_text(line, 'dim')}")


def _print_error(error: BaseException) -> None:
    facts, _ = describe_error(error)
    sys.stdout.flush()
    print_note(f"error: {escape_control_chars(str(facts['message']))}", "bad")
    if facts["hint"]:
        print_note(f"hint: {escape_control_chars(str(facts['hint']))}", "note")


# --- ``chat`` ---------------------------------------------------------------------------------------------------------


_UPSTREAM: Final = "The service that answers: its address, or a name such as openai, anthropic or ollama."
_KEY: Final = "Environment variable with the key of the upstream. Default: the vendor's own, such as OPENAI_API_KEY."


@click.command()
@click.option("--upstream", metavar="URL", help=_UPSTREAM)
@click.option("--model", metavar="NAME", help="The model that answers. Default: the upstream's only one.")
@click.option("--key-env", metavar="NAME", help=_KEY)
@for_scope
def chat(arguments: Arguments, *, upstream: str | None, model: str | None, key_env: str | None) -> int:
    """Chat in the terminal and watch memory at work.

    Below each message you see which memories a model would be shown and why, and what was learned, changed or
    forgotten. With --upstream or a configured gateway upstream, a model answers, too. It works over a pipe as well: one
    message a line. With --json, each message gives one JSON document. Without --user it is the memory of the user
    `me`, which `memstone mcp` and `memstone serve` use, too.
    """
    settings = _learn_at_once(arguments.settings())
    answering = _choose_model(settings, upstream, model, key_env)
    scope = {**arguments.scope(), "user_id": arguments.user or (None if arguments.agent or arguments.run else _USER)}
    with _open_memory(arguments, settings) as memory:
        room = ChatRoom(memory, scope, answering, json=arguments.json)
        if not arguments.json:
            _show_start(settings, room)
        _hold_chat(room)
    return OK


def _learn_at_once(settings: Settings) -> Settings:
    """Return settings that learn while you wait, so that you see it; a service does it in the background."""
    return settings.model_copy(update={"write": settings.write.model_copy(update={"mode": "inline"})})


@contextmanager
def _open_memory(arguments: Arguments, settings: Settings) -> Iterator[Memory]:
    from memstone.memory import Memory

    with arguments.configure_logging(), Memory(settings) as memory:
        yield memory


def _choose_model(settings: Settings, named: str | None, model: str | None, key_env: str | None) -> ChatModel | None:
    """Return who answers: what the command line names, else a configured upstream for the model, else nobody."""
    if named is None and not settings.gateway.upstreams:
        if model or key_env:
            raise ConfigError("--model and --key-env belong to an upstream", hint="add --upstream URL")
        return None
    upstreams = find_upstreams([named], key_env) if named else list(settings.gateway.upstreams)
    fits = [one for one in upstreams if model is None or any(map(model.startswith, one.models))]
    if not fits:
        raise ConfigError(f"no configured upstream serves the model {model!r}", hint="add --upstream URL")
    missing = describe_missing_key(fits[0])
    if missing:
        raise ConfigError(f"{fits[0].name} needs a key, and {missing} is not set", hint=f"export {missing}=...")
    return ChatModel(fits[0], model or _only_model(fits[0]))


def _only_model(upstream: UpstreamSettings) -> str:
    found = list_models(upstream)
    if len(found) == 1:
        return found[0]
    listed = ", ".join(found[:12]) + (" ..." if len(found) > 12 else "")  # noqa: PLR2004 - a line of names
    hint = f"use --model with one of: {listed}" if found else "use --model NAME"
    raise ConfigError(f"{upstream.name} offers {len(found) or 'no'} models", hint=hint)


def _show_start(settings: Settings, room: ChatRoom) -> None:
    from memstone.config import store_place

    who = next(f"{name.removesuffix('_id')} {value}" for name, value in room.scope.items() if value)
    print_line(style_text(f"Memory of the {who}, in {store_place(settings)}", "bold"))
    if room.model is None:
        print_line(
            "No model answers here: you see what memory does. For answers, add --upstream ollama, openai or a URL."
        )
    else:
        print_line(f"{room.model.name} at {room.model.upstream.base_url} answers.")
    print_line(style_text("/help lists commands, Ctrl-D leaves.", "dim"))
    sys.stdout.flush()


def _hold_chat(room: ChatRoom) -> None:
    """Read messages until there are no more; one that fails is reported, and the next one is read."""
    typed = is_terminal(sys.stdin)
    for text in _read_messages(_prompt_user() if typed else _read_stdin):
        if not typed and not room.json:  # so that the output can be read alone
            print_line(f"\nyou> {escape_control_chars(text)}")
        try:
            if text.startswith("/"):
                if not room.run_slash_command(text):
                    return
            else:
                room.take_message(text)
        except MemstoneError as error:
            _print_error(error)


def _read_messages(read: Callable[[], str | None]) -> Iterator[str]:
    while (line := read()) is not None:
        if line.strip():
            yield line.strip()


def _prompt_user() -> Callable[[], str | None]:
    """Return what asks a person at a terminal, with the editing and the history of a shell where there is one."""
    with suppress(ImportError):
        import readline  # noqa: F401 - loading it is what makes `input` edit lines

    def ask() -> str | None:
        try:
            return input("\nyou> ")
        except EOFError:
            print_line()
            return None

    return ask


def _read_stdin() -> str | None:
    """Return the next line of what is piped in; None at its end."""
    raw = sys.stdin.buffer.readline()
    if not raw:
        return None
    return raw.decode("utf-8", errors="replace")


COMMANDS: Final = (chat,)
