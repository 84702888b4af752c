"""``demo``: show what Memstone does, in a made-up week."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli.arguments import Arguments, for_store, store_url
from memstone.cli.fail import OK
from memstone.cli.program import program_in_shell
from memstone.cli.terminal import (
    Column,
    TextTable,
    WaitNotes,
    columns_of,
    display_width,
    event_style,
    is_terminal,
    pad_text,
    print_line,
    render_bar,
    show_pairs,
    style_text,
    wrap_text,
)
from memstone.errors import EmbeddingError, UsageError

if TYPE_CHECKING:
    from memstone.memory import Memory


# --- what is said in ``memstone demo`` --------------------------------------------------------------------------------


def demo_time(day: int, hour: int = 12, minute: int = 0) -> datetime:
    """Return a moment of the demo's week; the 2nd is a Monday."""
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DemoMessage:
    """One thing that is said: in whose conversation, when, by whom."""

    user: str
    when: datetime
    speaker: str
    text: str

    def message(self) -> str | dict[str, str]:
        """Return it as ``add`` takes it: text is what the user says."""
        return {"role": "assistant", "content": self.text} if self.speaker == "assistant" else self.text


BEGINNING: Final = (
    DemoMessage("maya", demo_time(2, 9, 10), "Maya", "I live in Oslo, and I work as an architect at Nordlys."),
    DemoMessage("maya", demo_time(2, 9, 12), "Maya", "I'm allergic to hazelnuts. My sister Ingrid is vegan."),
    DemoMessage("maya", demo_time(2, 9, 13), "Maya", "Could you book a table for two on Friday?"),
    DemoMessage("maya", demo_time(2, 9, 14), "assistant", "Done: the Harbour Grill on Friday at 19:00."),
    DemoMessage("jonas", demo_time(2, 18, 40), "Jonas", "My daughter Ella plays the cello on Thursdays."),
    DemoMessage("maya", demo_time(3, 8, 5), "Maya", "My team's standup is at 9:30 in the blue room."),
    DemoMessage("maya", demo_time(3, 20, 15), "Maya", "I'm planning a surprise party for Jonas on Saturday."),
    DemoMessage("maya", demo_time(3, 20, 16), "Maya", "And remember, I'm allergic to hazelnuts!"),
)
NEWS: Final = (
    DemoMessage("maya", demo_time(5, 8, 0), "Maya", "The standup is at 10:15 now."),
    DemoMessage("maya", demo_time(5, 8, 1), "Maya", "By the way, I moved to Bergen."),
)
NOTE: Final = "Gym: the door code is 4711"
FRIDAY: Final = demo_time(6, 17)
TUESDAY: Final = demo_time(3, 18)
SATURDAY: Final = demo_time(7, 10)
SUNDAY: Final = demo_time(8, 11)
NEAR: Final = 0.3
"""Below this similarity the demo does not call something an answer."""

NEXT: Final = (
    ('add "I live in Oslo" --user me', "add something, and see what is learned"),
    ('search "Where is home?" --user me --explain', "find it, and see why"),
    ("doctor", "check the installation"),
)


# --- how the demo is told ---------------------------------------------------------------------------------------------


_WIDE: Final = 92
_PAUSE: Final = 2.0
_BAR: Final = 8
_INDENT: Final = "   "
_TIME: Final = "Mon 09:10"
_TIME_FORMAT: Final = "%a %H:%M"
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(slots=True)
class StoppedClock:
    """A clock that the story sets."""

    moment: datetime

    def now(self) -> datetime:
        """Return the time in the story."""
        return self.moment


