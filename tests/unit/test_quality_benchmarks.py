from __future__ import annotations

import importlib
import json
import math
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.quality import ingredients, metrics, report, retrieval
from benchmarks.quality.__main__ import main
from benchmarks.quality.cases import ADVERSARIAL, Case, Question, Turn, lines, load, locomo, longmemeval
from benchmarks.quality.embedding import KeptEmbedder
from memstone.adapters.embed.hash_embedder import HashEmbedder
from memstone.drive import drive
from memstone.errors import InvalidInput
from memstone.model.memory import Vector

LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "My sister paints boats."}],
            "session_10_date_time": "not known",
            "session_2": [
                {"speaker": "Ada", "dia_id": "D2:1", "text": "I adopted a greyhound called Comet."},
                {"speaker": "Ben", "dia_id": "D2:2", "text": "Look!", "blip_caption": "a photo of a kite"},
            ],
            "session_2_date_time": "4:05 pm on 3 June, 2024",
        },
        "qa": [
            {"question": "Which animal did Ada adopt?", "evidence": ["D2:1"], "category": 4, "answer": "a greyhound"},
            {"question": "What did Ben show?", "evidence": ["D:2:2; D10:1", "D9:9"], "category": 1, "answer": "a kite"},
            {"question": "What is not known?", "evidence": [], "category": 3, "answer": "this"},
            {"question": "Which cat did Ada adopt?", "evidence": ["D2:1"], "category": 5, "adversarial_answer": "none"},
        ],
    }
]

LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": "q1_abs",
        "question_type": "single-session-user",
        "question": "How long is my commute?",
        "question_date": "2024/06/18 (Tue) 21:15",
        "answer": "45 minutes",
        "answer_session_ids": ["s2"],
        "haystack_session_ids": ["s1", "s2"],
        "haystack_dates": ["2024/06/08 (Sat) 07:12", "2024/06/09 (Sun) 09:40"],
        "haystack_sessions": [
            [{"role": "user", "content": "I like tulips."}, {"role": "assistant", "content": "Tulips are bulbs."}],
            [{"role": "user", "content": "My commute takes 45 minutes.", "has_answer": True}],
        ],
    }
]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    (tmp_path / "locomo.json").write_text(json.dumps(LOCOMO), "utf-8")
    (tmp_path / "longmemeval.json").write_text(json.dumps(LONGMEMEVAL), "utf-8")
    return tmp_path


def experiment(cases: list[Case], by: str = "turn") -> retrieval.Experiment:
    return retrieval.Experiment(cases, KeptEmbedder(HashEmbedder.make()), by)


# The files


def test_locomo_turns_come_in_the_order_of_their_sessions_with_what_a_picture_shows(written: Path) -> None:
    (case,) = load("locomo", written / "locomo.json")
    assert [turn.id for turn in case.turns] == ["D2:1", "D2:2", "D10:1"]
    assert case.turns[1].text == "Look! [shares a photo of a kite]"
    assert case.turns[0].said_at == datetime(2024, 6, 3, 16, 5, tzinfo=UTC)
    assert case.turns[2].said_at is None


def test_locomo_evidence_is_read_even_where_it_is_written_badly() -> None:
    (case,) = locomo(LOCOMO)
    first, several, without, adversarial = case.questions
    assert first == Question(
        "conv-1-q0", "Which animal did Ada adopt?", "single-hop", frozenset({"D2:1"}), frozenset({"session_2"})
    )
    assert several.turns == {"D2:2", "D10:1"}
    assert several.wanted("session") == {"session_2", "session_10"}
    assert not without.turns
    assert adversarial.kind == ADVERSARIAL


def test_longmemeval_has_a_question_for_each_history_and_marks_turns_and_sessions() -> None:
    (case,) = longmemeval(LONGMEMEVAL)
    assert [(turn.id, turn.session, turn.role) for turn in case.turns] == [
        ("s1#0", "s1", "user"),
        ("s1#1", "s1", "assistant"),
        ("s2#0", "s2", "user"),
    ]
    assert case.turns[2].said_at == datetime(2024, 6, 9, 9, 40, tzinfo=UTC)
    assert case.asked_at == datetime(2024, 6, 18, 21, 15, tzinfo=UTC)
    (asked,) = case.questions
    assert asked.kind == "single-session-user_abs"
    assert (sorted(asked.turns), sorted(asked.sessions)) == (["s2#0"], ["s2"])


