"""``erase`` when there is nothing to erase, or nobody is named."""

from __future__ import annotations

from typing import Any

import pytest

from memstone.errors import InvalidInput, ScopeError
from tests.faces.harness import Face, passed


@pytest.mark.parametrize("given", [{}, {"user_id": ""}, {"user_id": "  "}])
async def test_nobody_is_erased_when_nobody_is_named(face: Face, given: dict[str, Any]) -> None:
    await face.remember("I live in Oslo")
    with pytest.raises(ScopeError):
        await face.admin.erase(**given)
    assert await face.listed() == ["I live in Oslo"]


@pytest.mark.parametrize(
    "report", [None, {}, {"format": "memstone-erasure"}, {"format": "memstone-erasure", "version": 1}]
)
async def test_what_is_no_report_is_refused(face: Face, report: Any) -> None:
    with pytest.raises(InvalidInput):
        await face.admin.verify_erasure(report)


async def test_erasing_twice_finds_nothing_more(face: Face) -> None:
    await face.remember("I live in Oslo")
    first, second = [await face.admin.erase(user_id="alice") for _ in range(2)]
    assert first["erased"]["memories"] == 1
    assert second["erased"] == {}
    assert passed(second)


async def test_an_unknown_memory_erases_nothing(face: Face) -> None:
    await face.remember("I live in Oslo")
    report = await face.admin.erase(memory_id="00000000-0000-4000-8000-000000000000")
    assert report["erased"] == {}
    assert await face.listed() == ["I live in Oslo"]
