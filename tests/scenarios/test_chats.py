"""Hand-labelled chats: the facts nobody would want lost are found, and chats without facts leave nothing.

How to compare stands in tests/data/curation/CHATS.md.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from memstone.core.curate import EFFECT, Candidate, candidates

CHATS = Path(__file__).parents[1] / "data" / "curation" / "chats.jsonl"
MIN_RECALL = 0.96
MIN_EMPTY = 0.985
MIN_GROUP = 0.75


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text).lower().replace("-", " ").replace("\u2019", "'"))


def _holds(text: str, word: str) -> bool:
    return re.search(r"(?<![a-z0-9])" + re.escape(_plain(word)), _plain(text)) is not None


def _found(chat: dict[str, Any]) -> list[Candidate]:
    found: list[Candidate] = []
    for message in chat["messages"]:
        if message["role"] == "user":
            topic = found[-1].category if found else ""
            told = candidates(message["content"], speaker=message.get("name", ""), topic=topic)
            found += [one for one in told if one.category != EFFECT]
    return found


def _meets(candidate: Candidate, fact: dict[str, Any]) -> bool:
    has_words = all(_holds(candidate.text, word) for word in fact["must"])
    has_none = not any(_holds(candidate.text, word) for word in fact.get("not", []))
    return has_words and has_none and (candidate.polarity > 0) == (fact["polarity"] == "+")


@pytest.fixture(scope="module")
def chats() -> list[dict[str, Any]]:
    return [json.loads(line) for line in CHATS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.req("R-32")
def test_the_facts_of_the_chats_are_found(chats: list[dict[str, Any]]) -> None:
    missed: list[str] = []
    share: dict[str, list[bool]] = defaultdict(list)
    for chat in chats:
        found = _found(chat)
        for fact in chat["facts"]:
            met = any(_meets(one, fact) for one in found)
            share[chat["group"]].append(met)
            if not met:
                missed.append(f"{chat['id']}: {fact['must']} not in {[one.text for one in found]}")
    all_met = [met for met_in_group in share.values() for met in met_in_group]
    report = "\n".join(missed)
    assert sum(all_met) / len(all_met) >= MIN_RECALL, report
    assert all(sum(met) / len(met) >= MIN_GROUP for met in share.values()), report


@pytest.mark.req("R-32")
def test_chats_without_facts_leave_nothing(chats: list[dict[str, Any]]) -> None:
    empty = [(chat["id"], [one.text for one in _found(chat)]) for chat in chats if chat.get("nothing")]
    kept = [(name, texts) for name, texts in empty if texts]
    assert 1 - len(kept) / len(empty) >= MIN_EMPTY, kept
