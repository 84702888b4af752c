"""Tenants with people, keys and agents, each with memories of their own, and everybody who might want to see them.

Every pool has a word of its own that stands in all it holds: facts, turns, episodes, identity, vectors, settings,
receipts, what was deleted. Nobody ever sends it, so an answer with the word of somebody else is a leak. So is an answer
with an id of somebody else, unless whoever asks has named it before.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final

from memstone import AsyncMemory
from tests.security.asgi import Answer, Call

ALL: Final = ["read", "write", "admin"]
AGENT: Final = "helper"
OTHER_AGENT: Final = "other"
VECTOR: Final = [1.0, 2.0, 3.0]
SENTENCE: Final = "a long sentence of mine"
_NUMBERS: Final = count(1)


@dataclass
class Pool:
    """Somebody's memory: what it is stored under, what they are called, and all by which it could be asked for."""

    tenant: str
    user: str
    name: str
    agent: str
    word: str
    key_id: str = ""
    names: dict[str, str] = field(default_factory=dict)
    """By what the parameters of routes are called: ``memory_id``, ``receipt_id``, ``run_id`` and so on."""

    @property
    def ids(self) -> set[str]:
        """What stands for something of it and for nothing else."""
        return {value for value in self.names.values() if value}


@dataclass
class Actor:
    """Somebody who asks: with which key, in whose name, and what they may see."""

    title: str
    tenant: str
    headers: dict[str, str]
    reaches: Callable[[Pool], bool]
    manages: frozenset[str] = frozenset()
    """Which tables of the whole tenant are theirs to change."""

    agent: str = ""
    """The agent whose memories of everybody are theirs."""

    writes: bool = True
    sent: set[str] = field(default_factory=set)
    """Ids that they have named, and may therefore be shown."""


