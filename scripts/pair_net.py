"""The built-in model reading two texts together, as it is fitted: frozen weights, low-rank deltas and a small head.

Only the scripts that fit readers use this (``fit_pairs.py`` among them). It needs torch, which nothing else here does:

    pip install torch==2.13.0

The weights are those of the built-in model's own file. ``save`` writes what ``memstone.adapters.embed.pairs`` reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from memstone.adapters.embed import pairs
from memstone.adapters.embed.local import MODEL_SHA256, VOCAB_SHA256, _installed_model
from memstone.adapters.embed.minilm import PARTS, Network
from memstone.adapters.embed.onnx_model import DATA, WordPiece
from memstone.adapters.embed.pairs import AGREE, DIFFER, pair_ids
from memstone.adapters.embed.verified_file import read_verified_file

_HEADS, _EPSILON = 12, 1e-12
_MASKED: Final = -1e9


def tokenizer() -> WordPiece:
    """Return the one of the built-in model."""
    return WordPiece.from_text(read_verified_file(DATA / "vocab.txt", VOCAB_SHA256).content.decode())


def encoded(texts: Sequence[tuple[str, str]], by: WordPiece) -> list[tuple[list[int], int]]:
    """Return each pair as token ids, and how many of them belong to the first text."""
    return [pair_ids(by.encode(first), by.encode(second)) for first, second in texts]


def padded(batch: Sequence[tuple[list[int], int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the ids of a batch, and the part each token belongs to: 0 and 1, and -1 where there is none."""
    ids, part = pairs.pad_pairs(batch)
    return torch.from_numpy(ids), torch.from_numpy(part)


def by_length(items: Sequence[tuple[list[int], int]], size: int) -> Iterator[list[int]]:
    """Yield places of pairs in batches of like length."""
    order = sorted(range(len(items)), key=lambda place: len(items[place][0]))
    return (order[start : start + size] for start in range(0, len(order), size))


class _Frozen(nn.Module):  # type: ignore[misc]
    """A layer of weights that stays, and what is learned beside it."""

    def __init__(self, matrix: Any, bias: Any, rank: int) -> None:
        super().__init__()
        self.register_buffer("matrix", torch.from_numpy(np.ascontiguousarray(matrix.T)))
        self.register_buffer("bias", torch.from_numpy(np.array(bias)))
        if rank:
            self.a = nn.Parameter(torch.randn(matrix.shape[0], rank) * matrix.shape[0] ** -0.5)
            self.b = nn.Parameter(torch.zeros(rank, matrix.shape[1]))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        out = functional.linear(rows, self.matrix, self.bias)
        return out + (rows @ self.a.to(rows.dtype)) @ self.b.to(rows.dtype) if hasattr(self, "a") else out


