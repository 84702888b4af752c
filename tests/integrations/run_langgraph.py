"""A compiled graph of LangGraph with our store; run in the environment ``framework-tests``, prints ``done``."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore  # noqa: TC002 - LangGraph looks at the annotation
from typing_extensions import TypedDict

from memstone import Memory
from memstone.integrations.langgraph import MemstoneStore


class State(TypedDict):
    """What goes through the graph."""

    text: str
    known: list[str]


def remember(state: State, *, store: BaseStore) -> dict[str, Any]:
    """Put what was said, and look for what fits."""
    store.put(("memories", "alice"), state["text"], {"text": state["text"]})
    found = store.search(("memories", "alice"), query=state["text"], limit=3)
    return {"known": [one.value["text"] for one in found]}


async def main() -> None:
    """Run the graph twice, blocking and by asyncio."""
    with Memory({"store": {"url": "memory:"}}) as memory:
        builder = StateGraph(State)
        builder.add_node("remember", remember)
        builder.add_edge(START, "remember")
        builder.add_edge("remember", END)
        graph = builder.compile(store=MemstoneStore(memory))
        graph.invoke({"text": "I like jasmine tea", "known": []})
        answer = await graph.ainvoke({"text": "Which tea do I like?", "known": []})
        assert "I like jasmine tea" in answer["known"], answer


asyncio.run(main())
sys.stdout.write("done\n")
