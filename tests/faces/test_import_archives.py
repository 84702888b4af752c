"""Archives and databases from elsewhere: what is in them is read, and nothing in them is obeyed."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import stat
import zipfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from memstone.errors import InvalidInput, TooLarge
from tests.faces.harness import Face, Opens

pytestmark = pytest.mark.parametrize("store", ["in_memory"], indirect=True)

SAMPLES: Final = Path(__file__).resolve().parents[1] / "data" / "imports"


def archive(files: Mapping[str, bytes], *, links: Mapping[str, str] | None = None) -> bytes:
    current = io.BytesIO()
    with zipfile.ZipFile(current, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
        for name, target in (links or {}).items():
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
            made.writestr(info, target)
    return current.getvalue()


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def texts(face: Face, user: str = "alice") -> list[str]:
    return [line["text"] for line in await face.export(user_id=user) if line["type"] == "memory"]


# --- archives ---------------------------------------------------------------------------------------------------------


async def test_an_export_is_imported_as_it_was_downloaded(face: Face, tmp_path: Path) -> None:
    files = {
        "chat.html": b"<html>everything once more</html>",
        "user.json": b'{"email": "nora@example.org"}',
        "message_feedback.json": b"[]",
        "conversations.json": (SAMPLES / "chatgpt.json").read_bytes(),
        "file-abc.png": b"\x89PNG",
    }
    path = tmp_path / "export.zip"
    path.write_bytes(archive(files))
    answer = await face.admin.import_from(path, user_id="alice")
    assert (answer["format"], answer["turns"], answer["facts"]) == ("chatgpt", 3, 2)
    assert answer["skipped"]["other file"] == 4
    assert (await face.admin.import_from(SAMPLES / "chatgpt.json", user_id="alice"))["stored"] == 0, (
        "the same, unpacked"
    )


async def test_conversations_may_come_in_several_files_and_with_what_was_noted(face: Face) -> None:
    one = (SAMPLES / "claude.json").read_bytes()
    two = one.replace(b"5a1c0000-1234-4000-8000-000000000001", b"other").replace(b"blue Trek", b"red Trek")
    noted = (SAMPLES / "claude_memories.json").read_bytes()
    files = {"a/conversations-000.json": one, "a/conversations-001.json": two, "a/memories.json": noted}
    answer = await face.admin.import_from(archive(files), user_id="alice")
    assert (answer["format"], answer["turns"], answer["facts"]) == ("claude", 4, 3)


async def test_a_folder_of_notes_may_be_packed(face: Face) -> None:
    files = {"vault/one.md": b"I like rain.", "vault/.obsidian/app.json": b"{}", "vault/two.md": b"# T\n- I like snow"}
    answer = await face.admin.import_from(archive(files), user_id="alice")
    assert (answer["format"], sorted(await texts(face))) == ("markdown", ["I like rain.", "I like snow"])
    assert answer["skipped"] == {"other file": 1}


async def test_names_in_an_archive_lead_nowhere(face: Face, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = {
        "../../escape.md": b"I escaped.",
        "/etc/absolute.md": b"I am absolute.",
        "C:/windows.md": b"I am a drive.",
        "..\\back.md": b"I go back.",
        "fine.md": b"I am fine.",
    }
    answer = await face.admin.import_from(archive(files, links={"link.md": "/etc/passwd"}), user_id="alice")
    assert await texts(face) == ["I am fine."]
    assert answer["skipped"] == {"link in the archive": 1, "unsafe name": 4}
    assert files_in(tmp_path) == [], "nothing is unpacked anywhere"


async def test_an_archive_that_was_made_to_fill_a_disk_is_refused(opens: Opens) -> None:
    bomb = archive({"conversations.json": b"[" + b" " * 30_000_000 + b"]"})
    assert len(bomb) < 100_000
    with pytest.raises(TooLarge, match="unpacks to far more"):
        await opens().admin.import_from(bomb, user_id="alice")
    small = opens({"limits": {"import_bytes": 1_000}})
    parts = archive({f"{number}.md": os.urandom(300).hex().encode() for number in range(5)})
    with pytest.raises(TooLarge, match="1,000 bytes") as caught:
        await small.admin.import_from(parts, user_id="alice")
    assert "limits.import_bytes" in str(caught.value.hint)


async def test_sizes_and_counts_have_limits(opens: Opens, tmp_path: Path) -> None:
    face = opens({"limits": {"import_bytes": 100, "import_items": 3}})
    path = tmp_path / "big.json"
    path.write_text(json.dumps([{"text": "x" * 200}]))
    for source in (path, path.read_bytes(), io.BytesIO(path.read_bytes())):
        with pytest.raises(TooLarge, match="100 bytes"):
            await face.admin.import_from(source, user_id="alice")
    with pytest.raises(TooLarge, match="more than 3 items"):
        await face.admin.import_from(b'["a", "b", "c", "d"]', user_id="alice")
    assert await texts(face) == []


async def test_a_broken_or_empty_archive_says_so(face: Face) -> None:
    full = archive({"conversations.json": (SAMPLES / "claude.json").read_bytes()})
    for wrong in (full[:200], archive({}), archive({"a.png": b"x"}), archive({"a.json": b"[1]"})):
        with pytest.raises(InvalidInput):
            await face.admin.import_from(wrong, user_id="alice")
    damaged = bytearray(full)
    damaged[60:80] = b"\0" * 20
    with pytest.raises(InvalidInput):
        await face.admin.import_from(bytes(damaged), user_id="alice")


async def test_one_file_that_is_not_recognised_costs_the_others_nothing(face: Face) -> None:
    answer = await face.admin.import_from(
        archive({"a.md": b"I like rain.", "b.json": b'{"weather": 1}'}), user_id="alice"
    )
    assert (answer["facts"], answer["skipped"]) == (1, {"not recognised": 1})


# --- databases --------------------------------------------------------------------------------------------------------


def database(path: Path, script: str, **tables: list[tuple[Any, ...]]) -> Path:
    with closing(sqlite3.connect(path)) as made:
        made.executescript(script)
        for name, rows in tables.items():
            for row in rows:
                made.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608 - a test's own
        made.commit()
    return path


GATEWAY: Final = """
CREATE TABLE memory (id TEXT PRIMARY KEY, apiKeyId TEXT, sessionId TEXT, type TEXT, key TEXT, content TEXT,
                     metadata TEXT, createdAt TEXT, updatedAt TEXT, expiresAt TEXT);