@dataclass(slots=True)
class Stage:
    """Where the demo plays. Every call that is shown is the call that is made."""

    memory: Memory
    clock: StoppedClock
    quiet: bool = False
    slow: bool = False
    steps: list[dict[str, Any]] = field(default_factory=list)

    def step(self, title: str, text: str) -> None:
        """Begin the next step."""
        if self.slow and self.steps:
            time.sleep(_PAUSE)
        self.steps.append({"title": title, "calls": []})
        self._line()
        self._line(style_text(f"{len(self.steps)}  {title}", "title"))
        self.tell(text)

    def tell(self, text: str) -> None:
        """Print a paragraph for people."""
        for line in wrap_text(text, self._columns()):
            self._line(_INDENT + line)

    def call(self, verb: str, *args: Any, at: datetime | None = None, **options: Any) -> Any:
        """Make a call at a time of the story, and show it."""
        if at is not None:
            self.clock.moment = at
        self._line()
        first, *rest = wrap_text(_format_call(verb, args, options), self._columns() - len(_TIME) - 2)
        self._line(f"{_INDENT}{style_text(f'{self.clock.moment:{_TIME_FORMAT}}', 'dim')}  {style_text(first, 'note')}")
        for line in rest:
            self._line(f"{_INDENT}{' ' * len(_TIME)}  {style_text(line, 'note')}")
        return self.quietly(verb, *args, **options)

    def quietly(self, verb: str, *args: Any, **options: Any) -> Any:
        """Make a call without showing its source."""
        result = getattr(self.memory, verb)(*args, **options)
        self.steps[-1]["calls"].append({"call": verb, "result": result})
        return result

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> None:
        """Show rows."""
        table = TextTable(columns)
        for row in rows:
            table.add(*row)
        for line in table.lines(self._columns(), style_text):
            self._line(_INDENT + line)

    def hits(self, answer: dict[str, Any]) -> None:
        """Show what a search found, with its score parts as bars."""
        if not answer["results"]:
            self._line(_INDENT + style_text("nothing", "dim"))
            return
        columns = (
            Column("SCORE", right=True),
            Column("WORDS", style=lambda _: "good"),
            Column("MEANING", style=lambda _: "note"),
            Column("MEMORY", grows=True),
        )
        self.table(columns, [_hit_row(hit) for hit in answer["results"]])

    def _columns(self) -> int:
        return min(_WIDE, columns_of(sys.stdout) or _WIDE) - len(_INDENT)

    def _line(self, text: str = "") -> None:
        if not self.quiet:
            print_line(text)


def _hit_row(hit: dict[str, Any]) -> list[str]:
    parts = hit["score_parts"]
    visible = [
        f"{render_bar(parts.get(name, 0.0), _BAR)} {parts.get(name, 0.0):.2f}" for name in ("keyword", "semantic")
    ]
    return [f"{hit['score']:.2f}", *visible, hit["memory"]]


def _format_call(verb: str, args: Sequence[Any], options: dict[str, Any]) -> str:
    """Return the call as one would write it."""
    items = [_format_argument(one) for one in args] + [
        f"{name}={_format_argument(value)}" for name, value in options.items()
    ]
    return f"memory.{verb}({', '.join(items)})"


def _format_argument(value: Any) -> str:
    if isinstance(value, datetime):
        return f'"{value:%Y-%m-%dT%H:%MZ}"'
    if isinstance(value, dict):
        return '{"role": "user", "content": "…"}'
    if isinstance(value, str):
        return "memory_id" if _UUID.fullmatch(value) else f'"{value}"'
    return repr(value)


# --- ``memstone demo`` ------------------------------------------------------------------------------------------------


_EVENT: Final = Column("EVENT", style=event_style)
_LEARNED: Final = Column("LEARNED", grows=True)
_MEMORY: Final = Column("MEMORY", grows=True)


