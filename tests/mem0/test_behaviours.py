from __future__ import annotations

import json
import re

import pytest

from tests.environments import ROOT, environment_python, run_module
from tests.mem0.behaviours import Behaviour, subject_of
from tests.mem0.removing import ROWS

SAME = [row for row in ROWS.values() if not row.differs]
OTHER = [row for row in ROWS.values() if row.differs]


@pytest.mark.req("N-37")
@pytest.mark.parametrize(
    "use_asyncio", [False, pytest.param(True, marks=pytest.mark.system)], ids=["blocking", "asyncio"]
)
@pytest.mark.parametrize("row", SAME, ids=lambda row: row.name)
def test_code_for_mem0_runs_on(row: Behaviour, *, use_asyncio: bool) -> None:
    with subject_of("memstone", use_asyncio=use_asyncio) as subject:
        row.run(subject)


@pytest.mark.parametrize("row", OTHER, ids=lambda row: row.name)
def test_a_difference_is_one(row: Behaviour) -> None:
    with subject_of("memstone", use_asyncio=False) as subject, pytest.raises(Exception):  # noqa: B017, PT011 - any
        row.run(subject)


def test_at_least_nineteen_of_twenty_behaviours_are_the_same() -> None:
    assert len(SAME) >= 0.95 * len(ROWS)


def test_the_guide_lists_every_difference_and_the_counts() -> None:
    guide = re.sub(r"\s+", " ", (ROOT / "docs" / "guides" / "mem0.md").read_text(encoding="utf-8"))
    for row in OTHER:
        assert row.differs[1:] in guide, row.name  # the first letter may be a capital there
    assert f"{len(SAME)} of {len(ROWS)}" in guide


@pytest.mark.system
@pytest.mark.timeout(1_800)
def test_the_table_is_right_about_mem0_itself() -> None:
    result = run_module(environment_python("mem0-tests"), "tests.mem0.run_table", "mem0", seconds=1_200)
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(rows) == 2 * len(ROWS), result.stderr[-2_000:]
    assert [row for row in rows if row["error"]] == []
