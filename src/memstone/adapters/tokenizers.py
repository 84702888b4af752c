"""Tokenizers of other packages, as functions that count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memstone.errors import ConfigError, MissingExtra, install_hint


def load_tiktoken(encoding: str) -> Callable[[str], int]:
    """Return a function that counts tokens as an encoding of ``tiktoken`` does, such as ``o200k_base``.

    ``tiktoken`` fetches the vocabulary once, or takes it from the folder that ``TIKTOKEN_CACHE_DIR`` names.
    """
    try:
        import tiktoken
    except ImportError as error:
        raise MissingExtra("context.tokenizer needs the package tiktoken", hint=install_hint("tiktoken")) from error
    try:
        encoder = tiktoken.get_encoding(encoding)
    except Exception as error:  # an unknown name, or the vocabulary cannot be fetched: it raises whatever it likes
        raise ConfigError(
            f"tiktoken cannot load the encoding {encoding!r}: {str(error)[:200]}",
            hint="without a network, set TIKTOKEN_CACHE_DIR to a folder that holds its vocabulary",
        ) from error
    return lambda text: len(encoder.encode(text, disallowed_special=()))


def read_tokenizer(content: bytes) -> Any:
    """Return the tokenizer of a ``tokenizer.json``, which neither cuts nor pads; needs ``tokenizers``."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("tokenizer.json needs the package tokenizers", hint=install_hint("tokenizers")) from error
    try:
        tokenizer = Tokenizer.from_buffer(content)
    except Exception as error:  # its errors have no type of their own
        raise ConfigError(
            f"tokenizer.json cannot be read: {str(error)[:200]}", hint="it must be a file of the package tokenizers"
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
