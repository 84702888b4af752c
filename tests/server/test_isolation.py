from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode

from memstone.server.mcp.tools import tools
from tests.server.conftest import CONFIG
from tests.server.test_openapi import ENDLESS, answered
from tests.server.world import World

VERBS: Final = (["read"], ["read", "write"], ["read", "write", "admin"])
TOOLS: Final = tools()
_NUMBERS: Final = count(1)
_MCP: Final = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@dataclass(frozen=True)
class Secret:
    """A memory that only some may see: its word and its id stand nowhere else."""

    word: str
    id: str
    tenant: str
    user: str
    agent: str


@dataclass
class Crowd:
    """Tenants with users and agents, each with memories of their own, and all keys there are to them."""

    world: World
    secrets: list[Secret] = field(default_factory=list)
    tenants: list[str] = field(default_factory=list)
    named: set[str] = field(default_factory=set)

    def settle(self) -> None:
        """Let two more tenants move in."""
        for _ in range(2):
            tenant = f"tenant{next(_NUMBERS)}qx"
            self.tenants.append(tenant)
            for user in (f"anna{next(_NUMBERS)}qx", f"bert{next(_NUMBERS)}qx"):
                for agent in ("", f"agent{tenant}"):
                    self._say(tenant, user, agent)

    def _say(self, tenant: str, user: str, agent: str) -> None:
        word = f"canary{next(_NUMBERS)}qx"
        memory = self.world.app.state.memstone.memory.acting_for(tenant)
        about = {"user_id": user, "agent_id": agent or None, "infer": False, "metadata": {"word": word}}
        stored = self.world.run(memory.add, f"likes the harbour at {word}", **about)
        self.secrets.append(Secret(word, stored["results"][0]["id"], tenant, user, agent))

    def newest(self) -> list[Secret]:
        """The memories of the tenants that have just moved in."""
        return [one for one in self.secrets if one.tenant in self.tenants[-2:]]

    def held(self, secrets: list[Secret]) -> list[Any]:
        """What there is of some memories, as the service itself sees it, whoever asks."""
        memory = self.world.app.state.memstone.memory
        states = []
        for one in secrets:
            found = self.world.run(memory.acting_for(one.tenant).get, one.id)
            states.append(found and (found["memory"], found["version"], found["status"], found["metadata"]))
        return states


@pytest.fixture(scope="module")
def crowd() -> Iterator[Crowd]:
    patient = {
        "failed_logins": {"per_minute": 0},
        "mcp_remote": True,
    }  # what is asked at random is wrong so often that nobody is let in
    with World.of({**CONFIG, "server": patient}) as world:
        yield Crowd(world)


def operations(world: World) -> list[Any]:
    described = schemathesis.openapi.from_dict(world.app.openapi())
    every = [found.ok() for found in described.get_all_operations()]  # type: ignore[union-attr]  # it raises if it is not
    return [one for one in every if one.path not in ENDLESS]


def aimed(value: Any, target: Secret, name: str = "") -> Any:
    """A request turned upon somebody: whatever names a user, an agent, a memory or a question names theirs."""
    if isinstance(value, dict):
        return {key: aimed(one, target, key) for key, one in value.items()}
    if isinstance(value, list):
        ids = name in ("ids", "memory_ids", "memoryIds")
        return [target.id] if ids else [aimed(one, target, name) for one in value]
    low = name.lower().replace("_", "")
    if low in ("userid", "apikeyid", "ownerid", "owner", "touser", "newuserid"):
        return target.user
    if low in ("agentid", "agent"):
        return target.agent or value
    if low in ("memoryid", "id", "vectorid"):
        return target.id
    return "harbour" if low in ("query", "q", "message", "content", "text") else value


def asked(case: Any, target: Secret, world: World) -> str:
    case.path_parameters = aimed(case.path_parameters or {}, target)
    case.query = {
        **aimed(case.query or {}, target),
        **({"user_id": target.user} if "user_id" in str(case.query) else {}),
    }
    if isinstance(case.body, (dict, list)):
        case.body = aimed(case.body, target)
    answer: str = answered(case, world).text
    return answer