@dataclass
class Crowd:
    """Two new tenants of a running service, with everything in them."""

    app: Any
    file: Path
    pools: list[Pool] = field(default_factory=list)
    tokens: dict[str, str] = field(default_factory=dict)
    key_ids: dict[str, str] = field(default_factory=dict)
    tenants: list[str] = field(default_factory=list)
    about: dict[str, dict[str, str]] = field(default_factory=dict)
    """By tenant what belongs to all of it: an account, an agent, a key."""

    @property
    def memory(self) -> AsyncMemory:
        """The memory of the service itself."""
        memory: AsyncMemory = self.app.state.memstone.memory
        return memory

    async def settle_one(self) -> None:
        """Let a tenant move in with one person: enough to try whether something works."""
        self.tenants = [f"tenant{next(_NUMBERS)}qx"]
        await self._tenant(self.tenants[0])
        name = f"anna{next(_NUMBERS)}qx"
        await self._say(self.tenants[0], name, name)

    async def settle(self) -> None:
        """Let two tenants move in."""
        self.tenants = [f"tenant{next(_NUMBERS)}qx" for _ in range(2)]
        for tenant in self.tenants:
            await self._tenant(tenant)
        first, second = self.tenants
        anna, bert = f"anna{next(_NUMBERS)}qx", f"bert{next(_NUMBERS)}qx"
        for key in ("k1", "k2"):
            await self._key(first, key)
        await self._key(second, "k3")
        for name in (anna, bert):
            await self._say(first, name, name)
        await self._say(first, "", "", agent=AGENT)
        for key in ("k1", "k2"):
            own = f"key:{self.key_ids[key]}"
            await self._say(first, own, "", key=key)
            await self._say(first, f"{own}:{anna}", anna, key=key)
        await self._say(first, f"key:{self.key_ids['k1']}:{bert}", bert, key="k1")
        await self._say(second, anna, anna)
        await self._say(second, f"key:{self.key_ids['k3']}", "", key="k3")

    async def _tenant(self, tenant: str) -> None:
        memory, word = self.memory.acting_for(tenant), f"canary{next(_NUMBERS)}qx"
        await self._key(tenant, f"admin of {tenant}", verbs=ALL)
        await self._key(tenant, f"spare of {tenant}", name=word)
        await memory.agents.save(AGENT, name=word, system_prompt=f"You keep {word}", model="m")
        login = f"{word}@example.org"
        account = await memory.admin.accounts.create(login, SENTENCE, name=word)
        await memory.settings.set({"extract.instructions": f"Keep {word}"})
        work = Call("POST", "/v1/console/consolidate", {}, self._with_key(f"admin of {tenant}"), {})
        started = (await work.send_to(self.app)).json()
        self.about[tenant] = {"word": word, "account": account["id"], "login": login, "work_id": started["id"]}

    async def _key(self, tenant: str, title: str, **key: Any) -> None:
        made = await self.memory.acting_for(tenant).admin.keys.create(**key)
        self.tokens[title], self.key_ids[title] = made["key"], made["id"]

    async def _say(self, tenant: str, user: str, name: str, *, agent: str = AGENT, key: str = "") -> None:
        """Fill every kind of memory there is with a word."""
        memory, word, number = self.memory.acting_for(tenant), f"canary{next(_NUMBERS)}qx", next(_NUMBERS)
        pool = Pool(tenant, user, name, agent, word, self.key_ids.get(key, ""))
        run, vector_id, sister = f"run{number}rz", f"vector{number}rz", f"Anna{number}rz"
        who: dict[str, Any] = {"user_id": user or None, "agent_id": agent, "run_id": run}
        about: dict[str, Any] = {"infer": False, "metadata": {"word": word}}
        first = (await memory.add(f"likes the harbour at {word}", **who, **about))["results"][0]["id"]
        gone = (await memory.add(f"liked the old harbour at {word}", **who, **about))["results"][0]["id"]
        await memory.update(first, f"likes the harbour of {word}")
        await memory.delete(gone)
        aside = (await memory.add(f"an odd harbour at {word}", **who, **about))["results"][0]["id"]
        await memory.review.quarantine(aside)
        await memory.add(f"My sister {sister} works at {word.capitalize()}.", **who)
        texts = [{"role": "user", "content": f"We met at the harbour of {word}, and I decided to move to {word}."}]
        stored = await memory.sessions.ingest(texts * 4, **{**who, "run_id": f"session{number}rz"})
        context_pack = await memory.context("What about the harbour?", **who, gate="always")
        vector = {"id": vector_id, "values": VECTOR, "metadata": {"content": f"the harbour at {word}"}}
        if user:
            await memory.vectors.insert([vector], user_id=user)
            await memory.identity.add_override(f"Always say {word}", user_id=user)
            await memory.settings.set({"extract.instructions": f"Keep {word}"}, user_id=user)
        events = (await memory.review.events(limit=1_000, **{**who, "run_id": None}))["results"]
        jobs = (await memory.admin.jobs(limit=1_000, **{**who, "run_id": None}))["results"]
        pool.names = {
            "memory_id": first,
            "gone_id": gone,
            "quarantined_id": aside,
            "vector_id": vector_id if user else "",
            "receipt_id": context_pack.receipt_id,
            "event_id": [one["id"] for one in events if one["memory_id"] == first][-1],
            "job_id": next((one["id"] for one in jobs if word in str(one)), ""),
            "run_id": run,
            "entity": sister,
        }
        assert stored["turns_ingested"] == 4
        self.pools.append(pool)

    # --- who asks -----------------------------------------------------------------------------------------------------

    async def actors(self) -> list[Actor]:
        """Everybody who might want to see what is not theirs; each reaches what its key is for."""
        first, second = self.tenants
        bert = self.pools[1].name
        await self._key(first, "trusted", may_assert_user=True)
        await self._key(first, "trusted reader", may_assert_user=True, verbs=["read"])
        await self._key(first, "of bert", user_id=bert)
        await self._key(first, "admin of bert", user_id=bert, verbs=ALL)
        await self._key(first, "of an agent", agent_id=AGENT)
        await self._key(first, "of another agent", agent_id=OTHER_AGENT, may_assert_user=True)
        await self._key(first, "reader", verbs=["read"])
        await self._key(first, "revoked", verbs=ALL)
        await self._key(first, "expired", verbs=ALL)
        await self.memory.acting_for(first).admin.keys.revoke(self.key_ids["revoked"])
        self._expire(self.key_ids["expired"])

        def nothing(_: Pool) -> bool:
            return False

        def of_key(key: str, *names: str) -> Callable[[Pool], bool]:
            return lambda pool: pool.key_id == self.key_ids[key] and (not names or pool.name in names)

        def people(pool: Pool) -> bool:
            return pool.tenant == first and not pool.key_id

        def of_tenant(tenant: str) -> Callable[[Pool], bool]:
            return lambda pool: pool.tenant == tenant

        def berts(pool: Pool) -> bool:
            return people(pool) and pool.name == bert

        def key(title: str, name: str = "") -> dict[str, str]:
            return self._with_key(title, name)

        wrong = {"authorization": f"Bearer rt_{self.key_ids['k1']}_{'x' * 43}"}
        all_of_it, agents = frozenset(_OF_TENANT), frozenset({"agents"})
        return [
            Actor("no key", "", {}, nothing),
            Actor("a wrong key", "", wrong, nothing),
            Actor("a revoked key", "", key("revoked"), nothing),
            Actor("an expired key", "", key("expired"), nothing),
            Actor("an admin of another tenant", second, key(f"admin of {second}"), of_tenant(second), all_of_it),
            Actor("another tenant's plain key", second, key("k3"), of_key("k3")),
            Actor("another key", first, key("k2"), of_key("k2")),
            Actor("a key that only reads", first, key("reader"), nothing, writes=False),
            Actor("the same key in another name", first, key("k1", bert), of_key("k1", bert)),
            Actor("the same key in a new name", first, key("k1", "mallory"), nothing),
            Actor("a key of one user", first, key("of bert"), berts),
            Actor("an admin key of one user", first, key("admin of bert"), berts),
            Actor("a key of an agent", first, key("of an agent"), nothing),
            Actor("a trusted key of another agent", first, key("of another agent"), nothing, agents, OTHER_AGENT),
            Actor("a trusted key", first, key("trusted"), people, agents),
            Actor("a trusted key that only reads", first, key("trusted reader"), people, writes=False),
            Actor("a trusted key in a name", first, key("trusted", bert), berts),
            Actor("an admin key in a name", first, key(f"admin of {first}", bert), berts),
        ]

    def _with_key(self, title: str, name: str = "") -> dict[str, str]:
        key = {"authorization": f"Bearer {self.tokens[title]}"}
        return {**key, "x-memstone-user": name} if name else key

    def owner(self) -> Actor:
        """Somebody who reaches all of the first tenant: for finding out whether a request is understood at all."""
        first = self.tenants[0]
        return Actor("the owner", first, self._with_key(f"admin of {first}"), lambda pool: pool.tenant == first)

    def _expire(self, key_id: str) -> None:
        past = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        with closing(sqlite3.connect(self.file)) as file, file:
            file.execute("UPDATE api_keys SET expires_at = ? WHERE id = ?", (past, key_id))

    # --- what is there ------------------------------------------------------------------------------------------------

    def state(self, actor: Actor) -> dict[str, Any]:
        """Every row of the store that an actor has no business with, to be compared afterwards.

        Of other tenants all rows; of the own tenant those of pools that are not reached, or of all pools for who only
        reads. That keys, accounts and agents which belong to the tenant stay as they are is looked at by their ids.
        """
        hidden = [pool for pool in self.pools if not (actor.writes and actor.reaches(pool))]
        with closing(sqlite3.connect(self.file)) as file:
            file.row_factory = sqlite3.Row
            owners = _owners(file, self.tenants)
            return {table: _rows(file, table, _Hidden(actor, hidden, owners), self.tenants) for table in _tables(file)}


