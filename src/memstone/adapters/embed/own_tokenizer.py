"""The tokenizer of a model in a directory of your own: ``vocab.txt`` of an uncased BERT, or any ``tokenizer.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from memstone.adapters.embed.onnx_model import MAX_TOKENS, WordPiece
from memstone.adapters.embed.verified_file import decode_vocab, read_verified_file
from memstone.adapters.tokenizers import read_tokenizer
from memstone.errors import ConfigError

VOCAB: Final = "vocab.txt"
TOKENIZER: Final = "tokenizer.json"
TokenizerFile: TypeAlias = Literal["vocab.txt", "tokenizer.json"]
_HINT: Final = "bring the tokenizer.json of a BERT-like model, such as BERT, XLM-RoBERTa or MPNet"


class JsonTokenizer:
    """Encodes text as a ``tokenizer.json`` says, whatever its kind; safe to use from many threads.

    Which tokens begin and end a text, and which separate two, follows from what the file makes of empty texts.
    """

    def __init__(self, content: bytes, *, max_tokens: int = MAX_TOKENS) -> None:
        self._inner: Any = read_tokenizer(content)
        around, between = self._inner.encode("").ids, self._inner.encode("", "").ids
        if len(around) != 2 or len(between) < 3 or (between[0], between[-1]) != (around[0], around[-1]):  # noqa: PLR2004
            problem = "tokenizer.json puts no token before and behind a text"
            raise ConfigError(problem, hint=_HINT)
        self._begin, self._end = around
        self.joint: list[int] = between[1:-1]
        self.pad = next((found for found in map(self._inner.token_to_id, ("[PAD]", "<pad>")) if found is not None), 0)
        self.max_tokens = max_tokens

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text between those that begin and end it; what goes beyond ``max_tokens`` is left out."""
        return [self._begin, *self._read(text).ids, self._end]

    def words(self, text: str) -> list[str]:
        """Return, for each id of a text, the word it is a piece of, in lower case."""
        found = self._read(text)
        parts: dict[int, list[int]] = {}
        for word, (start, end) in zip(found.word_ids, found.offsets, strict=True):
            span = parts.setdefault(-1 if word is None else word, [start, end])
            span[:] = min(span[0], start), max(span[1], end)
        spans = (parts[-1 if word is None else word] for word in found.word_ids)
        return [text[start:end].strip().lower() for start, end in spans]

    def _read(self, text: str) -> Any:
        # Half of a surrogate pair has no UTF-8, in which it reads.
        found = self._inner.encode(text.encode("utf-8", "replace").decode(), add_special_tokens=False)
        found.truncate(self.max_tokens - 2)
        return found


def load_own_tokenizer(
    folder: Path,
    file: TokenizerFile | None,
    vocab_sum: str | None,
    tokenizer_sum: str | None,
    max_tokens: int = MAX_TOKENS,
) -> WordPiece | JsonTokenizer:
    """Return the tokenizer in a directory; unless one is named, ``vocab.txt`` if it is there."""
    chosen = file or (TOKENIZER if (folder / TOKENIZER).is_file() and not (folder / VOCAB).is_file() else VOCAB)
    if chosen == TOKENIZER:
        return JsonTokenizer(read_verified_file(folder / TOKENIZER, tokenizer_sum).content, max_tokens=max_tokens)
    return WordPiece.from_text(
        decode_vocab(read_verified_file(folder / VOCAB, vocab_sum).content), max_tokens=max_tokens
    )
