"""What other systems export, read into items."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from memstone.core.importers import FORMATS, checked_format, detect_format, read_json, read_text, unwrap_list
from memstone.core.importers.items import Sort, SourceItem, SourceReader, parse_time, plain_text
from memstone.core.importers.tables import read_database as read_tables
from memstone.core.importers.tables import shape_of
from memstone.errors import InvalidInput, TooLarge

_SAMPLES: Final = Path(__file__).resolve().parents[1] / "data" / "imports"


def reading(name: str, wanted: str = "auto") -> SourceReader:
    into = SourceReader(1_000)
    read_text((_SAMPLES / name).read_bytes(), wanted, into, Path(name).stem)
    return into


def texts(found: SourceReader) -> list[str]:
    return [item.text for item in found.items]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("mem0.json", "mem0"),
        ("gateway.json", "gateway"),
        ("chatgpt.json", "chatgpt"),
        ("claude.json", "claude"),
        ("claude_memories.json", "claude"),
        ("openwebui.json", "openwebui"),
        ("facts.jsonl", "facts"),
        ("notes.md", "markdown"),
    ],
)
def test_a_format_is_recognised_by_what_a_file_holds(name: str, wanted: str) -> None:
    assert reading(name).format == wanted


def test_mem0_gives_text_time_speaker_and_metadata_and_no_ids() -> None:
    found = reading("mem0.json")
    work, trains, source_item, permit = found.items
    assert (work.text, work.occurred_at) == ("Works as a marine biologist", "2025-02-03T16:15:00.000000Z")
    assert work.metadata == {"source": "chat", "categories": ["professional_details"]}
    assert (trains.role, trains.name, source_item.role) == ("user", "Nora", "assistant")
    assert permit.expires_at == "2024-02-02T00:00:00.000000Z"
    assert {item.owner.user_id for item in found.items} == {"nora"}
    assert found.skipped == {"empty": 1}


def test_a_gateways_page_gives_its_entries_with_type_key_and_time() -> None:
    coffee, database = reading("gateway.json").items
    assert (coffee.text, coffee.key, coffee.kind) == ("Drinks coffee black", "preference:coffee", "factual")
    assert (coffee.metadata, coffee.owner.run_id) == ({"category": "preference"}, "s-1")
    assert (database.kind, database.occurred_at) == ("episodic", "2026-01-06T10:00:00.000000Z")


@pytest.mark.parametrize("around", [lambda rows: rows, lambda rows: {"memories": rows}, lambda rows: {"data": rows}])
def test_it_may_be_a_list_or_stand_in_a_field(around: Any) -> None:
    rows = json.loads((_SAMPLES / "gateway.json").read_text())["data"]
    into = SourceReader(10)
    read_json(around(rows), "auto", into)
    assert (into.format, len(into.items)) == ("gateway", 2)


def test_chatgpt_gives_the_branch_that_was_open_and_only_what_people_see() -> None:
    found = reading("chatgpt.json")
    turns = [item for item in found.items if item.sort is Sort.TURN]
    assert [(turn.role, turn.text) for turn in turns] == [
        ("user", "I live in Trondheim and I grow tomatoes on my balcony."),
        ("assistant", "Start them indoors in March."),
        ("user", "My daughter Ada waters them."),
    ]
    assert {turn.title for turn in turns} == {"Planning a garden"}
    assert turns[0].occurred_at == "2025-01-01T10:00:01.000000Z"
    assert len({turn.conversation for turn in turns}) == 1
    assert found.skipped == {"another branch": 1, "system or tool": 2, "tool call or reasoning": 1}


def test_custom_instructions_are_what_the_user_wrote_about_themselves() -> None:
    about = [item for item in reading("chatgpt.json").items if item.sort is Sort.FACT]
    assert [(item.text, item.kind) for item in about] == [
        ("I teach chemistry in Trondheim.", None),
        ("Keep answers short.", "procedural"),
    ]


def _node(parent: str | None, text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    message = {"author": {"role": role}, "content": {"content_type": "text", "parts": [text]}, **more}
    return {"parent": parent, "children": [], "message": message}


def _chatgpt(mapping: dict[str, Any], **more: Any) -> SourceReader:
    into = SourceReader(100)
    read_json([{"mapping": mapping, **more}], "chatgpt", into)
    return into


def test_a_tree_without_a_current_node_is_read_to_its_newest_leaf() -> None:
    tree = {"a": {**_node(None, "one"), "children": ["b", "c"]}, "b": _node("a", "old", create_time=1.0)}
    found = _chatgpt({**tree, "c": _node("a", "new", create_time=2.0)})
    assert texts(found) == ["one", "new"]


def test_a_tree_that_goes_in_circles_ends() -> None:
    found = _chatgpt({"a": _node("b", "one"), "b": _node("a", "two")}, current_node="a")
    assert sorted(texts(found)) == ["one", "two"]


@pytest.mark.parametrize(
    "broken",
    [
        {"mapping": {"a": None}},
        {"mapping": {"a": {"message": "x"}}},
        {"mapping": {"a": {"message": {"author": 3, "content": []}}}},
        {"mapping": {"a": {"message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": 7}}}}},
        {"mapping": {}},
        {"mapping": []},
        None,
        "text",
    ],
)
def test_a_broken_conversation_is_counted_and_costs_the_others_nothing(broken: Any) -> None:
    good = json.loads((_SAMPLES / "chatgpt.json").read_text())
    into = SourceReader(100)
    read_json([broken, *good], "chatgpt", into)
    assert "My daughter Ada waters them." in texts(into)


def test_claude_gives_blocks_of_text_and_neither_tools_nor_attachments() -> None:
    found = reading("claude.json")
    assert [(item.role, item.text) for item in found.items] == [
        ("user", "My bike is a blue Trek and I ride it to work."),
        ("assistant", "Let me look that up.\nThe rear brake pads are worn."),
    ]
    assert found.skipped == {"attachment": 1, "empty": 1}


def test_what_claude_noted_is_read_line_by_line_and_is_not_the_users() -> None:
    found = reading("claude_memories.json")
    assert texts(found) == ["Rides a blue Trek to work.", "Repairs bikes on Sundays", "The shop is called Kjede."]
    assert {item.role for item in found.items} == {"assistant"}
    assert found.items[0].metadata == {"heading": "Work context"}


def test_openwebui_counts_seconds() -> None:
    cats, _ = reading("openwebui.json").items
    assert (cats.text, cats.occurred_at) == ("User has two cats.", "2025-02-19T21:20:00.000000Z")


def test_a_list_of_facts_may_be_lines_texts_or_objects() -> None:
    found = reading("facts.jsonl")
    assert texts(found) == ["Plays the cello", "Is allergic to cashews"]
    assert found.skipped == {"not JSON": 1, "system or tool": 1}
    into = SourceReader(10)
    read_text(b'["one", {"text": "two"}, 3]', "auto", into)
    assert (texts(into), into.skipped) == (["one", "two"], {"not a memory": 1})
    into = SourceReader(10)
    read_text('{"text": "one\u2028and more"}\n{"text": "two"}'.encode(), "auto", into)
    assert (len(into.items), into.skipped) == (2, {})


def test_notes_are_points_and_paragraphs_under_their_headings() -> None:
    found = reading("notes.md")
    assert [(item.text, item.metadata["heading"], (item.occurred_at or "")[:10]) for item in found.items] == [
        ("I grew up in Bodø and moved to Oslo.", "Me", "2025-06-01"),
        ("I do not eat shellfish", "Me / Food", "2025-06-01"),
        ("I make my own sourdough bread", "Me / Food", "2025-07-02"),
        ("I buy flour at the mill", "Me / Food", "2025-06-01"),
        ("My mother taught me to bake.", "Me / Food", "2025-06-01"),
    ]
    assert found.skipped == {"code": 1, "table row": 2}


def test_a_list_that_another_assistant_wrote_down_has_its_dates() -> None:
    into = SourceReader(10)
    read_text(b"[2024-03-01] - Prefers short answers\n\n[unknown] - Has a dog called Bo\n", "markdown", into)
    assert [(item.text, item.occurred_at) for item in into.items] == [
        ("Prefers short answers", "2024-03-01T00:00:00.000000Z"),
        ("Has a dog called Bo", None),
    ]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("Drinks <b>black</b> coffee &amp; tea", "Drinks black coffee & tea"),
        ("a<script>alert('x')</script>b", "ab"),
        ("a<SCRIPT>never closed", "a"),
        ("a<!-- remember this -->b", "ab"),
        ("&lt;script&gt;alert(1)&lt;/script&gt;done", "done"),
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("Map<String, List<Integer>> stays", "Map<String, List<Integer>> stays"),
        ("use `<div>` here", "use `<div>` here"),
        ("```\n<div>code</div>\n```", "```\n<div>code</div>\n```"),
        ("3 < 4 and 5 > 4", "3 < 4 and 5 > 4"),
        ("zero\u200bwidth \u202eturned\x00", "zerowidth turned"),
        ("İ<b>x</b>", "İx"),
        ("tags\U000e0041\U000e0042", "tags"),
        ("lone \ud800 half", "lone  half"),
    ],
)
def test_html_and_what_cannot_be_seen_are_taken_out(given: str, wanted: str) -> None:
    assert plain_text(given) == wanted


@pytest.mark.parametrize("given", ["<" * 60_000, "<!--" * 20_000, "<a " * 20_000, "`" * 60_000, "&lt;" * 20_000])
def test_text_that_is_all_marks_is_read_once(given: str) -> None:
    assert len(plain_text(given)) <= len(given)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (1735725600.5, "2025-01-01T10:00:00.500000Z"),
        (1735725600500, "2025-01-01T10:00:00.500000Z"),
        ("1735725600", "2025-01-01T10:00:00.000000Z"),
        (1735725600500000000, "2025-01-01T10:00:00.500000Z"),
        ("2025-01-01 10:00:00 UTC", "2025-01-01T10:00:00.000000Z"),
        ("yesterday", None),
        (float("nan"), None),
        (float("inf"), None),
        (True, None),
        (None, None),
    ],
)
def test_times_are_read_as_others_write_them(given: object, wanted: str | None) -> None:
    assert parse_time(given) == wanted


def test_more_things_than_the_limit_are_refused() -> None:
    into = SourceReader(2)
    with pytest.raises(TooLarge, match="more than 2") as caught:
        read_text(b'["a", "b", "c"]', "facts", into)
    assert "limits.import_items" in str(caught.value.hint)


def test_what_is_not_recognised_says_so() -> None:
    for raw in (b'{"weather": "fine"}', b"[1, 2]", b"{broken", b"\xff\xfe\xff"):
        with pytest.raises(InvalidInput):
            read_text(raw, "auto", SourceReader(10))
    with pytest.raises(InvalidInput, match="nested"):
        read_text(b"[" * 100_000 + b"]" * 100_000, "auto", SourceReader(10))


def test_an_export_of_memstone_is_left_to_those_who_restore_it() -> None:
    with pytest.raises(InvalidInput, match="a Memstone export"):
        read_text(
            b'{"type": "header", "format": "memstone-export", "version": 1}\n{"type": "memory"}\n',
            "auto",
            SourceReader(9),
        )


def test_a_format_has_a_name() -> None:
    assert [checked_format(name) for name in FORMATS] == list(FORMATS)
    with pytest.raises(InvalidInput, match="unknown format"):
        checked_format("zip")


def test_an_object_alone_is_a_list_of_one() -> None:
    assert unwrap_list({"text": "x"}) == [{"text": "x"}]
    assert detect_format([{"text": "x"}]) == "facts"


# --- databases --------------------------------------------------------------------------------------------------------


def tables(values: dict[str, list[dict[str, Any]]]) -> SourceReader:
    columns = {name: frozenset(rows[0]) for name, rows in values.items()}
    shape = shape_of(columns)
    assert shape is not None
    into = SourceReader(100)
    read_tables(shape, columns, lambda name, _: values[name], into)
    into.format = shape.name
    return into


@pytest.mark.req("O-14")
def test_the_older_table_of_a_gateway_is_read_when_the_modern_one_is_absent() -> None:
    row = {"id": "1", "apiKeyId": "k", "sessionId": "s", "type": "factual", "key": "x:1", "content": "Old"}
    old = {**row, "metadata": '{"a": 1}', "createdAt": "2025-01-01T00:00:00Z", "expiresAt": None}
    (item,) = tables({"memory": [old]}).items
    assert (item.text, item.key, item.metadata) == ("Old", "x:1", {"a": 1})
    assert (item.occurred_at, item.owner.user_id) == ("2025-01-01T00:00:00.000000Z", "key:k")
    new = {"id": "2", "api_key_id": "k", "content": "New", "metadata": "{broken", "created_at": "2026-01-01"}
    assert [item.text for item in tables({"memory": [old], "memories": [new]}).items] == ["New"]


@pytest.mark.req("S-58")
def test_an_older_companion_gives_profile_edits_summaries_and_what_was_said() -> None:
    talk = {"id": "c1", "agent_id": "osa", "title": "Boats", "started_at": "2025-01-01T00:00:00Z"}
    found = tables(
        {
            "user_profile": [{"id": 1, "content": "Builds boats.", "model": "m", "generated_at": "2025-02-01"}],
            "user_edits": [
                {"id": 1, "content": "Call me Al", "created_at": "2025-01-01", "deleted_at": None},
                {"id": 2, "content": "I hate tea", "created_at": "2025-01-01", "deleted_at": "2025-01-02"},
            ],
            "memory_entries": [{"id": "m", "agent_id": "osa", "content": "derived, and left behind"}],
            "conversations": [talk],
            "conversation_summaries": [
                {"id": 1, "agent_id": "osa", "conversation_id": "c1", "summary": "On boats.", "status": "active"},
                {"id": 2, "agent_id": "osa", "conversation_id": "c1", "summary": "Gone.", "status": "deleted"},
            ],
            "conversation_chunks": [
                {"id": 1, "conversation_id": "c1", "chunk_index": 0, "role": "user", "content": "Hi", "created_at": ""},
                {"id": 2, "conversation_id": "c1", "chunk_index": 1, "role": "tool", "content": "x", "created_at": ""},
            ],
        }
    )
    assert [(item.sort, item.text) for item in found.items] == [
        (Sort.NARRATIVE, "Builds boats."),
        (Sort.OVERRIDE, "Call me Al"),
        (Sort.EPISODE, "On boats."),
        (Sort.TURN, "Hi"),
    ]
    assert found.skipped == {"deleted there": 2, "system or tool": 1}
    source_item: SourceItem = found.items[-1]
    assert (source_item.title, source_item.conversation, source_item.owner.agent_id) == ("Boats", "c1", "osa")


def test_a_database_of_something_else_is_none() -> None:
    assert shape_of({"users": frozenset({"id"})}) is None
