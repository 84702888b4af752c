"""Redis with its search module: a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
import redis

from memstone.adapters.io.blocking import BlockingIo
from memstone.adapters.vectors.redis import RedisConfig, RedisStore
from memstone.drive import drive
from memstone.errors import BackendUnavailable, VectorStoreError
from memstone.model.query import Op
from memstone.ports.index import Point, VectorStore
from memstone.ports.io import Io
from memstone.testing.vector_store import NAME, VectorStoreSuite, fill_collection
from tests.stores.redis_server import run_redis


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with run_redis() as running:
        yield running


@pytest.mark.req("C-31", "C-32", "C-34", "C-39.1", "C-58.41", "R-5", "R-27", "R-28", "X-19")
class TestRedis(VectorStoreSuite):
    """Compared by a graph."""

    unsupported = frozenset(Op) - {Op.EQ, Op.NE, Op.IN, Op.NIN, Op.EXISTS}
    options: ClassVar[dict[str, Any]] = {}
    _url = ""

    @pytest.fixture(autouse=True)
    def _running(self, url: str) -> None:
        self._url = url

    def connect(self, io: Io) -> VectorStore:
        """A connection to the server."""
        return RedisStore(RedisConfig(url=self._url, **self.options), io)

    def interrupt(self) -> None:
        """End every other connection, on the server."""
        with redis.Redis.from_url(self._url) as client:
            client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")


class TestRedisFlat(TestRedis):
    """Compared with every vector."""

    options: ClassVar[dict[str, Any]] = {"index": "flat", "prefix": "flat"}


@pytest.mark.req("C-39.1")
def test_the_vendors_commands_find_what_our_store_has_written(url: str, io: BlockingIo) -> None:
    store = RedisStore(RedisConfig(url=url, prefix="theirs"), io)
    drive(store.reset())
    drive(fill_collection(store, [Point("a", [3, 4], {"user_id": "u"})]))

    with redis.Redis.from_url(url) as client:
        assert client.hget(f"theirs/{NAME}/a", "payload") == b'{"user_id": "u"}'
        info = client.ft(f"theirs/{NAME}").info()
    assert int(info["num_docs"]) == 1
    drive(store.close())


@pytest.mark.req("C-46")
def test_the_environment_names_the_server_where_the_options_do_not() -> None:
    assert RedisStore.read_environment({}, {"REDIS_URL": "redis://db"}) == {"url": "redis://db"}
    assert RedisStore.read_environment({"url": "redis://x"}, {"REDIS_URL": "redis://db"}) == {"url": "redis://x"}


@pytest.mark.req("N-1")
def test_a_server_that_is_not_there_is_an_error_without_the_password(io: BlockingIo) -> None:
    store = RedisStore(RedisConfig(url="redis://:hidden-4711@127.0.0.1:1"), io)
    with pytest.raises(BackendUnavailable, match=r"Redis on 127\.0\.0\.1 does not answer") as refused:
        drive(store.check_health())
    assert "service is running" in (refused.value.hint or "")
    assert "hidden-4711" not in f"{refused.value!r}"


def test_a_server_without_the_module_is_told_so(io: BlockingIo, url: str) -> None:
    with redis.Redis.from_url(url) as client:
        client.execute_command("ACL", "SETUSER", "plain", "on", ">pw", "~*", "+@all", "-ft.create")
    store = RedisStore(RedisConfig(url=url.replace("redis://", "redis://plain:pw@"), prefix="plain"), io)
    with pytest.raises(VectorStoreError, match=r"(?i)permission") as refused:
        drive(store.create(NAME, 2))
    assert "search module" in (refused.value.hint or "")
    drive(store.close())
