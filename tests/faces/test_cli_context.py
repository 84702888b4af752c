"""``memstone context``, ``search --explain``, ``entities`` and ``relations``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memstone.cli.arguments import SCOPES, STRATEGIES
from memstone.engine import search_request
from tests.faces.cli_runner import Cli
from tests.faces.test_cli_terminal import ANSI, on_terminal

UUID = re.compile(r"[0-9a-f-]{36}")


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """A store that shows whatever it finds, unless a test says otherwise."""
    made = Cli(tmp_path, monkeypatch, capsys)
    made.environ("MEMSTONE_CONTEXT__GATE", "always")
    made.environ("MEMSTONE_CONTEXT__FALSE_INJECTION", "0")
    return made


def table_of(out: str, title: str) -> list[str]:
    """The rows of a table of the answer, without its titles."""
    lines = out.splitlines()
    first = lines.index(title) + 2
    return lines[first : lines.index("", first)]


def account_of(out: str) -> dict[str, str]:
    """The names and values that end an answer."""
    return dict(line.split(maxsplit=1) for line in out.rsplit("\n\n", 1)[1].splitlines())


def test_the_block_comes_first_and_then_what_it_is_made_of(cli: Cli) -> None:
    memory_id = cli.added("I live in Oslo", "--at", "2026-03-02")

    ran = cli("context", "Where do I live? Oslo?", "--user", "alice")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith("<memstone-memory")
    assert "- [2026-03-02] I live in Oslo" in lines
    assert "SCORE  TOKENS  SAID        ID" in ran.out
    (row,) = table_of(ran.out, "Shown")
    assert re.fullmatch(rf"[01]\.\d{{3}} +\d+  2026-03-02  {memory_id} +I live in Oslo", row.strip())
    assert "Left out" not in lines


@pytest.mark.req("N-37")
def test_the_account_names_the_gate_the_budget_the_steps_and_the_receipt(cli: Cli) -> None:
    cli.added("I live in Oslo")

    answer = account_of(cli("context", "Oslo", "--user", "alice", "--budget", 500).out)
    assert answer["gate"] == "episode: the gate is open for every message"
    assert re.fullmatch(r"\d+ of 500", answer["tokens"])
    assert answer["considered"] == "1"
    steps = [step.split()[0] for step in answer["ms"].split(", ")]
    assert [step for step in steps if step != "relevance"] == ["cache", "gate", "search", "read", "plan"]
    assert UUID.fullmatch(answer["receipt"])


def test_what_was_left_out_is_shown_with_its_reason(cli: Cli) -> None:
    for number in range(9):
        cli.added(f"Harbour meeting number {number} is in the blue room on the third floor")

    out = cli("context", "harbour meeting", "--user", "alice", "--budget", 120).out
    visible, left_out = table_of(out, "Shown"), table_of(out, "Left out")
    assert visible
    assert len(visible) + len(left_out) == int(account_of(out)["considered"])
    assert all(re.match(r"(?:over budget|section full) +[0-9a-f-]{36}  Harbour meeting", row) for row in left_out)
    assert not set(UUID.findall("".join(visible))) & set(UUID.findall("".join(left_out)))


def test_a_learned_fact_names_the_turn_it_comes_from(cli: Cli) -> None:
    cli("add", "I live in Oslo.", "--user", "alice")
    fact = cli("list", "--user", "alice", "--json").json["results"][0]

    (row,) = table_of(cli("context", "Oslo", "--user", "alice").out, "Shown")
    assert UUID.findall(row) == [fact["id"], fact["evidence"]["turn"]]


def test_a_gate_that_closes_leaves_nothing_to_show_and_says_why(cli: Cli) -> None:
    cli.added("I live in Oslo")

    ran = cli("context", "Write a haiku about the sea", "--user", "alice", "--gate", "heuristic")
    assert (ran.code, ran.err) == (1, "nothing to show\n")
    assert ran.out.startswith("gate        none: ")
    assert "tokens      0 of 1,400\n" in ran.out
    opened = cli("context", "Write a haiku about the sea", "--user", "alice")
    assert (opened.code, opened.err) == (0, "")


def test_the_words_that_opened_the_gate_are_quoted(cli: Cli) -> None:
    cli.added("I am allergic to hazelnuts")

    answer = account_of(cli("context", "What should I cook tonight?", "--user", "alice", "--gate", "heuristic").out)
    assert re.fullmatch(r"pinned: .+ \('what should i cook'\)", answer["gate"])


def test_as_json_it_is_the_pack_with_its_receipt(cli: Cli) -> None:
    memory_id = cli.added("I live in Oslo")

    ran = cli("context", "-", "--user", "alice", "--json", stdin=b"Oslo\n")
    assert (ran.code, ran.err) == (0, "")
    pack = ran.json
    assert pack["text"].startswith("<memstone-memory")
    assert [one["memory_id"] for one in pack["citations"]] == [memory_id]
    assert pack["receipt"]["id"] == pack["receipt_id"]
    assert [one["id"] for one in pack["receipt"]["chosen"]] == [memory_id]
    assert cli("context", "Write a haiku", "--user", "alice", "--gate", "heuristic", "--json").json["empty"] is True


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (["--budget", "17000", "--user", "alice"], "budget must be a whole number of tokens from 0 to 16,000"),
        (["--gate", "perhaps", "--user", "alice"], "'perhaps' is not one of"),
        ([], "At least one of user_id, agent_id, or run_id"),
    ],
)
def test_a_context_that_cannot_be_asked_for_is_refused(cli: Cli, options: list[str], wrong: str) -> None:
    cli.added("I live in Oslo")
    ran = cli("context", "Oslo", *options)
    assert ran.code == 2
    assert wrong in ran.err


def test_harmful_characters_in_a_block_are_not_obeyed(cli: Cli) -> None:
    cli.added("Oslo \x1b[2J is home")
    out = cli("context", "Oslo", "--user", "alice").out
    assert "\x1b" not in out
    assert "is home" in out


def test_a_context_says_what_it_had_to_do_without(cli: Cli) -> None:
    cli.added("I live in Oslo")
    cli.environ("MEMSTONE_EMBEDDER__CONFIG__DIM", "64")
    ran = cli("context", "Oslo", "--user", "alice")
    assert ran.code == 0
    assert ran.err.startswith("warning: searched without dense vectors: the store was built with hash:bow-v1:256")


def test_on_a_narrow_terminal_the_tables_of_a_context_keep_within_it(tmp_path: Path) -> None:
    text = "The harbour project has its standup at a quarter past ten in the blue room"
    on_terminal(tmp_path, "add", text, "--no-infer", "--user", "alice")
    lines = ("context", "standup", "--user", "alice", "--gate", "always")
    output = ANSI.sub("", on_terminal(tmp_path, *lines, environ={"MEMSTONE_CONTEXT__FALSE_INJECTION": "0"}))
    assert "\nShown\n" in output
    assert max(len(line) for line in output.split("\nShown\n")[1].splitlines()) <= 60


# --- search -----------------------------------------------------------------------------------------------------------


def test_the_choices_are_those_of_the_library() -> None:
    assert (tuple(STRATEGIES), tuple(SCOPES)) == (search_request.STRATEGIES, search_request.SCOPES)


@pytest.mark.req("N-37")
def test_explain_has_a_column_for_each_part_there_is_in_the_order_they_come_about(cli: Cli) -> None:
    for name, text in (("Ada", "I painted the harbour"), ("Ben", "Did Ada paint the harbour?")):
        cli.added(text, "--name", name, "--run", "monday")
    cli.environ("MEMSTONE_RECALL__DECAY_DAYS", "30")

    table = cli("search", "What did Ada paint?", "--user", "alice", "--explain").out.splitlines()
    assert table[0].split()[:7] == ["SCORE", "KEYWORD", "SEMANTIC", "SPEAKER", "ASKING", "ENTITY", "DECAY"]
    texts, asked = (line.split()[:7] for line in table[1:])
    assert (texts[3], texts[4]) == ("1.000", "-")
    assert (asked[3], asked[4]) == ("-", "1.000")
    assert "SPEAKER  MEMORY" in table[0]


def test_entities_are_a_part_of_what_explain_shows(cli: Cli) -> None:
    cli("add", "My sister Ada is vegan.", "--user", "alice")
    output = cli("search", "What does Ada eat?", "--user", "alice", "--explain").out
    assert "ENTITY" in output.splitlines()[0]


def test_on_a_narrow_terminal_the_parts_of_a_score_stay_and_the_id_gives_way(tmp_path: Path) -> None:
    on_terminal(tmp_path, "add", "I live in Oslo, close to the harbour", "--no-infer", "--user", "alice")
    explained = ANSI.sub("", on_terminal(tmp_path, "search", "Oslo", "--user", "alice", "--explain"))
    plain = ANSI.sub("", on_terminal(tmp_path, "search", "Oslo", "--user", "alice"))
    assert explained.split()[:5] == ["SCORE", "KEYWORD", "SEMANTIC", "ENTITY", "MEMORY"]
    assert plain.split()[:2] == ["SCORE", "ID"]


def test_search_takes_every_strategy(cli: Cli) -> None:
    cli.added("I live in Oslo")
    cli.added("The harbour is quiet")
    found = {one: cli.texts("search", "oslo", "--user", "alice", "--strategy", one) for one in STRATEGIES}
    assert found["exact"] == ["I live in Oslo"]
    assert found["text"] == ["I live in Oslo"]
    assert found["recent"] == ["The harbour is quiet", "I live in Oslo"]
    assert {found[one][0] for one in ("hybrid", "semantic", "vector")} == {"I live in Oslo"}
    assert cli("search", "oslo", "--user", "alice", "--strategy", "psychic").code == 2


def test_search_looks_as_far_as_it_is_told_to(cli: Cli) -> None:
    for number, run in enumerate(("monday", "tuesday")):
        cli.added(f"harbour note {number}", "--run", run)
    assert cli("add", "harbour rules", "--no-infer", "--user", "*").code == 0
    asked = ["search", "harbour", "--user", "alice", "--run", "monday", "--scope"]
    assert cli.texts(*asked, "session") == ["harbour note 0"]
    assert sorted(cli.texts(*asked, "owner")) == ["harbour note 0", "harbour note 1"]
    assert sorted(cli.texts(*asked, "global")) == ["harbour note 0", "harbour note 1", "harbour rules"]
    assert cli("search", "harbour", "--user", "alice", "--scope", "session").code == 2


# --- entities and relations -------------------------------------------------------------------------------------------


def test_entities_are_listed_by_how_often_they_are_mentioned(cli: Cli) -> None:
    cli("add", "My sister Ada lives in Bergen.", "--user", "alice")
    cli("add", "I had lunch with Ada.", "--user", "alice")

    listed = cli("entities", "--user", "alice")
    assert listed.code == 0
    titles, first, *_ = listed.out.splitlines()
    assert titles.split() == ["MENTIONS", "TYPE", "NAME", "DESCRIPTION", "ID"]
    assert first.split()[1:3] == ["person", "Ada"]
    names = [one["name"] for one in cli("entities", "--user", "alice", "--json").json["results"]]
    assert {"Ada", "Bergen"} <= set(names)
    assert [
        one["name"] for one in cli("entities", "--user", "alice", "-n", 1, "--offset", 1, "--json").json["results"]
    ] == names[1:2]


def test_relations_tell_what_no_longer_holds(cli: Cli) -> None:
    cli("add", "I live in Oslo.", "--user", "alice", "--at", "2026-03-02")
    cli("add", "I moved to Bergen.", "--user", "alice", "--at", "2026-05-07")

    listed = cli("relations", "--user", "alice")
    assert listed.code == 0
    titles, *rows = listed.out.splitlines()
    assert titles.split() == ["SOURCE", "RELATION", "TARGET", "SINCE", "UNTIL", "MEMORIES"]
    assert [row.split()[:3] for row in rows] == [["user", "lives_in", "Bergen"], ["user", "lives_in", "Oslo"]]
    assert rows[0].count("2026-05-07") == 1
    assert re.search(r"2026-03-02 00:00  2026-05-07 00:00 +1$", rows[1])
    last = cli("relations", "--user", "alice", "--offset", 1, "--json").json["results"]
    assert [(one["target"], one["valid_to"][:10]) for one in last] == [("Oslo", "2026-05-07")]


@pytest.mark.parametrize("command", ["entities", "relations"])
def test_a_graph_is_somebodys_and_may_be_empty(cli: Cli, command: str) -> None:
    cli.added("Good morning")
    ran = cli(command, "--user", "alice")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("no ")
    assert cli(command).code == 2
    assert cli(command, "--user", "alice", "--json").json == {"results": []}


def test_what_would_have_been_shown_at_another_time_can_be_asked_for(cli: Cli) -> None:
    cli("add", "I live in Oslo.", "--user", "alice", "--at", "2026-03-02")
    cli("add", "I moved to Bergen.", "--user", "alice", "--at", "2026-05-07")

    def visible(*options: str) -> str:
        return str(cli("context", "Where do I live?", "--user", "alice", "--json", *options).json["text"])

    assert "Bergen" in visible()
    assert "Oslo" in visible("--as-of", "2026-04-01")
    assert "Bergen" not in visible("--as-of", "2026-04-01")
    wrong = cli("context", "Where do I live?", "--user", "alice", "--as-of", "nonsense")
    assert (wrong.code, "as_of is not a date" in wrong.err) == (2, True)
