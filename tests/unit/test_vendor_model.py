from __future__ import annotations

import subprocess
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import pytest

from memstone.adapters.embed import local
from memstone.adapters.embed.verified_file import read_verified_file
from memstone.errors import MissingExtra
from scripts import vendor_model


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    assert vendor_model.main(["--output", str(folder)]) == 0
    (path,) = folder.iterdir()
    return path


def test_a_second_package_carries_the_same_model(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(tmp_path)]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)  # noqa: S603 - our own package
    monkeypatch.syspath_prepend(str(tmp_path))

    def without_the_first(name: str) -> ModuleSpec | None:
        return None if name == local._FIRST_PACKAGE else find_spec(name)

    monkeypatch.setattr(local, "find_spec", without_the_first)
    path = local._installed_model()
    assert path == tmp_path / local.SECOND_PACKAGE / "model.onnx"
    assert read_verified_file(path, local.MODEL_SHA256).sum == local.MODEL_SHA256


def test_without_either_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match="not installed"):
        local._installed_model()


def test_another_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.onnx").write_bytes(b"something else")
    assert vendor_model.main(["--model", str(tmp_path / "model.onnx"), "--output", str(tmp_path / "out")]) == 1
    assert "this is not the model" in capsys.readouterr().out
    assert vendor_model.main(["--model", str(tmp_path / "none"), "--output", str(tmp_path / "out")]) == 1
    assert not (tmp_path / "out").exists()


def test_the_package_is_the_same_every_time(wheel: Path, tmp_path: Path) -> None:
    vendor_model.main(["--output", str(tmp_path)])
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()