@pytest.mark.parametrize("text", ["{", '[{"sample_id": 1}]', "[3]", '[{"conversation": {}, "sample_id": "x"}]'])
def test_a_file_in_another_format_is_refused_by_its_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.json").write_text(text, "utf-8")
    with pytest.raises(InvalidInput, match=r"other\.json is not in the format locomo"):
        load("locomo", tmp_path / "other.json")


def test_a_line_that_is_not_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n\n{"b"\n', "utf-8")
    with pytest.raises(InvalidInput, match="not JSONL"):
        lines(tmp_path / "rows.jsonl")


# What a ranking is worth


def test_recall_hits_and_the_first_rank_by_hand() -> None:
    ranked = ["x", "a", "x2", "x3", "x4", "b", *(f"y{at}" for at in range(6)), "c"]
    assert metrics.scores(ranked, {"a", "b", "c", "d"}) == {
        "recall@5": 0.25,
        "recall@10": 0.5,
        "recall@20": 0.75,
        "any@5": 1.0,
        "any@10": 1.0,
        "any@20": 1.0,
        "all@5": 0.0,
        "all@10": 0.0,
        "all@20": 0.0,
        "mrr": 0.5,
    }


def test_all_is_reached_when_the_last_one_is_found() -> None:
    found = metrics.scores(["a", "x", "x1", "x2", "x3", "b"], {"a", "b"})
    assert (found["all@5"], found["all@10"], found["mrr"]) == (0.0, 1.0, 1.0)


def test_nothing_found_is_worth_nothing() -> None:
    assert set(metrics.scores(["x"], {"a"}).values()) == {0.0}
    assert set(metrics.scores([], {"a"}).values()) == {0.0}


def test_a_session_counts_where_its_first_turn_stands() -> None:
    assert metrics.once(["s1", None, "s2", "s1", "s3", "s2"]) == ["s1", "s2", "s3"]


# How far a number can be trusted


def test_a_mean_without_spread_has_no_interval() -> None:
    assert metrics.mean([0.5] * 20) == metrics.Estimate(0.5, 0.5, 0.5)


def test_the_interval_of_a_share_is_about_what_the_textbook_says() -> None:
    found = metrics.mean([1.0] * 300 + [0.0] * 100)
    half = 1.96 * math.sqrt(0.75 * 0.25 / 400)
    assert found.value == 0.75
    assert found.low == pytest.approx(0.75 - half, abs=0.01)
    assert found.high == pytest.approx(0.75 + half, abs=0.01)


def test_two_runs_draw_the_same_interval() -> None:
    values = [at % 7 / 7 for at in range(50)]
    assert metrics.mean(values) == metrics.mean(values)


def test_a_difference_is_taken_question_by_question() -> None:
    before = [at % 2 for at in range(100)]
    after = [value + 0.1 for value in before]
    found = metrics.difference(after, before)
    assert (found.value, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_precision_and_recall_by_hand() -> None:
    texts = [True, True, True, False, False, False]
    labels = [True, True, False, True, True, False]
    found = metrics.detection(texts, labels)
    assert found.precision.value == pytest.approx(2 / 3)
    assert found.recall.value == pytest.approx(2 / 4)
    assert found.f1.value == pytest.approx(4 / 7)
    assert found.accuracy.value == pytest.approx(3 / 6)


def test_a_gate_that_never_opens_has_no_precision_and_no_error() -> None:
    found = metrics.detection([False, False], [True, False])
    assert (found.precision.value, found.recall.value) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("value", "sign", "shown"),
    [
        (0.8441, False, ".844"),
        (1.0, False, "1.000"),
        (0.9999, False, "1.000"),
        (-0.0306, True, "-.031"),
        (0, True, "+.000"),
    ],
)
def test_shares_are_shown_with_three_digits(value: float, shown: str, *, sign: bool) -> None:
    assert metrics.short(value, sign=sign) == shown


# Retrieval


def test_every_question_with_evidence_is_asked_and_scored() -> None:
    answers = experiment(list(locomo(LOCOMO))).answers()
    assert [answer.question for answer in answers] == ["conv-1-q0", "conv-1-q1", "conv-1-q3"]
    assert answers[0].scores["mrr"] == 1.0
    assert answers[1].scores["recall@5"] == 1.0


def test_sessions_are_scored_by_the_turns_found_in_them() -> None:
    (answer,) = experiment(list(longmemeval(LONGMEMEVAL)), "session").answers()
    assert (answer.scores["any@5"], answer.scores["mrr"]) == (1.0, 1.0)


def test_a_turn_that_is_not_found_costs_recall() -> None:
    texts = [Turn(f"t{at}", "s", "Ada", f"Herring number {at} swims by.") for at in range(60)]
    asked = Question("q", "herring", "single-hop", frozenset({"never said"}), frozenset({"s"}))
    case = Case("c", tuple(texts), (asked,))
    assert experiment([case]).answers()[0].scores["recall@20"] == 0.0


def test_adversarial_questions_stand_apart_from_the_mean_of_all() -> None:
    right, wrong = metrics.scores(["a"], {"a"}), metrics.scores(["x"], {"a"})
    answers = [retrieval.Answer("1", "temporal", right), retrieval.Answer("2", ADVERSARIAL, wrong)]
    rows = {row[0]: row[1:3] for row in retrieval.table(answers).rows}
    assert list(rows) == ["temporal", ADVERSARIAL, "all but adversarial"]
    assert rows["all but adversarial"] == ("1", "1.000 (1.000–1.000)")  # noqa: RUF001 - a range
    assert rows[ADVERSARIAL] == ("1", ".000 (.000–.000)")  # noqa: RUF001 - a range


def test_the_name_of_a_turn_is_no_word_of_it() -> None:
    texts = (Turn("zebra", "s", "Ada", "I like tulips."), Turn("t2", "s", "Ada", "A zebra crossed the road."))
    case = Case("c", texts, (Question("q", "zebra", "single-hop", frozenset({"t2"}), frozenset({"s"})),))
    assert experiment([case]).answers()[0].scores["mrr"] == 1.0


# Ingredients


@pytest.mark.parametrize("name", ingredients.INGREDIENTS)
def test_an_ingredient_is_left_out_for_a_while_and_back_afterwards(name: str) -> None:
    seams = ingredients.INGREDIENTS[name]
    before = [getattr(importlib.import_module(seam.module), seam.name) for seam in seams]
    with ingredients.without(name):
        during = [getattr(importlib.import_module(seam.module), seam.name) for seam in seams]
        assert all(one is seam.instead for one, seam in zip(during, seams, strict=True))
        assert len(experiment(list(locomo(LOCOMO))).answers()) == 3
    assert before == [getattr(importlib.import_module(seam.module), seam.name) for seam in seams]


def test_a_seam_that_is_gone_is_no_silent_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ingredients.INGREDIENTS, "gone", (ingredients.Seam("memstone.core.ranking.fusion", "GONE", 0),))
    with pytest.raises(AttributeError, match="GONE"), ingredients.without("gone"):
        pass


