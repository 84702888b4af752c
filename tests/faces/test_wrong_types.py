"""Whatever is handed to a verb, what cannot be is told in words, and nothing is stored."""

from __future__ import annotations

from typing import Any, Final

import pytest

from memstone.errors import InvalidInput, MemstoneError
from tests.faces.harness import Face, verb_of

pytestmark = pytest.mark.parametrize("store", ["in_memory"], indirect=True)

HALF: Final = "\ud800"
HUGE: Final = 10**30
BY_ID: Final = (
    "get",
    "history",
    "delete",
    "review.restore",
    "review.disable",
    "review.enable",
    "review.quarantine",
    "review.approve",
    "review.reject",
    "undo",
)


@pytest.mark.parametrize("verb", BY_ID)
async def test_an_id_that_no_text_can_be_is_refused(face: Face, verb: str) -> None:
    with pytest.raises(InvalidInput):
        await verb_of(face, verb)(HALF)


@pytest.mark.parametrize("verb", ["get_all", "sessions.episodes", "review.replacements", "graph.entities"])
async def test_a_number_beyond_all_bounds_is_refused(face: Face, verb: str) -> None:
    with pytest.raises(InvalidInput):
        await verb_of(face, verb)(user_id="alice", offset=HUGE)


WRONG: Final[dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]]] = {
    "sessions.backfill": [((None,), {"user_id": "a"}), ((7,), {"user_id": "a"}), (("text",), {"user_id": "a"})],
    "load": [((None,), {}), ((7,), {}), ((object(),), {})],
    "review.list": [((), {"statuses": 7}), ((), {"statuses": [[]]}), ((), {"statuses": []})],
    "settings.get": [((), {"names": []}), ((), {"names": {}})],
    "admin.list_scopes": [(([],), {}), (({},), {})],
    "admin.keys.create": [
        ((None,), {}),
        ((7,), {}),
        (("k",), {"verbs": 7}),
        (("k",), {"verbs": "read"}),
        (("k",), {"user_id": ""}),  # it would reach everybody
        (("k",), {"agent_id": " "}),
    ],
    "admin.keys.rotate": [
        (("k",), {"grace_seconds": wrong}) for wrong in (None, "a", -1, float("nan"), float("inf"), HUGE)
    ],
    "review.restore": [(("id",), {"version": HUGE})],
    "review.rollback": [((), {"source": HALF}), ((), {"source": 7}), ((), {})],
}


@pytest.mark.parametrize("verb", WRONG)
async def test_what_has_the_wrong_type_is_refused(face: Face, verb: str) -> None:
    for args, named in WRONG[verb]:
        with pytest.raises(MemstoneError) as refused:
            await verb_of(face, verb)(*args, **named)
        assert str(refused.value).strip()
    assert (await face.review.events(everybody=True))["results"] == []


@pytest.mark.parametrize(
    ("ids", "found"), [("one-id", "str"), (b"one-id", "bytes"), ({"one": "id"}, "dict"), (None, "None")]
)
async def test_what_is_no_list_is_named_by_its_type(face: Face, ids: Any, found: str) -> None:
    with pytest.raises(InvalidInput, match=rf"ids must be a list of texts, not {found} \(put it into a list\)"):
        await face.delete_many(ids)
