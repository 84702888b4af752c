"""The filter is one file that Open WebUI loads by executing its text, so the tests do the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from memstone import Memory
from memstone.server.app import create_app
from tests.environments import ROOT
from tests.server.upstream import served

SOURCE = ROOT / "src" / "memstone" / "integrations" / "open_webui.py"
NORA = {"id": "u1", "name": "Nora", "role": "user"}


def load_plugin() -> Any:
    """Make the filter as Open WebUI does: a new module, the text executed in it, the class called without arguments."""
    module = ModuleType("function_memstone")
    exec(SOURCE.read_text(encoding="utf-8"), module.__dict__)  # noqa: S102 - that is how plugins are loaded
    return module.Filter()


@dataclass
class Chat:
    """A chat through the filter, and the status lines that its user saw."""

    plugin: Any
    lines: list[str] = field(default_factory=list)

    async def _emit(self, event: dict[str, Any]) -> None:
        assert event["type"] == "status"
        self.lines.append(event["data"]["description"])

    def inlet(self, messages: list[dict[str, Any]], user: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """Ask; return what the model would be sent."""
        body = {"model": "m", "messages": messages}
        extra = {"__user__": NORA if user is None else user, "__metadata__": {"chat_id": "c1"}}
        answer = asyncio.run(self.plugin.inlet(body, **extra, __event_emitter__=self._emit))
        found: list[dict[str, Any]] = answer["messages"]
        return found

    def outlet(self, said: str, answer: str) -> None:
        """Finish an exchange."""
        body = {"messages": [{"role": "user", "content": said}, {"role": "assistant", "content": answer}]}
        asyncio.run(self.plugin.outlet(body, __user__=NORA, __event_emitter__=self._emit))


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Chat]:
    config = {"store": {"url": f"sqlite:///{tmp_path / 'm.db'}"}}
    with Memory(config) as memory:
        key = memory.admin.keys.create("open-webui", may_assert_user=True)["key"]  # as the page says
    with served(create_app(config)) as url:
        plugin = load_plugin()
        plugin.valves = plugin.Valves(url=url, key=key)
        yield Chat(plugin)


def test_what_was_said_in_one_chat_is_known_in_the_next(chat: Chat) -> None:
    chat.outlet("I am allergic to peanuts", "Good to know.")
    assert any("peanuts" in line for line in chat.lines)
    question = {"role": "user", "content": [{"type": "text", "text": "Which snacks can I eat with my allergy?"}]}
    system, last = chat.inlet([{"role": "system", "content": "Be brief."}, question])
    assert system["content"].startswith("Be brief.\n\n")
    assert "peanuts" in system["content"]
    assert last == question
    assert chat.inlet([question])[0]["role"] == "system"


def test_users_are_kept_apart_and_may_switch_it_off(chat: Chat) -> None:
    chat.outlet("I am allergic to peanuts", "Good to know.")
    question = [{"role": "user", "content": "Which snacks can I eat with my allergy?"}]
    for user in ({"id": "u2"}, {**NORA, "valves": {"enabled": False}}, {}):
        assert "peanuts" not in str(chat.inlet(list(question), user))


def test_a_chat_goes_on_without_the_service(chat: Chat) -> None:
    question = [{"role": "user", "content": "Hello, do you know me?"}]
    for wrong in ({"url": "http://127.0.0.1:9"}, {"key": "ms_wrong"}, {"url": "file:///etc/passwd"}):
        chat.plugin.valves = chat.plugin.Valves(**{**chat.plugin.valves.model_dump(), **wrong})
        assert chat.inlet(list(question)) == question
    assert len(chat.lines) == 3
    assert all(line.startswith("Memory is not available") for line in chat.lines)


def test_the_file_needs_nothing_of_memstone() -> None:
    assert "import memstone" not in SOURCE.read_text(encoding="utf-8")
    assert "from memstone" not in SOURCE.read_text(encoding="utf-8")
