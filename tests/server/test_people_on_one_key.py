"""Two people behind one key, with the official clients: nobody is shown another's memory, everybody is remembered.

Each preset, each dialect, with and without names. Where nobody is named, what is remembered is the key's own, apart
from every person; or, in the presets that want names, nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anthropic
import openai
import pytest

from tests.server.gate import Gate, gated, until

PRESETS: Final = ("gateway", "shared", "companion", "facts")
OWN_POOL: Final = ("gateway", "companion")
"""Where a plain key has a memory of its own for requests that name nobody."""

OSLO, ROME = "I live in Oslo and I have a nut allergy.", "I live in Rome."
ASKED: Final = "Where do I live?"


@dataclass
class Phone:
    """One key with the clients that use it: each way to say something in somebody's name, or in nobody's ('')."""

    gate: Gate
    key: str

    def chat(self, text: str, name: str) -> None:
        """The OpenAI client, with the field that it has for the user."""
        with openai.OpenAI(api_key=self.key, base_url=f"{self.gate.url}/v1", max_retries=0) as client:
            named: Any = {"user": name} if name else {}
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}], **named)

    def chat_with_header(self, text: str, name: str) -> None:
        """The OpenAI client behind a web interface, which says who asks by a header."""
        headers = {"X-OpenWebUI-User-Id": name} if name else {}
        with openai.OpenAI(api_key=self.key, base_url=f"{self.gate.url}/v1", default_headers=headers) as client:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])

    def responses(self, text: str, name: str) -> None:
        """The same client in the other dialect."""
        with openai.OpenAI(api_key=self.key, base_url=f"{self.gate.url}/v1", max_retries=0) as client:
            named: Any = {"user": name} if name else {}
            client.responses.create(model="m", input=text, **named)

    def messages(self, text: str, name: str) -> None:
        """The Anthropic client."""
        headers = {"X-Memstone-User": name} if name else {}
        with anthropic.Anthropic(api_key=self.key, base_url=self.gate.url, default_headers=headers) as client:
            client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": text}])

    def run(self, text: str, name: str) -> None:
        """An agent, which in the companion is the only one that is shown something."""
        with openai.OpenAI(api_key=self.key, base_url=f"{self.gate.url}/agents/helper", max_retries=0) as client:
            named: Any = {"user": name} if name else {}
            client.post("/run", cast_to=object, body={"messages": [{"role": "user", "content": text}], **named})

    def shown(self, way: str, text: str, name: str) -> str:
        """What a model is shown of a memory for something that is said."""
        getattr(self, way)(text, name)
        sent = str(self.gate.upstream.seen[-1])
        return "".join(word for word in ("Oslo", "nut", "Rome") if word in sent)


@pytest.fixture(params=PRESETS)
def gate(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Gate]:
    # What the model is shown is what this is about, not which question calls for what.
    output = {"gate": "always"} if request.param == "companion" else {}
    with gated(tmp_path, preset=request.param, context={"min_score": 0.0, **output}) as made:
        made.memory.agents.save("helper", model="m")
        yield made


def ways(gate: Gate) -> list[str]:
    """In a companion only agents are shown something."""
    return ["run"] if gate.preset == "companion" else ["chat", "chat_with_header", "responses", "messages"]


def known(gate: Gate, user: str) -> bool:
    return bool(gate.facts(user))


def remembered(gate: Gate, *users: str) -> None:
    """Wait until something is known about each of them."""
    until(lambda: all(known(gate, user) for user in users))


def owners(gate: Gate, **key: Any) -> tuple[Phone, Callable[[str], str]]:
    """A key with its clients, and under whom what is said in a name is stored."""
    made = gate.memory.admin.keys.create(**key)
    trusted = key.get("may_assert_user", False)
    return Phone(gate, made["key"]), lambda name: name if trusted else f"key:{made['id']}:{name}"


@pytest.mark.req("X-39", "X-1", "P-7", "P-19", "O-1")
@pytest.mark.parametrize("key", [{}, {"may_assert_user": True}], ids=["plain", "trusted"])
def test_two_people_with_names_are_two_people(gate: Gate, key: dict[str, Any]) -> None:
    for number, way in enumerate(ways(gate)):
        if gate.preset == "shared" and key and way in ("chat", "responses"):
            continue  # with a trusted key the header alone says who asks there
        phone, stored = owners(gate, **key)
        anna, bert = f"anna{number}", f"bert{number}"
        getattr(phone, way)(OSLO, anna)
        getattr(phone, way)(ROME, bert)
        remembered(gate, stored(anna), stored(bert))
        assert "Oslo" in phone.shown(way, ASKED, anna), way
        assert "Rome" not in phone.shown(way, ASKED, anna), way
        assert phone.shown(way, ASKED, bert) == "Rome", way
        assert phone.shown(way, ASKED, f"carl{number}") == "", way
        assert phone.shown(way, ASKED, "") == "", way


@pytest.mark.req("X-1", "X-39", "O-1", "O-2", "P-7")
def test_whoever_names_nobody_has_the_keys_own_memory_or_none(gate: Gate) -> None:
    for number, way in enumerate(ways(gate)):
        phone, stored = owners(gate)
        other, _ = owners(gate)
        own = stored("").rstrip(":")
        getattr(phone, way)(OSLO, "")
        if gate.preset in OWN_POOL:
            remembered(gate, own)
        else:
            until(lambda: gate.tasks == 0)
            assert not known(gate, own)
        output = phone.shown(way, ASKED, "")
        assert ("Oslo" in output) == (gate.preset in OWN_POOL), way
        assert phone.shown(way, ASKED, f"anna{number}") == "", "a person is not the key"
        assert other.shown(way, ASKED, "") == "", "nor is another key"
        assert other.shown(way, ASKED, f"anna{number}") == ""


@pytest.mark.req("X-39", "N-44", "O-1")
@pytest.mark.parametrize("gate", ["gateway"], indirect=True)
def test_when_clients_begin_to_send_names_the_keys_memory_waits_to_be_moved(gate: Gate) -> None:
    phone, stored = owners(gate)
    own = stored("").rstrip(":")
    phone.chat(OSLO, "")
    until(lambda: known(gate, own))
    assert phone.shown("chat", ASKED, "anna") == "", "it might be somebody else's"
    gate.memory.sharing.reassign({"user_id": own}, {"user_id": stored("anna")})
    assert "Oslo" in phone.shown("chat", ASKED, "anna")
    assert phone.shown("chat", ASKED, "bert") == ""
    assert phone.shown("chat", ASKED, "") == ""


@pytest.mark.req("X-39", "X-1")
def test_the_first_key_of_a_server_is_the_operators(gate: Gate) -> None:
    """All permissions, and it may name everybody: whom a chat names is the person that every other face knows."""
    way = ways(gate)[-1]
    phone, _ = owners(gate, verbs=["read", "write", "admin"], may_assert_user=True)
    getattr(phone, way)(OSLO, "anna")
    until(lambda: known(gate, "anna"))
    assert "Oslo" in phone.shown(way, ASKED, "anna")
    assert phone.shown(way, ASKED, "bert") == ""
    getattr(phone, way)(ROME, "")
    expected = {"gateway": f"key:{gate.memory.admin.keys.list()[-1]['id']}", "companion": "owner"}.get(gate.preset)
    if expected:
        until(lambda: known(gate, expected))
        assert phone.shown(way, ASKED, "") == "Rome"
    else:
        assert phone.shown(way, ASKED, "") == ""
    assert "Rome" not in phone.shown(way, ASKED, "anna")
