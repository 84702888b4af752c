from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scripts import weights

FITTED = ("*.npz", "*.npy", "gate.tsv", "relevance.json")
SCRIPT = '"""Fit."""\nROUNDS = 3  # not many\n'


@pytest.mark.parametrize("name", weights.read_manifest())
def test_weights_belong_to_the_features_data_and_script_that_are_there(name: str) -> None:
    assert weights.check(name) == []


@pytest.mark.parametrize("name", weights.read_manifest())
def test_the_manifest_says_where_weights_come_from_and_what_they_are_worth(name: str) -> None:
    answer = weights.read_manifest()[name]
    assert all(answer[part] for part in ("file", "script", "data", "fitted_to", "fitted_at", "held_out")), answer
    assert weights.data_of(answer["data"])
    assert f'record("{name}")' in (weights.ROOT / answer["script"]).read_text(), "whoever fits them records it"


def test_no_file_of_weights_is_without_a_manifest() -> None:
    package = weights.ROOT / "src" / "memstone"
    there = {str(path.relative_to(weights.ROOT)) for pattern in FITTED for path in package.rglob(pattern)}
    assert there == {answer["file"] for answer in weights.read_manifest().values()}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one file of weights, just recorded."""
    (tmp_path / "some.npz").write_bytes(b"numbers")
    (tmp_path / "fit.py").write_text(SCRIPT)
    (tmp_path / "cases.jsonl").write_text('{"text": "I have a boat"}\n')
    (tmp_path / "weights.toml").write_text(
        '[some]\nfile = "some.npz"\nscript = "fit.py"\ndata = ["*.jsonl"]\nfitted_to = "cases"\nheld_out = ".9"\n'
    )
    for command in (
        ["init", "-q"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x", "--allow-empty"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)  # noqa: S603, S607 - our own command
    monkeypatch.setattr(weights, "ROOT", tmp_path)
    monkeypatch.setattr(weights, "MANIFEST", tmp_path / "weights.toml")
    monkeypatch.setitem(weights.SIGNATURES, "some", lambda sample: [text.split() for text in sample.texts()])
    weights.record("some")
    assert weights.check("some") == []
    return tmp_path


def test_what_is_only_said_about_a_script_makes_no_difference(tree: Path) -> None:
    (tree / "fit.py").write_text('"""Fit it."""\nROUNDS = 3\n')
    assert weights.check("some") == []


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("some.npz", "other numbers", "the weights were written and not recorded"),
        ("fit.py", "ROUNDS = 4\n", "the script that fits them has changed"),
        ("more.jsonl", '{"text": ""}\n', "the data they were fitted to has changed"),
    ],
)
def test_a_change_of_what_they_were_fitted_to_is_told(tree: Path, file: str, content: str, problem: str) -> None:
    (tree / file).write_text(content)
    assert f"some: {problem} (see scripts/weights.py)" in weights.check("some")


def test_a_change_of_the_features_is_told_until_somebody_answers_for_it(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(weights.SIGNATURES, "some", lambda sample: [len(text) for text in sample.texts()])
    assert weights.main([]) == 1
    assert "some: the features they were fitted to have changed" in capsys.readouterr().out
    before = weights.read_manifest()["some"]
    assert weights.main(["--record", "some", "--behind", "only the length counts now"]) == 0
    answer = weights.read_manifest()["some"]
    assert answer["behind"] == "only the length counts now"
    assert answer["fitted_at"] == before["fitted_at"], "they were not fitted anew"
    weights.record("some")
    assert "behind" not in weights.read_manifest()["some"]
