"""``memstone models``: files with language models."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import pytest

from memstone.config import Settings
from tests.faces.cli_runner import Cli

CONTENT = b"GGUF" + bytes(range(256))
SUM = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, monkeypatch, capsys)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(CONTENT)
    return path


@pytest.mark.req("C-40")
def test_a_model_is_added_chosen_and_listed(cli: Cli, file: Path) -> None:
    assert cli("models", "list").code == 1
    added = cli("models", "add", file, "--name", "small", "--sha256", SUM, "--json").json
    assert Path(added["path"]).read_bytes() == CONTENT
    assert (added["name"], added["sha256"], added["used"]) == ("small", SUM, False)
    config = cli.home / "memstone.toml"
    config.write_text('[store]\nurl = "memory:"\n')
    assert cli("models", "use", "small", "--config", config).code == 0
    settings = Settings.load(config, {})
    assert settings.llm is not None
    assert settings.llm.provider == "local"
    assert settings.llm.config == {"model_path": added["path"], "model_sha256": SUM}
    assert settings.store.url == "memory:"
    listed = cli("models", "list", "--json", "--config", config).json["models"]
    assert [(one["name"], one["bytes"], one["used"]) for one in listed] == [("small", len(CONTENT), True)]
    assert "small" in cli("models", "list").out


def test_a_configuration_with_a_model_is_not_changed(cli: Cli, file: Path) -> None:
    cli("models", "add", file)
    config = cli.home / "memstone.toml"
    config.write_text('[llm]\nprovider = "openai"\n')
    refused = cli("models", "use", "tiny", "--config", config, "--json")
    assert refused.error["code"] == "conflict"
    assert "model_path" in refused.error["hint"]
    assert tomllib.loads(config.read_text()) == {"llm": {"provider": "openai"}}
    assert cli("models", "use", "tiny", "--json").error["code"] == "config"


def test_a_file_that_is_not_there_yet_is_made(cli: Cli, file: Path) -> None:
    cli("models", "add", file)
    config = cli.home / "new" / "memstone.toml"
    cli.environ("MEMSTONE_CONFIG", str(config))
    assert cli("models", "use", "tiny").code == 0
    assert tomllib.loads(config.read_text())["llm"]["provider"] == "local"


def test_what_is_no_model_is_refused_and_nothing_is_left(cli: Cli, file: Path) -> None:
    note = cli.home / "note.gguf"
    note.write_text("hello")
    for arguments, code in (
        ((note,), "invalid_input"),
        ((cli.home / "none.gguf",), "not_found"),
        ((file, "--sha256", "0" * 64), "invalid_input"),
        ((file, "--name", "../up"), "invalid_input"),
    ):
        assert cli("models", "add", *arguments, "--json").error["code"] == code
    assert not (cli.home / ".memstone" / "models").exists()
    assert cli("models", "use", "tiny", "--json").error["code"] == "not_found"


def test_a_model_is_not_replaced_by_another_of_its_name(cli: Cli, file: Path) -> None:
    cli.environ("MEMSTONE_MODELS", str(cli.home / "shelf"))
    assert cli("models", "add", file).code == 0
    file.write_bytes(CONTENT + b"more")
    assert cli("models", "add", file, "--json").error["code"] == "conflict"
    assert (cli.home / "shelf" / "tiny.gguf").read_bytes() == CONTENT