@dataclass
class _Hidden:
    """Whose rows an actor must not change; ``owners`` says by version who sees it."""

    actor: Actor
    pools: list[Pool]
    owners: dict[int, set[tuple[str, str]]]

    def concerns(self, table: str, row: dict[str, Any]) -> bool:
        """Whether a row is among them."""
        if row["tenant_id"] != self.actor.tenant:
            return True
        if table in _OF_TENANT:
            return table not in self.actor.manages and "canary" in str(row)
        seq = row.get("memory_seq") or (row.get("seq") if table == "memories" else None)
        if seq is not None:
            return any(self._is_of(*owner) for owner in self.owners.get(seq, ()))
        if "user_id" in row:
            is_note = table in _NOTES and (self.actor.agent or not self.actor.writes)
            return not is_note and self._is_of(row["user_id"], row.get("agent_id", ""))
        if "scope_key" not in row:
            return False
        return any(pool.user and f"user:{pool.user}" in row["scope_key"].split("&") for pool in self.pools)

    def _is_of(self, user: str, agent: str) -> bool:
        if agent and agent == self.actor.agent:
            return False
        own = [pool for pool in self.pools if pool.tenant == self.actor.tenant]
        return any(user == pool.user and (user or agent == pool.agent) for pool in own)


_VOLATILE: Final = frozenset({"leases", "erasures", "backups"})
_TIMES: Final = frozenset({"last_used_at", "last_login_at"})
_NOTES: Final = frozenset({"receipts", "counters"})
"""What is noted about whoever reads, or about a person whom an agent talks to."""