"""
COMPANION: Final = """
CREATE TABLE user_profile (id INTEGER PRIMARY KEY, content TEXT, token_count INTEGER, version INTEGER, model TEXT,
                           generated_at TEXT);
CREATE TABLE user_edits (id INTEGER PRIMARY KEY, content TEXT, created_at TEXT, deleted_at TEXT);
CREATE TABLE memory_entries (id TEXT PRIMARY KEY, agent_id TEXT, type TEXT, content TEXT, created_at TEXT);
CREATE TABLE conversations (id TEXT PRIMARY KEY, agent_id TEXT, title TEXT, started_at TEXT);
CREATE TABLE conversation_summaries (id INTEGER PRIMARY KEY, agent_id TEXT, conversation_id TEXT, summary TEXT,
                                     token_count INTEGER, model TEXT, conversation_at TEXT, status TEXT);
CREATE TABLE conversation_chunks (id INTEGER PRIMARY KEY, conversation_id TEXT, chunk_index INTEGER, role TEXT,
                                  content TEXT, token_count INTEGER, created_at TEXT);
CREATE TABLE embeddings (id INTEGER PRIMARY KEY, embedding BLOB);
"""


TEA: Final = "7d3f0c1e-5a7b-4c55-9d0e-2f6a1b3c4d5e"


def gateway(path: Path) -> Path:
    when = "2025-01-02T03:04:05.000Z"
    return database(
        path,
        GATEWAY,
        memory=[
            (TEA, "key-1", "s1", "factual", "preference:tea", "Likes jasmine tea", '{"a": 1}', when, when, None),
            ("2", "key-1", "", "procedural", "", "Wants short answers", "{broken", when, when, None),
            ("3", "key-2", "", "factual", "", "Somebody else", "{}", when, when, None),
            ("4", "key-1", "", "factual", "", "Long over", "{}", when, when, "2025-02-01T00:00:00Z"),
        ],
    )


def companion(path: Path) -> Path:
    return database(
        path,
        COMPANION,
        user_profile=[(1, "Builds wooden boats in Risør.", 7, 3, "some-model", "2025-03-01 10:00:00")],
        user_edits=[
            (1, "Call me Al", "2025-01-01 10:00:00", None),
            (2, "I hate tea", "2025-01-01 10:00:00", "2025-01-02 10:00:00"),
        ],
        memory_entries=[("m1", "osa", "fact", "Derived, and left behind", "2025-01-01 10:00:00")],
        conversations=[("c1", "osa", "Boats", "2025-01-01 10:00:00")],
        conversation_summaries=[(1, "osa", "c1", "Talked about varnish.", 4, "m", "2025-01-01 10:00:00", "active")],
        conversation_chunks=[
            (1, "c1", 0, "user", "Which varnish lasts?", 5, "2025-01-01 10:00:00"),
            (2, "c1", 1, "assistant", "Spar varnish.", 3, "2025-01-01 10:00:30"),
        ],
        embeddings=[(1, b"\x00\x01")],
    )


@pytest.mark.req("O-14")
async def test_the_older_table_of_a_gateway_is_brought_over(face: Face, tmp_path: Path) -> None:
    path = gateway(tmp_path / "storage.sqlite")
    before = path.read_bytes()
    answer = await face.admin.import_from(path, user_id="alice", from_user="key-1", trusted=True)
    assert (answer["format"], answer["facts"], answer["quarantined"]) == ("gateway_db", 2, 0)
    assert answer["skipped"] == {"expired": 1, "somebody else's": 1}
    found = {item["memory"]: item for item in (await face.get_all(user_id="alice"))["results"]}
    tea, short = found["Likes jasmine tea"], found["Wants short answers"]
    assert (tea["key"], tea["kind"], tea["occurred_at"][:10]) == ("preference:tea", "factual", "2025-01-02")
    assert (tea["id"], tea["run_id"], tea["metadata"]) == (TEA, "s1", {"a": 1}), "its id, its session, what was noted"
    assert (short["run_id"], short["metadata"], short["kind"]) == (None, {}, "procedural")
    assert path.read_bytes() == before, "it is read, never written"
    again = await face.admin.import_from(path, user_id="alice", from_user="key-1", trusted=True)
    assert (again["stored"], again["known"]) == (0, 2)


@pytest.mark.req("O-14")
async def test_its_pools_are_kept_apart_and_its_bytes_may_be_passed(face: Face, tmp_path: Path) -> None:
    answer = await face.admin.import_from(gateway(tmp_path / "storage.sqlite").read_bytes(), trusted=True)
    assert answer["facts"] == 3
    assert await face.listed(user_id="key:key-2") == ["Somebody else"]
    assert len(await face.listed(user_id="key:key-1")) == 2


@pytest.mark.req("O-14")
async def test_an_id_that_is_taken_here_or_waits_for_approval_is_not_kept(face: Face, tmp_path: Path) -> None:
    path = gateway(tmp_path / "storage.sqlite")
    await face.admin.import_from(path, user_id="bob", from_user="key-1")
    assert (await face.get_all(user_id="bob", status="quarantined"))["results"][0]["id"] != TEA
    await face.admin.import_from(path, user_id="alice", from_user="key-1", trusted=True)
    await face.admin.import_from(path, user_id="carol", from_user="key-1", trusted=True)
    stored = {item["memory"]: item["id"] for item in (await face.get_all(user_id="carol"))["results"]}
    assert stored["Likes jasmine tea"] != TEA
    assert (await face.get(TEA))["user_id"] == "alice", "nobody takes it from its owner"


@pytest.mark.req("S-58")
async def test_an_older_companion_moves_in(opens: Opens, tmp_path: Path) -> None:
    face = opens({"preset": "companion"})
    path = companion(tmp_path / "memory.db")
    answer = await face.admin.import_from(path, user_id="alice", agent_id="osa", trusted=True)
    assert (answer["format"], answer["skipped"]) == ("companion_db", {"deleted there": 1})
    assert (answer["turns"], answer["episodes"], answer["identity"], answer["facts"]) == (2, 1, 2, 0)
    who = await face.identity.get(user_id="alice")
    assert [one["text"] for one in who["overrides"]] == ["Call me Al"]
    assert (who["narrative"]["text"], who["narrative"]["model"]) == ("Builds wooden boats in Risør.", "some-model")
    (episode,) = (await face.sessions.episodes(user_id="alice"))["results"]
    assert (episode["summary"], episode["salience"], episode["agent_id"]) == ("Talked about varnish.", 0.5, "osa")
    turns = [line for line in await face.export(user_id="alice") if line.get("layer") == "turn"]
    assert [(line["source_role"], line["text"]) for line in turns] == [
        ("user", "Which varnish lasts?"),
        ("assistant", "Spar varnish."),
    ]
    assert "Derived, and left behind" not in await texts(face)
    again = await face.admin.import_from(path, user_id="alice", agent_id="osa", trusted=True)
    assert (again["stored"], again["known"]) == (0, 5)


@pytest.mark.req("S-58")
async def test_without_a_word_for_the_user_nothing_of_it_is_who_they_are(opens: Opens, tmp_path: Path) -> None:
    face = opens({"preset": "companion"})
    answer = await face.admin.import_from(companion(tmp_path / "memory.db"), user_id="alice")
    assert (answer["identity"], answer["facts"], answer["episodes"], answer["quarantined"]) == (0, 2, 1, 3)
    who = await face.identity.get(user_id="alice")
    assert (who["overrides"], who["narrative"]) == ([], None)
    assert (await face.sessions.episodes(user_id="alice"))["results"] == []


@pytest.mark.req("S-58")
async def test_what_the_user_wrote_here_is_not_overwritten_and_what_they_deleted_stays_gone(
    opens: Opens, tmp_path: Path
) -> None:
    face = opens({"preset": "companion"})
    await face.identity.set_narrative("I am a sailor.", user_id="alice")
    await face.identity.add_override("call me al", user_id="alice")
    await face.identity.remove_override(0, user_id="alice")
    answer = await face.admin.import_from(companion(tmp_path / "memory.db"), user_id="alice", trusted=True)
    assert answer["skipped"]["there is already a text about the user"] == 1
    assert answer["skipped"]["deleted here"] == 1
    who = await face.identity.get(user_id="alice")
    assert (who["overrides"], who["narrative"]["text"]) == ([], "I am a sailor.")


@pytest.mark.req("S-58")
async def test_the_agents_of_a_companion_keep_what_was_said_with_them(opens: Opens, tmp_path: Path) -> None:
    face = opens({"preset": "companion"})
    path = companion(tmp_path / "memory.db")
    with closing(sqlite3.connect(path)) as other:
        other.execute("INSERT INTO conversations VALUES ('c2', 'kim', 'Tea', '2025-02-01 10:00:00')")
        chunk = (3, "c2", 0, "user", "Which tea is mild?", 5, "2025-02-01 10:00:00")
        other.execute("INSERT INTO conversation_chunks VALUES (?, ?, ?, ?, ?, ?, ?)", chunk)
        other.commit()
    await face.admin.import_from(path, user_id="alice", trusted=True, learn=False)
    texts = [
        one
        for layers in (["turn"], ["episode"])
        for one in (await face.get_all(user_id="alice", layers=layers))["results"]
    ]
    by_agent = {one["memory"]: one["agent_id"] for one in texts}
    assert by_agent == {
        "Which varnish lasts?": "osa",
        "Spar varnish.": "osa",
        "Talked about varnish.": "osa",
        "Which tea is mild?": "kim",
    }
    assert {agent["id"] for agent in (await face.agents.list())["agents"]} == {"osa", "kim"}
    assert [one["summary"] for one in (await face.sessions.episodes(user_id="alice", agent_id="osa"))["results"]] == [
        "Talked about varnish."
    ]


@pytest.mark.req("S-58")
async def test_an_imported_text_about_the_user_lasts_and_goes_on_with_what_is_learned(
    opens: Opens, tmp_path: Path
) -> None:
    face = opens({"preset": "companion"})
    path = companion(tmp_path / "memory.db")
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE user_profile SET content = 'Builds wooden boats. Lives in Risør.'")
        other.commit()
    await face.admin.import_from(path, user_id="alice", trusted=True, learn=False)
    await face.admin.consolidate(user_id="alice")
    first = (await face.identity.get(user_id="alice"))["narrative"]
    assert (first["text"], first["version"]) == ("Builds wooden boats. Lives in Risør.", 1)

    await face.add(
        "My name is Alva. I live in Bergen now and I work as a nurse at the harbour clinic.", user_id="alice"
    )
    await face.sessions.flush(everybody=True)
    await face.admin.consolidate(user_id="alice")
    then = (await face.identity.get(user_id="alice"))["narrative"]
    assert (then["version"], then["model"]) == (2, "rules"), "nobody wrote it by hand"
    assert "Builds wooden boats." in then["text"], "what only the imported text knew is told on"
    assert "Bergen" in then["text"]
    assert "Risør" not in then["text"], "what was said since holds"

    await face.identity.set_narrative("Alva is a sailor.", user_id="alice")
    await face.admin.consolidate(user_id="alice")
    assert (await face.identity.get(user_id="alice"))["narrative"]["text"] == "Alva is a sailor."


async def test_memories_are_read_from_the_database_of_open_webui(face: Face, tmp_path: Path) -> None:
    script = "CREATE TABLE memory (id TEXT, user_id TEXT, content TEXT, updated_at INTEGER, created_at INTEGER);"
    path = database(tmp_path / "webui.db", script, memory=[("1", "u", "User has two cats.", 1740000000, 1740000000)])
    answer = await face.admin.import_from(path, user_id="alice", format="openwebui")
    assert (answer["format"], answer["facts"]) == ("openwebui_db", 1)


async def test_a_database_that_wants_to_be_run_is_not(face: Face, tmp_path: Path) -> None:
    """A view in the place of the table is not read, and neither is a table that some module would answer for."""
    view = "CREATE VIEW memory AS SELECT '1' AS id, 'k' AS apiKeyId, load_extension('x') AS content;"
    for number, script in enumerate((view, "CREATE VIRTUAL TABLE memory USING fts5(apiKeyId, content);")):
        with pytest.raises(InvalidInput, match="contains no memories"):
            await face.admin.import_from(database(tmp_path / f"{number}.db", script), user_id="alice")


async def test_a_database_that_is_broken_or_something_else_says_so(face: Face, tmp_path: Path) -> None:
    path = gateway(tmp_path / "storage.sqlite")
    damaged = path.read_bytes()[:4096] + os.urandom(8192)
    for wrong in (damaged, b"SQLite format 3\0" + b"x" * 5000):
        with pytest.raises(InvalidInput):
            await face.admin.import_from(wrong, user_id="alice")
    with pytest.raises(InvalidInput):
        await face.admin.import_from(path, user_id="alice", format="companion_db")
    with pytest.raises(InvalidInput):
        await face.admin.import_from(b"no database", user_id="alice", format="gateway_db")
