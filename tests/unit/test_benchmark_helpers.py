from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from benchmarks.speed import corpus, jobs, measure, report, vectors
from benchmarks.speed.systems import opener

# The corpus


def test_a_small_corpus_is_the_beginning_of_a_large_one() -> None:
    assert corpus.items(0, 50, 7) == corpus.items(0, 500, 7)[:50]
    assert corpus.items(40, 50, 7) == corpus.items(0, 50, 7)[40:]


def test_the_corpus_is_the_same_in_every_process() -> None:
    assert len(corpus.vocabulary()) == len(set(corpus.vocabulary())) == corpus.VOCABULARY_SIZE
    assert corpus.sentence(0) == ("Me nakesorar he kehovedis hizemus was jomit and gotahir gozan a with vitirudat.")


def test_texts_are_distinct_and_of_the_promised_length() -> None:
    texts = [corpus.sentence(index) for index in range(3_000)]
    lengths = Counter(len(text.split()) for text in texts)
    assert len(set(texts)) == len(texts)
    assert set(lengths) == set(range(corpus.SHORTEST, corpus.LONGEST + 1))


def test_words_follow_a_long_tailed_law() -> None:
    words = Counter(word for index in range(3_000) for word in corpus.sentence(index)[:-1].lower().split())
    common = sum(words[word] for word in corpus.FUNCTION_WORDS)
    assert 0.3 < common / words.total() < 0.6
    assert sum(1 for count in words.values() if count == 1) > 2_000


def test_a_query_is_made_of_words_of_a_text_of_the_one_who_asks() -> None:
    texts = corpus.items(0, 60, 3)
    for query in corpus.queries(40, 60, 3):
        wanted = set(query.text.split())
        assert any(item.user == query.user and wanted <= set(item.text[:-1].lower().split()) for item in texts), query


# The vectors


def test_vectors_have_length_one_and_near_texts_share_words() -> None:
    one, near, far = (vectors.vector_of(text) for text in ("red green blue", "red green pink", "up down left"))
    assert np.linalg.norm(one) == pytest.approx(1.0, abs=1e-6)
    assert one @ near > 0.5 > one @ far


def test_packed_vectors_arrive_unchanged() -> None:
    table = vectors.VectorTable()
    table.learn_packed(vectors.pack(["red green"]))
    assert np.array_equal(table(["red green"])[0], vectors.vector_of("red green"))


def test_a_text_whose_vector_was_not_made_in_advance_is_counted() -> None:
    table = vectors.VectorTable()
    table.learn(["red"])
    assert np.array_equal(table(["red", "green"])[1], vectors.vector_of("green"))
    assert table.late == 1


def test_brute_force_puts_the_text_itself_first() -> None:
    texts = [corpus.sentence(index) for index in range(30)]
    best = vectors.brute_force(texts, vectors.stack(texts), texts[17], 3)
    assert best[0][0] == texts[17]
    assert best[0][1] == pytest.approx(1.0, abs=1e-5)
    assert [cosine for _, cosine in best] == sorted((cosine for _, cosine in best), reverse=True)


@pytest.mark.parametrize(
    ("found", "same"),
    [
        (list("abcdefghij"), True),
        (list("abcdefghji"), True),  # i and j are closer than float32 can tell
        (list("bacdefghij"), False),
        (list("abcdefghik"), False),
        (list("abcdefghi"), False),
        (list("abcdefghii"), False),
        (list("abcdefghiz"), False),
    ],
)
def test_a_ranking_is_true_when_only_ties_changed_places(found: list[str], *, same: bool) -> None:
    cosines = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1 - 1e-8, 0.05]
    assert jobs.same_ranking(found, list(zip("abcdefghijk", cosines, strict=True))) is same


# The clocks and counters


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.5, 2.0), (0.75, 3.0), (0.76, 4.0), (1.0, 4.0)])
def test_percentiles_are_values_that_occurred(share: float, expected: float) -> None:
    assert measure.percentile([3.0, 1.0, 4.0, 2.0], share) == expected


def test_a_budget_ends_the_calls_but_not_before_a_few() -> None:
    seen: list[int] = []
    timing = measure.time_calls(seen.append, range(1_000), budget=0.0)
    assert timing.calls == len(seen) == measure.FEWEST_CALLS


