"""``memstone demo``: what a memory does, told with a made-up week."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import click

from memstone.cli import demo_script as script
from memstone.cli.fail import OK
from memstone.cli.given import Given, for_store, store_url
from memstone.cli.output import event_style, is_terminal, paint, say, show_pairs
from memstone.cli.stage import Stage, StoppedClock
from memstone.cli.table import Column
from memstone.cli.text import padded, width
from memstone.errors import EmbeddingError, UsageError

if TYPE_CHECKING:
    from memstone.memory import Memory

_EVENT: Final = Column("EVENT", style=event_style)
_LEARNED: Final = Column("LEARNED", grows=True)
_MEMORY: Final = Column("MEMORY", grows=True)


@click.command()
@click.option("--slow", is_flag=True, help="Pause between the steps, on a terminal.")
@for_store
def demo(given: Given, *, slow: bool) -> int:
    """Show what a memory does, in a made-up week.

    It runs on this machine, in a temporary store that is removed at the end, or in the new file that --db names.
    """
    if given.config:
        raise UsageError("the demo brings its own settings", hint="leave --config out")
    if given.db and Path(given.db).expanduser().exists():
        raise UsageError(f"{given.db} is there already", hint="the demo wants a new file of its own")
    clock = StoppedClock(script.BEGINNING[0].when)
    with given.logging(), _memory(given.db, clock) as memory:
        stage = Stage(memory, clock, quiet=given.json, slow=slow and is_terminal(sys.stdout))
        _play(stage, given)
    return OK


@contextmanager
def _memory(db: str | None, clock: StoppedClock) -> Iterator[Memory]:
    from memstone.memory import Memory

    with TemporaryDirectory(prefix="memstone-demo-", ignore_cleanup_errors=True) as folder:
        url = store_url(db or str(Path(folder) / "demo.db"))
        with Memory({"store": {"url": url}}, clock=clock) as memory:
            yield memory


def _play(stage: Stage, given: Given) -> None:
    if not given.json:
        _open_curtain()
    for step in (_learn, _show_evidence, _find, _change_mind, _look_back, _keep_apart, _keep_a_note, _delete):
        step(stage)
    stage.step(
        "What is in the store now",
        "What holds, and every turn that was said: they are memories, too. What has expired is hidden, not erased.",
    )
    counts = stage.quietly("stats")
    if not given.answered({"steps": stage.steps}):
        _close_curtain(counts, given.db)


def _open_curtain() -> None:
    say(paint("Memstone: a made-up week of Maya, Jonas and their assistant", "bold"))
    say(paint("One SQLite file and a small model in this process. Nothing leaves this machine.", "dim"))


def _close_curtain(counts: dict[str, Any], db: str | None) -> None:
    names = ("memories", "turns", "events", "fulltext", "vectors")
    say()
    show_pairs((f"   {name}", counts[name]) for name in names)
    say()
    say(paint("Try next", "bold"))
    wide = max(width(command) for command, _ in script.NEXT)
    for command, purpose in script.NEXT:
        say(f"   {paint(padded(command, wide), 'note')}   {paint(purpose, 'dim')}")
    if db:
        say(f"   {paint(f'The story stays in {db}: memstone list --user maya --db {db}', 'dim')}")


def _learn(stage: Stage) -> None:
    stage.step(
        "Monday and Tuesday: facts are learned from what is said",
        "Every word is kept, as turns. Of what the users state, facts are made; a question states nothing, and what is "
        "known already is not stored twice.",
    )
    _say(stage, script.BEGINNING)


def _say(stage: Stage, told: Sequence[script.Said]) -> list[dict[str, Any]]:
    """Say things one after the other, the first call shown; gives what became of their facts."""
    rows: list[list[object]] = []
    changes: list[dict[str, Any]] = []
    for number, said in enumerate(told):
        stage.clock.moment = said.when
        add = stage.quietly if number else stage.call
        learned = _changes(add("add", said.message(), user_id=said.user))
        facts = [(one["event"], one["memory"]) for one in learned] or [("-", "")]
        begin = [_when(said.when), said.speaker, said.text]
        rows += [[*(["", "", ""] if more else begin), *fact] for more, fact in enumerate(facts)]
        changes += learned
    stage.table([Column("WHEN"), Column("SPEAKER"), Column("SAID", grows=True), _EVENT, _LEARNED], rows)
    return changes


def _show_evidence(stage: Stage) -> None:
    stage.step(
        "Every fact shows the words it comes from",
        "Nothing is stored that nobody said: the quote is part of a turn, and the turn can be read.",
    )
    fact = stage.quietly("search", "allergic to hazelnuts", user_id="maya", limit=1)["results"][0]
    fact = stage.call("get", fact["id"])
    turn = stage.quietly("get", fact["evidence"]["turn"])
    rows = [["fact", fact["memory"]], ["quote", fact["evidence"]["quote"]], ["turn", turn["memory"]]]
    stage.table([Column("WHAT"), Column("TEXT", grows=True)], rows)


def _find(stage: Stage) -> None:
    stage.step(
        "Found by words, and by meaning",
        "Shown are two parts of each score. The second question shares no word with its answer.",
    )
    for query in ("hazelnuts", "Who does not eat meat?"):
        stage.hits(stage.call("search", query, user_id="maya", limit=2, explain=True))


def _change_mind(stage: Stage) -> None:
    stage.step(
        "Thursday: facts change",
        "What is said later changes what it contradicts: the same memory, its old version kept. It takes the place "
        "of a memory where nothing else is lost, and is put behind one that says more.",
    )
    changes = _say(stage, script.NEWS)
    _show_history(stage, changes[-1]["id"])


def _look_back(stage: Stage) -> None:
    stage.step("Friday: what did we know on Tuesday?", "Old versions can be asked, too.")
    question: dict[str, Any] = {"user_id": "maya", "limit": 1, "explain": True}
    stage.hits(stage.call("search", "When is the standup?", at=script.FRIDAY, **question))
    stage.hits(stage.call("search", "When is the standup?", as_of=script.TUESDAY, **question))


def _keep_apart(stage: Stage) -> None:
    stage.step("Jonas asks, and Maya's memory stays hers", "The same question, two people.")
    for user in ("maya", "jonas"):
        question: dict[str, Any] = {"user_id": user, "limit": 1, "min_score": script.NEAR, "explain": True}
        stage.hits(stage.call("search", "surprise party on Saturday", **question))


def _keep_a_note(stage: Stage) -> None:
    stage.step(
        "Friday and Saturday: a note, word for word and for a while",
        "infer=False stores a text as it is. It may have a key, under which the next one replaces it, and an end.",
    )
    stage.call("add", script.NOTE, user_id="maya", infer=False, key="gym", expires_at=script.at(7, 0))
    question: dict[str, Any] = {"user_id": "maya", "limit": 1, "min_score": script.NEAR, "explain": True}
    stage.hits(stage.call("search", "door code of the gym", **question))
    stage.hits(stage.call("search", "door code of the gym", at=script.SATURDAY, **question))


def _delete(stage: Stage) -> None:
    stage.step("Sunday: the party is over, forget the plan", "It leaves every index at once. That it was there stays.")
    stage.clock.moment = script.SUNDAY
    plan = stage.quietly("search", "surprise party", user_id="maya", limit=1)["results"][0]
    stage.call("delete", plan["id"])
    _show_history(stage, plan["id"])
    left = stage.call("get_all", user_id="maya")["results"]
    stage.table([Column("SAID"), _MEMORY], [[_when(one["occurred_at"]), one["memory"]] for one in reversed(left)])


def _changes(answer: dict[str, Any]) -> list[dict[str, Any]]:
    if "error" in answer:
        raise EmbeddingError(
            f"the demo needs the local model: {answer['error']['message']}", hint=answer["error"]["hint"]
        )
    changes: list[dict[str, Any]] = answer["results"]
    return changes


def _show_history(stage: Stage, memory_id: str) -> None:
    events = stage.call("history", memory_id)
    rows = [[one["event"], _when(one["timestamp"]), one["old_value"], one["new_value"]] for one in events]
    stage.table([_EVENT, Column("WHEN"), Column("BEFORE", grows=True), Column("AFTER", grows=True)], rows)


def _when(moment: datetime | str) -> str:
    parsed = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return f"{parsed:%a %H:%M}"
