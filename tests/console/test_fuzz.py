"""Every route of the console, everybody who must not get through, and odd requests: refused, nothing told or changed.

Each of some 75 routes is asked for by each of eleven strangers, several times, with fitting and with odd values.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import pytest
from starlette.routing import Route

from memstone.model.access import Verb
from memstone.server.console.routes import console_routes, declared_pages
from tests.console.house import Guest, House, open_house

pytestmark = pytest.mark.system

ROUNDS: Final = 7
FOR_EVERYBODY: Final = {"/console/sign-in", "/health", "/docs", "/docs/{part}", "/console/static/{digest}/{name:path}"}
SECRETS: Final = ("swordfish", "albatross", "heron-key", "nora.hidden", "Zebedee", "pelican", "kestrel-session")
"""Words that only who sees the whole tenant may read; some of them are about Alice, who may read those."""

ODD: Final = (
    "", " ", "alice", "*", "%", "' OR 1=1 --", "\x00", "../..", "<script>alert(1)</script>", "9" * 40, "-1", "1e9",
    "nan", "é" * 300, "[]", "{}", "null", "a.0.9", "b..", "2026-13-45", "0001-01-01", "9999-12-31", "\u202egnp",
    "\ud7ff\uffff", "//evil.example", "javascript:alert(1)", "x" * 5_000, "\r\nset-cookie: a=b", "mc.%%.x.", "true",
)  # fmt: skip
NAMES: Final = (
    "account", "act", "agent", "around", "at", "back", "budget", "by", "collection", "confirm", "day", "days",
    "decision", "doubtful", "enabled", "event", "format", "gate", "host", "id", "into", "job", "key", "kind", "learn",
    "login", "memory", "message", "model", "name", "next", "page", "password", "per", "port", "preset", "prompt", "q",
    "queue", "reach", "really", "reason", "report", "reset", "role", "search", "session", "show", "since", "sort",
    "status", "subject", "tag", "tested", "text", "theme", "to", "toast", "trial", "trusted", "until", "useful",
    "user", "value", "verb", "version", "view", "visibility", "wanted", "who",
)  # fmt: skip


class Scene:
    """A store with secrets, what each of them can be asked for by, and an operator who made them."""

    def __init__(self, house: House) -> None:
        self.house, memory = house, house.memory
        self.memory_id = house.add("The word is swordfish", key="word", metadata={"tags": ["albatross"]})
        house.add("I like tea", "bob")
        talk = {"user_id": "alice", "agent_id": "ibis-agent", "run_id": "kestrel-session"}
        house.run(memory.add, "My sister Zebedee lives in Oslo.", **talk)
        self.receipt_id = house.run(memory.context, "What is the swordfish?", user_id="alice").receipt_id
        self.job_id = house.run(memory.admin.consolidate, user_id="alice")["job_id"]
        self.event_id = house.run(memory.history, self.memory_id)[-1]["id"]
        self.key_id = house.run(memory.admin.keys.create, "heron-key")["id"]
        created = house.run(memory.admin.accounts.create, "nora.hidden", "correct horse battery", role="viewer")
        self.account_id = created["id"]
        house.run(memory.agents.save, "ibis-agent", system_prompt="Answer like a pelican")
        house.run(memory.acting_for("acme").add, "We like coffee", user_id="carol", infer=False)
        self.operator = house.guest()

    def path(self, path: str, chance: random.Random | None = None) -> str:
        """An address that is about a secret, or with odd parts."""
        named = {
            "memory_id": self.memory_id, "receipt_id": self.receipt_id, "job_id": self.job_id, "rest:path": "nowhere",
            "digest": "0" * 8, "name:path": "../secret", "part": "memories",
        }  # fmt: skip

        def value(match: re.Match[str]) -> str:
            odd = chance is not None and chance.random() < 0.3
            return quote(chance.choice(ODD).strip() or "x", safe="") if odd and chance else named[match[1]]

        return re.sub(r"{([a-z_:]+)}", value, path)

    def fields(self) -> dict[str, Any]:
        """A form that fits most acts, and would do harm."""
        return {
            "id": self.memory_id, "memory": self.memory_id, "act": "delete", "text": "changed", "user": "alice",
            "confirm": "erase", "visibility": "private", "useful": "no", "version": "1", "tag": "x", "to": "bob",
            "event": self.event_id, "key": self.key_id, "account": self.account_id, "wanted": "disable",
            "verb": "admin", "decision": "reject", "name": "context.budget", "value": "7", "subject": "alice",
            "kind": "user",
            "into": "bob", "agent": "ibis-agent", "really": "yes", "role": "admin", "message": "I live in Rome.",
            "status": "disabled", "reason": "because", "enabled": "", "who": "alice", "reach": "user",
        }  # fmt: skip

    def everything(self) -> str:
        """All that is stored of Alice and set for her tenant, in short."""
        memory = self.house.memory

        async def read() -> list[str]:
            lines = [line async for line in memory.export(user_id="alice")]
            kept = [str(line) for line in lines if "exported_at" not in line]
            keys = await memory.admin.keys.list()
            accounts = await memory.admin.accounts.list()
            agents = [(one["id"], one["name"], one["system_prompt"]) for one in (await memory.agents.list())["agents"]]
            settings = await memory.settings.get()
            of_alice = await memory.settings.get(user_id="alice")
            paused = await memory.settings.pauses(user_id="alice")
            told = [keys, accounts, agents, settings, of_alice, paused]
            return [*sorted(kept), *(_without_times(one) for one in told)]

        return hashlib.sha256("\n".join(self.house.run(read)).encode()).hexdigest()


def _without_times(told: Any) -> str:
    return re.sub(r"'(last_used_at|last_used|updated_at|last_seen_at|last_login_at)': [^,}]+", "", str(told))


@dataclass(frozen=True)
class Stranger:
    """Somebody who must not get through: how they come, what they send, what they are told, and what they may read."""

    guest: Callable[[Scene], Guest]
    csrf: Callable[[Scene, Guest], str] = lambda _, guest: guest.csrf
    refused: tuple[int, ...] = ()
    acts: tuple[int, ...] = ()
    only_acts: bool = False
    may_read: tuple[str, ...] = ()


def _expired(scene: Scene) -> Guest:
    guest = scene.house.visitor()
    link = scene.house.link(session_hours=0.0000001)
    guest.post("/console/sign-in", data={"link": link.token}, follow_redirects=False)
    return guest


def _replayed(scene: Scene) -> Guest:
    link, guest = scene.house.link(), scene.house.visitor()
    scene.house.visitor().post("/console/sign-in", data={"link": link.token}, follow_redirects=False)
    answer = guest.post("/console/sign-in", data={"link": link.token}, follow_redirects=False)
    assert answer.status_code == 401
    return guest


def _signed_out(scene: Scene) -> Guest:
    guest, copy = scene.house.guest(), scene.house.visitor()
    copy.cookies, copy.csrf = guest.cookies, guest.csrf
    guest.submit("/console/sign-out")
    return copy


OWN: Final = ("swordfish", "albatross", "Zebedee", "kestrel-session")
STRANGERS: Final = {
    "no session": Stranger(lambda scene: scene.house.visitor(), refused=(401,)),
    "expired": Stranger(_expired, refused=(401,)),
    "signed out": Stranger(_signed_out, refused=(401,)),
    "replayed link": Stranger(_replayed, refused=(401,)),
    "other tenant": Stranger(lambda scene: scene.house.guest("acme")),
    "other person": Stranger(lambda scene: scene.house.guest(user_id="bob")),
    "read-only": Stranger(lambda scene: scene.house.guest(read_only=True), acts=(403,), may_read=SECRETS),
    "the person, read-only": Stranger(
        lambda scene: scene.house.guest(user_id="alice", read_only=True), acts=(403,), may_read=OWN
    ),
    "CSRF missing": Stranger(lambda scene: scene.house.guest(), lambda *_: "", acts=(403,), only_acts=True),
    "CSRF foreign": Stranger(
        lambda scene: scene.house.guest(), lambda scene, _: scene.operator.csrf, acts=(403,), only_acts=True
    ),
    "CSRF of a person": Stranger(
        lambda scene: scene.house.guest(),
        lambda scene, _: scene.house.guest(user_id="bob").csrf,
        acts=(403,),
        only_acts=True,
    ),
}


@dataclass(frozen=True)
class Asked:
    """A route of the console, whoever declared it."""

    path: str
    method: str
    verb: Verb | None


def all_routes() -> list[Asked]:
    """Every route there is, with the permission that it takes; None for what is open to everybody."""
    declared = {(one.path, one.method): one.verb for one in declared_pages()}
    found = [
        Asked(route.path, method, declared.get((route.path, method)))
        for route in console_routes()
        if isinstance(route, Route)
        for method in sorted(route.methods or ())
        if method != "HEAD"
    ]
    assert {one.path for one in found if one.verb is None} == FOR_EVERYBODY, "say here who may see it"
    assert len(found) == len(set(found)) == len(declared) + 6
    return found


def shuffled_routes(chance: random.Random, rounds: int) -> Iterator[Asked]:
    """All of them again and again, each time in another order: what one changes, the next ones meet."""
    routes = all_routes()
    for _ in range(rounds):
        chance.shuffle(routes)
        yield from routes


def send(chance: random.Random, scene: Scene, guest: Guest, route: Asked, csrf: str) -> tuple[Any, str]:
    """Ask with some fitting and some odd values; gives the answer, and what was sent."""
    names = chance.sample(NAMES, chance.randrange(5))
    odd = {name: chance.choice((*ODD, scene.memory_id, scene.key_id, scene.event_id)) for name in names}
    query = {"user": "alice", **odd} if chance.random() < 0.8 else odd
    headers = {"hx-request": "true"} if chance.random() < 0.3 else {}
    path = scene.path(route.path, chance)
    if route.method == "GET":
        answer = guest.get(path, params=query, headers=headers, follow_redirects=False)
        return answer, str(answer.request.url)
    if chance.random() < 0.2 and csrf:
        headers["x-csrf-token"] = csrf
    form, files = {**scene.fields(), **odd, "csrf": csrf}, None
    if "import" in route.path and chance.random() < 0.7:
        content = chance.choice((b"", b"{", b"[]", b'[{"memory": "x", "user_id": "alice"}]', b"\xff\xfe", b"[" * 9_999))
        files = {"file": ("x.json", content, "application/json")}
    answer = guest.post(path, data=form, files=files, headers=headers, follow_redirects=False)
    return answer, f"{answer.request.url} {form}"


def told(answer: Any, sent: str, stranger: Stranger) -> list[str]:
    """Secrets that an answer says, though whoever asked did not send them and may not read them."""
    text = answer.text + str(answer.headers)
    return [word for word in SECRETS if word not in stranger.may_read and word in text and word not in sent]


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with open_house({"store": {"url": "memory:"}, "embedder": {"provider": "hash"}, "server": RATES}) as house:
        house.world.app.state.memstone.failures._per_second = 10_000  # whoever guesses is slowed down, elsewhere
        yield Scene(house)


RATES: Final = {"rate": {"per_minute": 0}}


@pytest.mark.req("N-42", "R-9")
@pytest.mark.parametrize("who", STRANGERS)
def test_strangers_are_refused_on_every_route_and_learn_and_change_nothing(scene: Scene, who: str) -> None:
    chance, stranger = random.Random(who), STRANGERS[who]  # noqa: S311 - the same requests in every run
    guest = stranger.guest(scene)
    before = scene.everything()
    csrf = stranger.csrf(scene, guest)
    for route in shuffled_routes(chance, ROUNDS * (2 if stranger.only_acts else 1)):
        if stranger.only_acts and (route.method == "GET" or route.verb is None):
            continue
        answer, sent = send(chance, scene, guest, route, csrf)
        where = (who, route, sent[:2_000], answer.text[-900:])
        assert answer.status_code < 500, where
        assert not told(answer, sent, stranger), where
        if route.verb is not None:
            _check_status(stranger, route, answer.status_code, where)
        if route.path.endswith("sign-out") and answer.status_code == 303:
            guest = stranger.guest(scene)
            csrf = stranger.csrf(scene, guest)
        if route.method == "POST":
            assert scene.everything() == before, where
    assert scene.everything() == before


def _check_status(stranger: Stranger, route: Asked, status: int, where: Any) -> None:
    if status in {404, 405} and "%2F" in where[2]:  # an odd part made another address of it
        return
    if stranger.refused:
        assert status in stranger.refused, where
    elif stranger.acts and route.method == "POST" and (stranger.only_acts or route.verb is not Verb.READ):
        assert status in stranger.acts, where
    elif "{memory_id}" in route.path or "{receipt_id}" in route.path:
        assert status in {400, 403, 404} or stranger.may_read, where


def test_odd_values_are_answered_and_break_nothing(scene: Scene) -> None:
    chance = random.Random(3)  # noqa: S311 - the same requests in every run
    guest = scene.house.guest("acme")
    before = scene.everything()
    for route in shuffled_routes(chance, 4 * ROUNDS):
        if route.verb is None or route.path.endswith("sign-out"):
            continue
        odd = {name: chance.choice(ODD) for name in chance.sample(NAMES, chance.choice((2, 20)))}
        path = scene.path(route.path)
        if route.method == "GET":
            answer = guest.get(path, params=odd, follow_redirects=False)
        else:
            form = {**scene.fields(), **odd, "csrf": guest.csrf}
            answer = guest.post(path, data=form, follow_redirects=False)
        assert answer.status_code < 500, (route, odd, answer.text[-900:])
    assert scene.everything() == before


def test_there_were_more_than_five_thousand_of_them(scene: Scene) -> None:
    routes = all_routes()
    acts = [one for one in routes if one.method == "POST" and one.verb is not None]
    people = sum(not one.only_acts for one in STRANGERS.values())
    assert ROUNDS * (people * len(routes) + 2 * (len(STRANGERS) - people) * len(acts)) >= 5_000
