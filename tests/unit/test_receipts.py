from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from memstone.model.context import OmittedMemory, Receipt, SelectedMemory
from memstone.model.context_gate import GateDecision, Route

dropped = st.lists(
    st.builds(OmittedMemory, st.text(max_size=3), st.sampled_from(["duplicate", "over budget"])), max_size=9
)


@given(dropped)
def test_a_receipt_is_the_same_whichever_way_it_is_kept(left_out: list[OmittedMemory]) -> None:
    chosen = (SelectedMemory("a", "fact", 3, 0.5),)
    receipt = Receipt(
        "r", "2026", "q", GateDecision(Route.PINNED, "so"), 9, 3, 1, chosen=chosen, dropped=tuple(left_out)
    )
    for body in (receipt.as_dict(), receipt.as_stored()):
        assert Receipt.from_dict(json.loads(json.dumps(body))) == receipt


def test_a_reason_is_stored_once_for_all_in_a_row() -> None:
    gate = GateDecision(Route.PINNED, "so")
    many = tuple(OmittedMemory(f"memory {number}", "an unrelated question comes as close") for number in range(50))
    receipt = Receipt("r", "2026", "q", gate, 9, 3, 1, dropped=many)
    assert json.dumps(receipt.as_stored()).count("unrelated") == 1
