"""Tokenizers of other packages, as functions that count."""

from __future__ import annotations

from collections.abc import Callable

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
