"""Make the basis in which the word vectors of the built-in model are stored: its 128 main directions.

The words come from sentences written for this project's tests. Run it when the model changes:

    python -m scripts.word_basis
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from memstone.adapters.embed.local import BASIS, WIDTH, LocalEmbedderConfig, _shared_model
from scripts.weights import record

ROOT = Path(__file__).parent.parent
SOURCES = ("memories", "questions_answerable", "messages_open")


def main() -> None:
    """Write the basis."""
    files = [ROOT / "tests/data/gate" / f"{name}.jsonl" for name in SOURCES]
    texts = [json.loads(line)["text"] for file in files for line in file.read_text().splitlines()]
    model = _shared_model(LocalEmbedderConfig())
    words = np.concatenate([reading.words for reading in model.read([("", text) for text in texts], batch_size=32)])
    unit = words / np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1e-9)
    _, directions = np.linalg.eigh(unit.T @ unit)
    np.save(BASIS, directions[:, ::-1][:, :WIDTH].astype(np.float16))
    record("word_basis")


if __name__ == "__main__":
    main()