def used(world: World, tool: str, target: Secret) -> str:
    """What a tool answers over the protocol."""
    known = {
        "content": "I like the harbour",
        "query": "harbour",
        "scope": "pinned",
        "id": target.id,
        "confirm": True,
        "user_id": target.user,
    }
    given = {name: value for name, value in known.items() if name in TOOLS[tool].schema["properties"]}
    params = {"name": tool, "arguments": given}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = world.client.post("/mcp", content=json.dumps(body), headers=_MCP)
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def may_see(one: Secret, owner: Secret, bound: str) -> bool:
    """Whether a key of somebody's tenant, bound to them or to their agent, reaches a memory."""
    if one.tenant != owner.tenant:
        return False
    return bound == "" or (one.user == owner.user if bound == "user" else one.agent == owner.agent)


def key_of(crowd: Crowd, owner: Secret, bound: str, verbs: list[str]) -> World:
    named = {"": {}, "user": {"user_id": owner.user}, "agent": {"agent_id": owner.agent}}[bound]
    world = crowd.world
    return World(world.app, world.as_key(owner.tenant, verbs=verbs, **named))


def check(crowd: Crowd, data: st.DataObject, owner: Secret, bound: str, verbs: list[str], rounds: int) -> None:
    """Ask again and again with one key, mostly for what is not its own."""
    caller = key_of(crowd, owner, bound, verbs)
    hidden = [one for one in crowd.secrets if not may_see(one, owner, bound)]
    met = {one.user for one in crowd.secrets if one not in hidden}
    untouched = [one for one in crowd.newest() if one in hidden or "write" not in verbs]
    before = crowd.held(untouched)
    described = operations(crowd.world)
    for _ in range(rounds):
        target = data.draw(st.sampled_from(crowd.newest()))
        # What a caller names itself it may have made in its own tenant: a user, or a vector under an id it brought.
        crowd.named |= {target.user, target.id}
        which = data.draw(st.sampled_from([*TOOLS, *described]))
        if isinstance(which, str):
            label, text = which, used(caller, which, target)
        else:
            case = data.draw(which.as_strategy(generation_mode=GenerationMode.POSITIVE))
            label, text = which.label, asked(case, target, caller)
        for one in hidden:
            assert one.word not in text, (label, bound, verbs, text)
            assert one.id not in text or one.id in crowd.named, (label, bound, verbs, text)
            assert one.user not in text or one.user in crowd.named | met, (label, bound, verbs, text)
    assert crowd.held(untouched) == before, (bound, verbs)


def fuzzed(crowd: Crowd, examples: int, rounds: int) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data(), bound=st.sampled_from(["", "user", "agent"]), verbs=st.sampled_from(VERBS))
    def run(data: st.DataObject, bound: str, verbs: list[str]) -> None:
        crowd.settle()
        owners = [one for one in crowd.newest() if one.agent or bound != "agent"]
        check(crowd, data, data.draw(st.sampled_from(owners)), bound, verbs, rounds)

    run()


@pytest.mark.slow
@pytest.mark.req("X-24")
@pytest.mark.timeout(300)
def test_no_key_sees_or_changes_what_it_does_not_reach(crowd: Crowd) -> None:
    fuzzed(crowd, 12, 15)


@pytest.mark.system
@pytest.mark.timeout(3_600)
def test_no_key_sees_or_changes_what_it_does_not_reach_whatever_it_asks(crowd: Crowd) -> None:
    fuzzed(crowd, 100, 100)


def test_the_fuzz_would_notice(crowd: Crowd) -> None:
    """A key that reaches somebody's memories is shown their words by the same requests."""
    crowd.settle()
    owner = crowd.newest()[0]
    caller = key_of(crowd, owner, "user", ["read"])
    assert owner.word in used(caller, "memory_search", owner)
    assert owner.word in caller.client.get(f"/v1/memories/{owner.id}").text
    assert owner.word in caller.client.get(f"/v1/events?user_id={owner.user}").text