def test_all_inputs_are_used_when_the_budget_allows() -> None:
    seen: list[int] = []
    assert measure.time_calls(seen.append, range(20), budget=60.0).calls == 20
    assert seen == list(range(20))


def test_an_error_in_a_searching_thread_is_not_swallowed() -> None:
    def fails(_: int) -> None:
        raise ValueError("broken under threads")

    with pytest.raises(ValueError, match="broken under threads"):
        measure.calls_per_second(fails, [1, 2], threads=2, seconds=0.05)


def test_resident_memory_is_read_from_the_kernels_account() -> None:
    assert measure.resident_mb("Name:\tx\nVmRSS:\t   1000 kB\nThreads:\t1\n") == pytest.approx(1.024)


def test_commits_are_counted_in_the_write_ahead_log(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    log = tmp_path / "store.db-wal"
    db = sqlite3.connect(file, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE t (x BLOB)")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert measure.count_commits(log.read_bytes()) == 0
        for _ in range(3):
            db.execute("BEGIN")
            db.executemany("INSERT INTO t VALUES (?)", [(bytes(3_000),)] * 5)
            db.execute("COMMIT")
        assert measure.count_commits(log.read_bytes()) == 3
        db.execute("PRAGMA wal_checkpoint(RESTART)")
        db.execute("INSERT INTO t VALUES (1)")
        assert measure.count_commits(log.read_bytes()) == 1, "frames of before the restart do not count"
    finally:
        db.close()


# The jobs, on the floor


def test_the_jobs_run_on_the_floor_and_find_it_exact(tmp_path: Path) -> None:
    opens = opener("floor")
    store, tiny = tmp_path / "store", tmp_path / "tiny"
    store.mkdir()
    tiny.mkdir()
    corpus_of_job = {"directory": str(store), "size": 120, "users": 4, "budget": 0.01}
    assert jobs.fill(opens, corpus_of_job)["stored_mb"] > 0
    asked = corpus.queries(3, 120, 4)
    reopened = jobs.reopen(
        opens,
        {
            "directory": str(store),
            "tiny": str(tiny),
            "queries": [asdict(query) for query in asked],
            "vectors": vectors.pack(query.text for query in asked),
        },
    )
    assert reopened["rss_mb"] > 1
    readings = jobs.calls(opens, corpus_of_job)
    assert readings["exact"] == {"equal": jobs.EXACT_QUERIES, "of": jobs.EXACT_QUERIES}
    assert readings["embedded_late"] == 0
    assert {"search", "add", "get", "history", "batch"} <= set(readings)


def test_the_floor_makes_one_commit_an_add(tmp_path: Path) -> None:
    assert jobs.disk(opener("floor"), {"directory": str(tmp_path), "budget": 0.01})["commits_per_add"] == 1


# The report


def _results(cpu: float) -> dict[str, dict[str, object]]:
    return {
        "memstone": {"calls.10000.1": {"search": {"cpu": cpu}}},
        "mem0": {"calls.10000.1": {"search": {"cpu": 170.0}}},
        "floor": {"calls.10000.1": {"search": {"cpu": 1.0}}},
    }


def test_a_row_shows_the_target_the_verdict_and_both_ratios() -> None:
    (row,) = report.rows(_results(4.0), report.metrics([10_000], 0))
    assert row == ("search, 10,000 of 1 user", "4 ms", "5 ms", "ok", "170 ms", "42x", "1 ms", "4x")


def test_a_missed_target_is_marked() -> None:
    (row,) = report.rows(_results(5.1), report.metrics([10_000], 0))
    assert row[3] == report.OVER


def test_a_failed_reading_is_a_missed_target() -> None:
    results = _results(4.0) | {"memstone": {"calls.10000.1": {"failed": "why"}}}
    (row,) = report.rows(results, report.metrics([10_000], 0))
    assert row[1] == ""
    assert row[3] in report.MISSED


def test_a_rate_below_its_target_is_a_miss() -> None:
    line = report.Metric("8 threads / 1 thread", "x", ("a",), 1.0, more_is_better=True)
    assert line.holds(1.0)
    assert not line.holds(0.99)


def test_the_table_is_markdown_with_equal_columns() -> None:
    text = report.markdown("Speed", [("commit", "abc")], report.rows(_results(4.0), report.metrics([10_000], 0)))
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(line) for line in table}) == 1
    assert len({line.count("|") for line in table}) == 1
