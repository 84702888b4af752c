"""The turn of short work between threads: one at a time, everybody in the end, and nobody for ever."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sized
from functools import partial
from typing import Any

import pytest

from memstone.adapters.io import fair_lock
from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.io.fair_lock import FairLock
from memstone.drive import drive
from tests.patience import LONG, until


def _threads(*works: Callable[[], Any]) -> None:
    crew = [threading.Thread(target=work, daemon=True) for work in works]
    for one in crew:
        one.start()
    for one in crew:
        one.join(LONG)
    assert not any(one.is_alive() for one in crew)


def _in_turn(turn: FairLock, work: Callable[[], Any]) -> None:
    turn.take()
    try:
        work()
    finally:
        turn.give()


def test_one_thread_at_a_time_has_the_turn_and_everybody_gets_it() -> None:
    turn, inside, most, done = FairLock(), [0], [0], [0] * 8

    def piece() -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        os.urandom(4096)  # lets go of the interpreter
        inside[0] -= 1

    def work(which: int) -> None:
        for _ in range(200):
            _in_turn(turn, piece)
            done[which] += 1

    _threads(*(lambda which=which: work(which) for which in range(8)))
    assert most[0] == 1
    assert done == [200] * 8
    assert not turn.is_owned


def test_who_was_expected_back_and_stays_away_holds_nobody_up() -> None:
    turn, begun, stays_away, done = FairLock(), threading.Event(), threading.Event(), list[int]()

    def busy() -> None:
        for _ in range(50):  # always back at once
            _in_turn(turn, lambda: None)
        turn.take()
        begun.set()
        until(lambda: len(turn._line) == 3)
        turn.give()
        stays_away.wait(LONG)

    def waits(which: int) -> None:
        begun.wait(LONG)
        _in_turn(turn, lambda: done.append(which))
        if len(done) == 3:
            stays_away.set()

    _threads(busy, *(lambda which=which: waits(which) for which in range(3)))
    assert sorted(done) == [0, 1, 2]


def test_one_pause_is_soon_forgotten_and_a_habit_of_staying_away_is_not() -> None:
    turn = FairLock()
    doubts = list[float]()
    for now in (10.0, 10.1, 10.2, 30.0):
        turn._stayed_away(now)
        doubts.append(round(turn._doubt_until - now, 6))
    first, longest = fair_lock._DOUBT
    assert doubts == [first, 2 * first, 4 * first, first]
    for _ in range(20):
        turn._stayed_away(turn._doubt_until)
    assert turn._doubt == longest


def _is_long(line: Sized, count: int) -> bool:
    return len(line) == count


def _first_in(turn: FairLock, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Who gets the turn first, while one holds it and another who is always there waits longer than a guest."""
    done = list[str]()
    monkeypatch.setattr(fair_lock._ThreadState, "comes_back", lambda *_: threading.current_thread().name != "guest")

    def always_there() -> None:
        turn._thread_state.habit = 1_000
        _in_turn(turn, lambda: done.append("always there"))

    def guest() -> None:
        _in_turn(turn, lambda: done.append("guest"))

    turn._thread_state.habit = 1_000
    turn.take()
    crew = [threading.Thread(target=work, name=work.__name__, daemon=True) for work in (always_there, guest)]
    for number, one in enumerate(crew, 1):
        one.start()
        until(partial(_is_long, turn._line, number))
    turn.give()  # its time is not over, but it makes no guest wait
    for one in crew:
        one.join(LONG)
    return done


def test_a_guest_is_let_in_before_those_who_are_always_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_lock, "_OVERTAKEN", LONG)
    assert _first_in(FairLock(), monkeypatch) == ["guest", "always there"]


def test_guests_overtake_nobody_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair_lock, "_OVERTAKEN", -1.0)  # whoever waits has waited for long
    assert _first_in(FairLock(), monkeypatch) == ["always there", "guest"]


def test_others_have_the_turn_while_long_work_runs() -> None:
    io, answer = BlockingIo(), threading.Event()

    async def long_work() -> bool:
        async with io.turn():
            return await io.run_long(lambda: answer.wait(LONG))

    async def short_work() -> None:
        async with io.turn():
            answer.set()

    answers = list[bool]()
    _threads(lambda: answers.append(drive(long_work())), lambda: drive(short_work()))
    assert answers == [True]


def test_long_work_of_one_who_has_no_turn_takes_none() -> None:
    io = BlockingIo()

    async def both() -> list[Any]:
        alone = await io.run_long(lambda: 1)
        async with io.turn():
            with pytest.raises(ZeroDivisionError):
                await io.run_long(lambda: 1 // 0)
            inside = io._turn.is_owned
        return [alone, inside, io._turn.is_owned]

    assert drive(both()) == [1, True, False]


def test_who_is_interrupted_in_line_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    turn, done = FairLock(), list[str]()
    turn.take()
    looks = FairLock._left_to_wait

    def interrupted(self: FairLock, own: Any) -> float:
        if threading.current_thread().name == "interrupted":
            raise KeyboardInterrupt
        return looks(self, own)

    def waits() -> None:
        with pytest.raises(KeyboardInterrupt):
            turn.take()
        done.append("gone")

    def follows() -> None:
        until(lambda: done)
        _in_turn(turn, lambda: done.append("had it"))

    monkeypatch.setattr(FairLock, "_left_to_wait", interrupted)
    crew = [threading.Thread(target=waits, name="interrupted"), threading.Thread(target=follows)]
    for one in crew:
        one.start()
    until(lambda: "gone" in done and len(turn._line) == 1)
    turn.give()
    for one in crew:
        one.join(LONG)
    assert done == ["gone", "had it"]
    assert not turn._taken.locked()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_finds_the_turn_free() -> None:
    turn, taken, forked = FairLock(), threading.Event(), threading.Event()

    def holds() -> None:
        taken.set()
        forked.wait(LONG)

    holder = threading.Thread(target=lambda: _in_turn(turn, holds))
    holder.start()
    assert taken.wait(LONG)
    child = os.fork()
    if not child:
        turn.take()
        turn.give()
        os._exit(7)
    forked.set()
    holder.join(LONG)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