_OF_TENANT: Final = frozenset({"agents", "api_keys", "accounts"})


def _tables(file: sqlite3.Connection) -> list[str]:
    names = [row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return [one for one in names if not re.match(r"sqlite_|fulltext|words", one) and one not in _VOLATILE]


def _owners(file: sqlite3.Connection, tenants: list[str]) -> dict[int, set[tuple[str, str]]]:
    found: dict[int, set[tuple[str, str]]] = {}
    query = f"SELECT memory_seq, user_id, agent_id FROM links WHERE tenant_id IN ({marks(tenants)})"  # noqa: S608
    for seq, user, agent in file.execute(query, tenants):
        found.setdefault(seq, set()).add((user, agent))
    return found


def _rows(file: sqlite3.Connection, table: str, hidden: _Hidden, tenants: list[str]) -> list[str]:
    columns = [row[1] for row in file.execute(f"PRAGMA table_info({table})")]
    if "tenant_id" not in columns:
        return []
    query = f"SELECT * FROM {table} WHERE tenant_id IN ({marks(tenants)})"  # noqa: S608 - the names of our own tables
    found = [dict(row) for row in file.execute(query, tenants)]
    remaining = [one for one in found if hidden.concerns(table, one)]
    without = _TIMES if hidden.actor.writes else {*_TIMES, "use_count"}
    return sorted(str({name: value for name, value in one.items() if name not in without}) for one in remaining)


def marks(values: list[str]) -> str:
    """A mark for each value of a statement."""
    return ", ".join("?" * len(values))


def leaked(call: Call, answer: Answer, upstream: str, crowd: Crowd, actor: Actor) -> list[str]:
    """What an answer, or what a model was sent for it, tells of those whom the actor does not reach."""
    text, hidden = answer.text + upstream, [pool for pool in crowd.pools if not actor.reaches(pool)]
    sent = call.sent
    actor.sent |= {one for pool in hidden for one in pool.ids if one in sent}
    words = {pool.word for pool in hidden}
    words |= {about["word"] for tenant, about in crowd.about.items() if tenant != actor.tenant}
    ids = {one for pool in hidden for one in pool.ids} - actor.sent
    return [one for one in words | ids if one in text or one.capitalize() in text]