@click.command()
@click.option("--slow", is_flag=True, help="Pause between the steps, on a terminal.")
@for_store
def demo(arguments: Arguments, *, slow: bool) -> int:
    """Show what Memstone does, in a made-up week.

    The demo runs on this machine, in a temporary store that is removed at the end. Use --db to keep it in a new file.
    """
    if arguments.config:
        raise UsageError("the demo uses its own settings", hint="leave out --config")
    if arguments.db and Path(arguments.db).expanduser().exists():
        raise UsageError(f"{arguments.db} already exists", hint="the demo needs a new file")
    clock = StoppedClock(BEGINNING[0].when)
    with arguments.configure_logging(), _open_demo_memory(arguments.db, clock) as memory:
        stage = Stage(memory, clock, quiet=arguments.json, slow=slow and is_terminal(sys.stdout))
        _run_steps(stage, arguments)
    return OK


@contextmanager
def _open_demo_memory(db: str | None, clock: StoppedClock) -> Iterator[Memory]:
    from memstone.memory import Memory

    with TemporaryDirectory(prefix="memstone-demo-", ignore_cleanup_errors=True) as folder:
        url = store_url(db or str(Path(folder) / "demo.db"))
        with Memory({"store": {"url": url}}, clock=clock) as memory:
            yield memory


def _run_steps(stage: Stage, arguments: Arguments) -> None:
    if not arguments.json:
        _open_curtain()
    for step in (
        _learn_facts,
        _show_evidence,
        _search_memories,
        _change_mind,
        _look_back,
        _keep_apart,
        _keep_a_note,
        _delete_plan,
    ):
        step(stage)
    stage.step(
        "What is in the store now",
        "The current facts, and every turn, because turns are memories too. Expired memories are hidden, not erased.",
    )
    counts = stage.quietly("stats")
    if not arguments.print_json({"steps": stage.steps}):
        _close_curtain(counts, arguments.db)


def _open_curtain() -> None:
    print_line(style_text("Memstone: a made-up week with Maya, Jonas and their assistant", "bold"))
    print_line(style_text("One SQLite file and a small model in this process. Nothing leaves this machine.", "dim"))


def _close_curtain(counts: dict[str, Any], db: str | None) -> None:
    names = ("memories", "turns", "events", "fulltext", "vectors")
    print_line()
    show_pairs((f"   {name}", counts[name]) for name in names)
    print_line()
    print_line(style_text("Try next", "bold"))
    program = program_in_shell()
    commands = [(f"{program} {command}", purpose) for command, purpose in NEXT]
    wide = max(display_width(command) for command, _ in commands)
    for command, purpose in commands:
        print_line(f"   {style_text(pad_text(command, wide), 'note')}   {style_text(purpose, 'dim')}")
    if db:
        print_line(f"   {style_text(f'The demo stays in {db}: {program} list --user maya --db {db}', 'dim')}")


def _learn_facts(stage: Stage) -> None:
    stage.step(
        "Monday and Tuesday: Memstone learns facts from conversations",
        "Memstone stores every word, as turns, and learns facts from what the users state. A question states nothing, "
        "and a known fact is not stored twice.",
    )
    _add_statements(stage, BEGINNING)


def _add_statements(stage: Stage, messages: Sequence[DemoMessage]) -> list[dict[str, Any]]:
    """Say things one after the other, the first call shown; return what became of their facts."""
    rows: list[list[object]] = []
    changes: list[dict[str, Any]] = []
    for number, message in enumerate(messages):
        stage.clock.moment = message.when
        add = stage.quietly if number else stage.call
        with WaitNotes("learning"):  # the first time, the model is loaded
            learned = _changes_from_answer(add("add", message.message(), user_id=message.user))
        facts = [(one["event"], one["memory"]) for one in learned] or [("-", "")]
        begin = [_format_weekday_time(message.when), message.speaker, message.text]
        rows += [[*(["", "", ""] if more else begin), *fact] for more, fact in enumerate(facts)]
        changes += learned
    stage.table([Column("WHEN"), Column("SPEAKER"), Column("SAID", grows=True), _EVENT, _LEARNED], rows)
    return changes