class _Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, network: Network, number: int, rank: int) -> None:
        super().__init__()
        linears = [network.linear(number, place) for place in range(len(PARTS))]
        self.parts = nn.ModuleList(
            _Frozen(one.weights.astype(np.float32) * one.scale, one.bias, rank) for one in linears
        )
        for name, norm in zip(("middle", "last"), network.norms(number), strict=True):
            self.register_buffer(name, torch.from_numpy(np.stack([norm.gain, norm.bias])))

    def forward(self, rows: torch.Tensor, mask: torch.Tensor, drop: float) -> torch.Tensor:
        query, key, value, merge, widen, narrow = self.parts
        asked, keys, answer = (self._split(part(rows)) for part in (query, key, value))
        seen = merge(_attended(asked, keys, answer, mask).transpose(1, 2).reshape(rows.shape))
        between = _normed(rows + functional.dropout(seen, drop, self.training), self.middle)
        wide = narrow(functional.gelu(widen(between)))
        return _normed(between + functional.dropout(wide, drop, self.training), self.last)

    def _split(self, rows: torch.Tensor) -> torch.Tensor:
        texts, tokens, width = rows.shape
        return rows.view(texts, tokens, _HEADS, width // _HEADS).transpose(1, 2)


def _attended(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Attend step by step: for short texts, torch's own way takes several times as long to go back through."""
    scores = (query @ key.transpose(2, 3)).float() * query.shape[-1] ** -0.5 + mask
    return torch.softmax(scores, dim=-1).to(value.dtype) @ value


def _normed(rows: torch.Tensor, norm: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(rows, rows.shape[-1:], norm[0], norm[1], _EPSILON)


class PairNet(nn.Module):  # type: ignore[misc]
    """Reads ``[CLS] first [SEP] second [SEP]`` and gives ``outputs`` numbers for each pair.

    ``rank`` of the deltas; the lowest ``frozen`` layers have none; ``hidden`` is the width of the head.
    """

    def __init__(self, outputs: int, *, rank: int = 8, frozen: int = 0, hidden: int = 32, drop: float = 0.1) -> None:
        super().__init__()
        network = Network(read_verified_file(_installed_model(), MODEL_SHA256).content)
        table, scale = network.words()
        self.register_buffer("words", torch.from_numpy(table * scale))
        self.register_buffer("places", torch.from_numpy(network.places()))
        self.types = nn.Parameter(torch.from_numpy(np.array(network.types())))
        first = network.first_norm()
        self.register_buffer("first", torch.from_numpy(np.stack([first.gain, first.bias])))
        self.layers = nn.ModuleList(_Layer(network, at, 0 if at < frozen else rank) for at in range(network.layers))
        width = table.shape[1]
        self.inner, self.outer = nn.Linear(5 * width, hidden), nn.Linear(hidden, outputs)
        self.direct = nn.Linear(5 * width, outputs, bias=False)
        self.frozen, self.drop = frozen, drop
        nn.init.zeros_(self.direct.weight)

    def forward(self, ids: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
        """Return a row for each pair of a padded batch."""
        return self.above(self.below(ids, part), part, self.drop)

    def below(self, ids: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
        """Return what the frozen layers make of the texts: it need be computed only once."""
        rows = self.words[ids] + self.places[: ids.shape[1]] + self.types[part.clamp(min=0)]
        rows, mask = _normed(rows, self.first).to(self.layers[0].middle.dtype), _mask(part)
        for layer in self.layers[: self.frozen]:
            rows = layer(rows, mask, 0.0)
        return rows

    def above(self, rows: torch.Tensor, part: torch.Tensor, drop: float = 0.0) -> torch.Tensor:
        """Return what the other layers and the head make of that."""
        rows = functional.dropout(rows, self.drop, self.training).to(self.layers[0].middle.dtype)
        for layer in self.layers[self.frozen :]:
            rows = layer(rows, _mask(part), drop)
        return self.headed(rows.float(), part)

    def headed(self, rows: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
        """Apply the head to what the first token says, both texts in the mean, and where they agree and differ."""
        means = [_mean(rows, part == which) for which in (0, 1)]
        both = functional.dropout(_features(rows[:, 0], *means), self.drop, self.training)
        return self.outer(functional.gelu(self.inner(both), approximate="tanh")) + self.direct(both)

    def coarser(self) -> None:
        """Compute what stays in 16 bits, which takes half the time; what is learned keeps its 32."""
        for layer in self.layers:
            for part in layer.parts:
                part.matrix, part.bias = part.matrix.bfloat16(), part.bias.bfloat16()
            layer.middle, layer.last = layer.middle.bfloat16(), layer.last.bfloat16()

    def learned(self) -> list[nn.Parameter]:
        """Return what is fitted."""
        return [one for one in self.parameters() if one.requires_grad]

    def save(self, path: Path) -> None:
        """Write the deltas and the head as 16-bit numbers."""
        found = {name.replace("layers.", "").replace("parts.", ""): value for name, value in self.named_parameters()}
        np.savez(path, **{name: value.detach().float().numpy().astype(np.float16) for name, value in found.items()})


def _mask(part: torch.Tensor) -> torch.Tensor:
    return torch.where(part >= 0, 0.0, _MASKED)[:, None, None, :]


def _mean(rows: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
    weight = which[..., None].to(rows.dtype)
    return (rows * weight).sum(1) / weight.sum(1)


def _features(first: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return torch.cat([first, one, other, one * other * AGREE, (one - other).abs() * DIFFER], dim=1)