DAY = Case(
    "c",
    (
        Turn("t1", "s1", "Ada", "We walked along the river.", datetime(2023, 3, 7, tzinfo=UTC)),
        Turn("t2", "s2", "Ada", "We walked along the river bank.", datetime(2023, 9, 9, tzinfo=UTC)),
    ),
    (Question("q", "Where did we walk in September 2023?", "temporal", frozenset({"t2"}), frozenset({"s2"})),),
)
NEXT_TURN = Case(
    "c",
    (
        Turn("t1", "s1", "Ada", "Did you enjoy the violin recital?"),
        Turn("t2", "s1", "Ben", "Very much."),
        Turn("t3", "s2", "Ben", "Very much, thanks."),
    ),
    (Question("q", "violin recital", "single-hop", frozenset({"t2"}), frozenset({"s1"})),),
)


def _mrr(case: Case) -> float:
    return experiment([case]).answers()[0].scores["mrr"]


def test_leaving_out_the_words_of_the_day_loses_a_question_that_needs_them() -> None:
    with ingredients.without("words of the day"):
        without = _mrr(DAY)
    assert (_mrr(DAY), without) == (1.0, 0.5)


def test_leaving_out_neighbours_loses_an_answer_that_has_none_of_the_words() -> None:
    with ingredients.without("neighbours' words in the text channel"):
        without = _mrr(NEXT_TURN)
    assert _mrr(NEXT_TURN) > without