def _show_evidence(stage: Stage) -> None:
    stage.step(
        "Every fact shows the words it came from",
        "Nothing is made up: the quote is part of a turn, and you can read the turn.",
    )
    fact = stage.quietly("search", "allergic to hazelnuts", user_id="maya", limit=1)["results"][0]
    fact = stage.call("get", fact["id"])
    turn = stage.quietly("get", fact["evidence"]["turn"])
    rows = [["fact", fact["memory"]], ["quote", fact["evidence"]["quote"]], ["turn", turn["memory"]]]
    stage.table([Column("WHAT"), Column("TEXT", grows=True)], rows)


def _search_memories(stage: Stage) -> None:
    stage.step(
        "Search by words and by meaning",
        "You see two parts of each score. The second question shares no word with its answer.",
    )
    for query in ("hazelnuts", "Who does not eat meat?"):
        stage.hits(stage.call("search", query, user_id="maya", limit=2, explain=True))


def _change_mind(stage: Stage) -> None:
    stage.step(
        "Thursday: facts change",
        "A later statement changes the memory that it contradicts; the old version stays in the history. If the memory "
        "says more than what has changed, the new statement is appended to it.",
    )
    changes = _add_statements(stage, NEWS)
    _show_history(stage, changes[-1]["id"])


def _look_back(stage: Stage) -> None:
    stage.step("Friday: what did we know on Tuesday?", "You can search old versions, too.")
    question: dict[str, Any] = {"user_id": "maya", "limit": 1, "explain": True}
    stage.hits(stage.call("search", "When is the standup?", at=FRIDAY, **question))
    stage.hits(stage.call("search", "When is the standup?", as_of=TUESDAY, **question))


def _keep_apart(stage: Stage) -> None:
    stage.step("Jonas asks, and does not see Maya's memories", "The same question, two people.")
    for user in ("maya", "jonas"):
        question: dict[str, Any] = {"user_id": user, "limit": 1, "min_score": NEAR, "explain": True}
        stage.hits(stage.call("search", "surprise party on Saturday", **question))


def _keep_a_note(stage: Stage) -> None:
    stage.step(
        "Friday and Saturday: a note, stored word for word, that expires",
        "infer=False stores a text as it is. A text with the same key replaces it, and it can have an expiry date.",
    )
    stage.call("add", NOTE, user_id="maya", infer=False, key="gym", expires_at=demo_time(7, 0))
    question: dict[str, Any] = {"user_id": "maya", "limit": 1, "min_score": NEAR, "explain": True}
    stage.hits(stage.call("search", "door code of the gym", **question))
    stage.hits(stage.call("search", "door code of the gym", at=SATURDAY, **question))


def _delete_plan(stage: Stage) -> None:
    stage.step("Sunday: the party is over, forget the plan", "It leaves every index at once. Its history stays.")
    stage.clock.moment = SUNDAY
    plan = stage.quietly("search", "surprise party", user_id="maya", limit=1)["results"][0]
    stage.call("delete", plan["id"])
    _show_history(stage, plan["id"])
    left = stage.call("get_all", user_id="maya")["results"]
    stage.table(
        [Column("SAID"), _MEMORY], [[_format_weekday_time(one["occurred_at"]), one["memory"]] for one in reversed(left)]
    )


def _changes_from_answer(answer: dict[str, Any]) -> list[dict[str, Any]]:
    if "error" in answer:
        raise EmbeddingError(
            f"the demo needs the local model: {answer['error']['message']}", hint=answer["error"]["hint"]
        )
    changes: list[dict[str, Any]] = answer["results"]
    return changes


def _show_history(stage: Stage, memory_id: str) -> None:
    events = stage.call("history", memory_id)
    rows = [
        [one["event"], _format_weekday_time(one["timestamp"]), one["old_value"], one["new_value"]] for one in events
    ]
    stage.table([_EVENT, Column("WHEN"), Column("BEFORE", grows=True), Column("AFTER", grows=True)], rows)


def _format_weekday_time(moment: datetime | str) -> str:
    parsed = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return f"{parsed:%a %H:%M}"
