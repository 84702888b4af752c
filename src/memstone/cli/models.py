"""``models``: files with language models that run in this process."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from memstone.cli.arguments import Arguments, for_store
from memstone.cli.fail import NOTHING, OK
from memstone.cli.terminal import Column, TextTable, print_line, print_note, print_table
from memstone.errors import ConfigError, Conflict, InvalidInput, NotFoundError

_GGUF: Final = b"GGUF"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model in the folder for models."""

    name: str
    path: Path

    @property
    def sum_path(self) -> Path:
        """Return where its SHA-256 is written."""
        return self.path.with_suffix(".gguf.sha256")

    def as_dict(self, used: str | None) -> dict[str, Any]:
        """Return what is known of it."""
        expected = self.sum_path.read_text("ascii").strip() if self.sum_path.exists() else None
        size = self.path.stat().st_size
        return {"name": self.name, "path": str(self.path), "bytes": size, "sha256": expected, "used": self.name == used}


def models_folder() -> Path:
    """Return where models are: the folder in ``MEMSTONE_MODELS``, or one in the home directory."""
    return Path(os.environ.get("MEMSTONE_MODELS") or "~/.memstone/models").expanduser()


def _find_models() -> list[ModelFile]:
    return [ModelFile(path.stem, path) for path in sorted(models_folder().glob("*.gguf"))]


def _find_model(name: str) -> ModelFile:
    found = next((one for one in _find_models() if one.name == name), None)
    if found is None:
        raise NotFoundError(f"there is no model {name!r} in {models_folder()}", hint="`memstone models list` shows all")
    return found


@click.group()
def models() -> None:
    """List, add and choose language models in files.

    They are GGUF files in ~/.memstone/models, or in the folder that MEMSTONE_MODELS names, and run inside the process.
    To run one, install 'memstone[local-llm]'.
    """


@models.command("list")
@for_store
def list_models(arguments: Arguments) -> int:
    """List the models, and the one in use."""
    chosen = arguments.settings().llm
    path = Path(str(chosen.config.get("model_path", ""))).expanduser() if chosen else None
    used = path.stem if path and chosen and chosen.provider == "local" and path.parent == models_folder() else None
    found = [one.as_dict(used) for one in _find_models()]
    if arguments.print_json({"models": found}):
        return OK
    if not found:
        print_note(f"there is no model in {models_folder()}; `memstone models add FILE` adds one")
        return NOTHING
    table = TextTable([Column("NAME", grows=True), Column("MB", right=True), Column("SHA-256"), Column("USED")])
    for one in found:
        table.add(one["name"], one["bytes"] // _MEGABYTE, (one["sha256"] or "")[:12], "yes" if one["used"] else "")
    print_table(table)
    return OK


@models.command("add")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", help="The name of the model; by default that of the file.")
@click.option("--sha256", metavar="HEX", help="The expected checksum of the file.")
@for_store
def add_model(arguments: Arguments, *, file: Path, name: str | None, sha256: str | None) -> int:
    """Copy a GGUF file into the folder for models, and record its checksum."""
    chosen = name or file.stem
    if _NAME.fullmatch(chosen) is None:
        raise InvalidInput(f"{chosen!r} cannot be the name of a model", hint="use letters, digits and . _ -")
    actual = _check_file(file.expanduser(), sha256)
    model = ModelFile(chosen, models_folder() / f"{chosen}.gguf")
    if model.path.exists():
        raise Conflict(f"there is already a model {chosen!r}", hint="use --name to give this one another name")
    model.path.parent.mkdir(parents=True, exist_ok=True)
    part = model.path.with_suffix(".part")
    try:
        shutil.copyfile(file.expanduser(), part)
        model.sum_path.write_text(f"{actual}\n", "ascii")
        part.replace(model.path)  # whoever looks meanwhile sees no half of it
    finally:
        part.unlink(missing_ok=True)
    if not arguments.print_json(model.as_dict(None)):
        print_line(f"added {chosen} ({model.path.stat().st_size // _MEGABYTE} MB, SHA-256 {actual})")
        print_note(f"to learn with it: memstone models use {chosen} --config FILE")
    return OK


def _check_file(file: Path, expected: str | None) -> str:
    """Return the SHA-256 of a file that is a model, and the expected one."""
    try:
        with file.open("rb") as content:
            begins = content.read(len(_GGUF))
            content.seek(0)
            actual = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise NotFoundError(f"{file} cannot be read: {error.strerror}", hint="") from error
    if begins != _GGUF:
        raise InvalidInput(f"{file} is not a GGUF file")
    if expected is not None and actual != expected.lower():
        raise InvalidInput(f"{file} is not the expected file: its SHA-256 is {actual}")
    return actual


@models.command("use")
@click.argument("name")
@for_store
def use_model(arguments: Arguments, *, name: str) -> int:
    """Write a model into the configuration file, as the one that learns.

    The file is that of --config or MEMSTONE_CONFIG. One that already has a language model is not changed.
    """
    model = _find_model(name)
    where = arguments.config or os.environ.get("MEMSTONE_CONFIG")
    section = _format_section(model)
    if not where:
        raise ConfigError("there is no configuration file", hint=f"use --config FILE, or write there:\n{section}")
    path = Path(where).expanduser()
    before = path.read_text("utf-8") if path.exists() else ""
    if "llm" in tomllib.loads(before):
        raise Conflict(f"{path} already has a language model", hint=f"write this in its place:\n{section}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{before.rstrip()}\n\n{section}".lstrip(), "utf-8")
    if not arguments.print_json({"config": str(path), **model.as_dict(name)}):
        print_line(f"{path}: {name} is the language model that learns")
    return OK


def _format_section(model: ModelFile) -> str:
    lines = ["[llm]", 'provider = "local"', "", "[llm.config]", f"model_path = {json.dumps(str(model.path))}"]
    expected = model.as_dict(None)["sha256"]
    return "\n".join([*lines, *([f'model_sha256 = "{expected}"'] if expected else [])]) + "\n"


COMMANDS: Final = (models,)
