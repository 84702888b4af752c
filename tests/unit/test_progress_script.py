from __future__ import annotations

import sys

import pytest

from scripts import progress


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("Collecting numpy>=2.0 (from memstone==0.2.0)\n", "looking for numpy"),
        ("  Downloading numpy-2.4.0-cp311.whl (16.1 MB)\n", "fetching numpy-2.4.0-cp311.whl 16.1 MB"),
        ("Installing collected packages: a, b, c\n", "installing 3 packages"),
        ("  Preparing metadata (pyproject.toml): started\n", "Preparing metadata ..."),
        ("Requirement already satisfied: pip\n", ""),
    ],
)
def test_what_pip_says_becomes_a_short_line(line: str, text: str) -> None:
    assert progress.describe_line(line) == text


def test_a_silent_command_is_reported_and_a_failing_one_tells_all(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "QUIET_SECONDS", 0.2)
    code = "import time; time.sleep(1); print('Collecting x'); raise SystemExit('no room')"
    assert progress.main(["Installing", sys.executable, "-c", code]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "Installing ..."
    assert shown[1].startswith("  still running, ")
    assert "  looking for x" in shown
    assert "no room" in shown
    assert shown[-1].startswith("Installing: failed after ")


def test_a_command_that_works_says_only_its_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress.main(["Installing", sys.executable, "-c", "print('Collecting x'); print('noise')"]) == 0
    shown = capsys.readouterr().out
    assert "noise" not in shown
    assert "Installing: done in " in shown
