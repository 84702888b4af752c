"""Calls follow the commit, a few at a time, and none is lost as long as somebody is there to hear it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from memstone import Memory
from memstone.adapters.postgres import notify
from memstone.adapters.postgres.notify import CHANNEL, NotifySender, _combine_payloads
from tests.patience import LONG, until
from tests.postgres.server import Server

_MINE = "FROM pg_stat_activity WHERE application_name = 'memstone-caller'"


@pytest.fixture(autouse=True)
def _patient(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine it takes a while to connect, and those of other tests to go."""
    monkeypatch.setattr(notify, "_PATIENCE", LONG)
    _nobody_calls(postgres)


def _nobody_calls(postgres: Server) -> None:
    with postgres.superuser(postgres.name) as connection:
        until(lambda: connection.execute(f"SELECT count(*) {_MINE}").fetchone() == (0,))


class Ear:
    """Hears on a connection of its own."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self.notices: list[str] = []

    @property
    def said(self) -> set[str]:
        """All that was said."""
        return {one for notice in self.notices for one in notice.split(";")}

    def until(self, words: set[str]) -> bool:
        """Wait until all of it was heard."""
        for notice in self._connection.notifies(timeout=LONG):
            self.notices.append(notice.payload)
            if words <= self.said:
                return True
        return False


@contextmanager
def _hearing(url: str) -> Iterator[Ear]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"LISTEN {CHANNEL}")
        yield Ear(connection)


@contextmanager
def _calling(url: str) -> Iterator[NotifySender]:
    caller = NotifySender(url)
    try:
        yield caller
    finally:
        caller.close()


def test_many_calls_of_many_threads_are_passed_on_in_few_and_none_is_missing(postgres: Server) -> None:
    url = postgres.fresh()
    words = {f"{tenant} 2026-01-01T00:00:{number:02}" for tenant in range(8) for number in range(60)}
    with _hearing(url) as ear, _calling(url) as caller:
        ready = threading.Barrier(8)

        def talk(tenant: int) -> None:
            ready.wait()
            for number in range(60):
                caller.call([f"{tenant} 2026-01-01T00:00:{number:02}"])

        threads = [threading.Thread(target=talk, args=(tenant,)) for tenant in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()

        assert ear.until(words)
        assert ear.said == words
        assert len(ear.notices) < len(words) / 4


def test_what_is_said_again_while_it_is_passed_on_is_passed_on_again(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever heard the first call may have looked before the second one's work was there."""
    url = postgres.fresh()
    with _hearing(url) as ear, _calling(url) as caller:
        taken = NotifySender._take_names

        def taken_and_then_said_again(self: NotifySender) -> list[str]:
            texts = taken(self)
            monkeypatch.setattr(NotifySender, "_take_names", taken)
            caller.call(["1 "])
            return texts

        monkeypatch.setattr(NotifySender, "_take_names", taken_and_then_said_again)
        caller.call(["1 "])
        assert ear.until({"1 "})
        caller.call(["2 "])

        assert ear.until({"2 "})
        assert ear.notices[1].split(";")[0] == "1 "


def test_closing_passes_on_what_waits(postgres: Server) -> None:
    url = postgres.fresh()
    with _hearing(url) as ear:
        with _calling(url) as caller:
            caller.call(["1 "])
            caller.call(["2 "])

        assert ear.until({"1 ", "2 "})
        assert caller._thread is None


def test_a_connection_that_was_cut_is_replaced_and_the_call_made_again(postgres: Server) -> None:
    url = postgres.fresh()
    with _hearing(url) as ear, _calling(url) as caller:
        caller.call(["1 "])
        assert ear.until({"1 "})
        with postgres.superuser(postgres.name) as connection:
            assert connection.execute(f"SELECT pg_terminate_backend(pid, 60000) {_MINE}").fetchall() == [(True,)]
        caller.call(["2 "])

        assert ear.until({"2 "})


def test_where_nobody_answers_calls_are_dropped_and_nobody_waits(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "_PAUSE", 0.001)
    url = postgres.fresh()
    caller = NotifySender(url.replace(f"/{postgres.name}", "/nowhere"))
    caller.call(["1 "])
    caller.close()

    assert not caller._waiting
    assert caller._thread is None


def test_the_thread_and_its_connection_end_when_it_is_quiet_and_begin_again(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "_POSTGRES_CALLING_IDLE_SECONDS", 0.01)
    url = postgres.fresh()
    with _hearing(url) as ear, _calling(url) as caller:
        caller.call(["1 "])
        thread = caller._thread
        assert ear.until({"1 "})
        if thread is not None:
            thread.join(LONG)
        assert caller._thread is None
        _nobody_calls(postgres)
        caller.call(["2 "])

        assert ear.until({"2 "})


def test_a_forked_child_calls_by_itself(postgres: Server) -> None:
    url = postgres.fresh()
    with _hearing(url) as ear, _calling(url) as caller:
        caller.call(["1 "])
        assert ear.until({"1 "})
        child = os.fork()
        if child == 0:
            caller.call(["2 "])
            caller.close()
            os._exit(0)
        os.waitpid(child, 0)

        assert ear.until({"2 "})
        caller.call(["3 "])
        assert ear.until({"3 "})


def test_whoever_is_called_can_see_the_work(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url, seen = postgres.fresh(), []

    def look(_: NotifySender, texts: list[str]) -> None:
        with postgres.superuser(postgres.name) as connection:
            seen.append((len(texts), connection.execute("SELECT count(*) FROM memstone.signals").fetchone()))

    monkeypatch.setattr(NotifySender, "call", look)
    config = {
        "store": {"url": url, "durable": False},
        "embedder": {"provider": "hash"},
        "write": {"mode": "background"},
    }
    with Memory(config) as memory:
        memory.engine.runtime.worker_state.stopping = True  # whoever talks does not work
        memory.add("I live in Oslo", user_id="alice")

    assert seen[0] == (1, (1,))


def test_what_is_too_long_for_one_call_is_several() -> None:
    texts = [f"{number:020} 2026-01-01T00:00:00.000000Z" for number in range(1000)]

    parts = list(_combine_payloads(texts))

    assert [one for part in parts for one in part.split(";")] == texts
    assert len(parts) > 1
    assert all(len(part) < 8000 for part in parts)