def test_an_ablation_has_a_row_for_each_ingredient_and_the_change_it_makes() -> None:
    tried = experiment([DAY])
    table = retrieval.ablation(tried, tried.answers(), lambda _: None)
    changes = {row[0]: row[-1] for row in table.rows}
    assert list(changes) == ["nothing", *ingredients.INGREDIENTS]
    assert changes["nothing"] == ""
    assert changes["speaker match"] == "+.000 (+.000 to +.000)"


def test_a_text_is_read_once_however_often_it_is_stored() -> None:
    class Counting(HashEmbedder):
        tells_words = True
        read: list[tuple[str, str]] = []  # noqa: RUF012 - one list for the one test

        async def embed_words(self, pairs: list[tuple[str, str]]) -> list[Vector]:
            self.read += pairs
            return [Vector(row.tobytes(), b"") for row in await self.embed([text for _, text in pairs])]

    stored = KeptEmbedder(Counting.make())
    first = drive(stored.embed_words([("", "red"), ("red", "green"), ("", "red")]))
    again = drive(stored.embed_words([("red", "green"), ("", "red")]))
    assert again == [first[1], first[2]]
    assert first[0] == first[2] != first[1]
    assert Counting.read == [("", "red"), ("red", "green")]


# Reports


def test_a_report_says_which_code_it_is_about(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        who = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", *who, *arguments]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)  # noqa: S603 - our own words

    git("init")
    (tmp_path / "code").write_text("1", "utf-8")
    git("add", "code")
    git("commit", "-m", "first")
    clean = report.Origin.now(tmp_path)
    assert clean.is_clean
    assert clean.facts()["commit"] == f"{clean.commit} (clean)"
    assert clean.name == f"quality-{clean.date}-{clean.commit}"
    (tmp_path / "new").write_text("not known to git", "utf-8")
    assert report.Origin.now(tmp_path).name == f"{clean.name}-dirty"


def test_a_section_that_is_measured_again_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    table = report.Table("", ("a", "b"), [("1", "22")])
    for title, value in (("Gate", "old"), ("Updates", "kept"), ("Gate", "new")):
        report.save(report.Section(title, {"data": value}, [table]), "quality-day-sha", tmp_path)
    text = (tmp_path / "quality-day-sha.md").read_text("utf-8")
    assert text.startswith("# Quality of Memstone, day-sha\n\n## ")
    assert [line for line in text.splitlines() if line.startswith(("## ", "- "))] == [
        "## Updates",
        "- data: kept",
        "## Gate",
        "- data: new",
    ]
    assert "| a | b  |\n|---|----|\n| 1 | 22 |" in text


def test_the_command_prints_a_table_and_says_what_it_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text('{"text": "Thanks!", "needs_memory": false, "kind": "thanks"}\n', "utf-8")
    bad.write_text("no json\n", "utf-8")
    assert main(["gate", "--messages", str(good)]) == 0
    assert "| good.jsonl | 1 " in capsys.readouterr().out
    assert main(["gate", "--messages", str(bad)]) == 2
    assert "bad.jsonl is not JSONL" in capsys.readouterr().err
    assert main(["gate", "--messages", str(tmp_path / "none.jsonl")]) == 2
