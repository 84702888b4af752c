"""The points of an embedded Qdrant are pickles, and what a pickle can do besides holding a point does not happen."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memstone.adapters.sources.qdrant_points import read_point


class _Shell:
    """Unpickled, it would run a command."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return subprocess.getoutput, (self.command,)


@pytest.mark.req("R-37")
@pytest.mark.parametrize("wrap", [lambda shell: shell, lambda shell: {"id": 1, "payload": shell}])
def test_a_pickle_that_would_run_a_command_is_no_point_and_runs_nothing(wrap: Any, tmp_path: Path) -> None:
    mark = tmp_path / "it-ran"
    raw = pickle.dumps(wrap(_Shell(f"touch {mark}")))

    assert read_point(raw) is None
    assert not mark.exists()
    pickle.loads(raw)  # noqa: S301 - to see that the test can fail
    assert mark.exists()


@pytest.mark.parametrize("raw", [b"", b"\x80", b"text", pickle.dumps([1, 2]), pickle.dumps({"payload": {}})[:-3]])
def test_anything_else_is_no_point(raw: bytes) -> None:
    assert read_point(raw) is None


def test_a_global_of_the_client_is_an_object_that_only_keeps_what_it_is_given() -> None:
    state = {"__dict__": {"id": "a", "payload": {"data": "User likes tea."}}}
    raw = b"\x80\x04cqdrant_client.http.models.models\nPointStruct\n)\x81" + pickle.dumps(state)[2:-1] + b"b."

    assert read_point(raw) == {"id": "a", "payload": {"data": "User likes tea."}}
