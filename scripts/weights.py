"""Compare every file of fitted weights with what it was fitted to, as its manifest tells it.

For each file the manifest (``src/memstone/language/models/MANIFEST.toml``) has its hash, the script that writes it, the
data it was fitted to, a signature of the features (what the code makes of a fixed sample of that data), the commit it
was fitted at, and how it did on what it had not seen. ``python -m scripts.weights`` reports what no longer fits, and a
test does the same. Whoever fits weights records them; the scripts that fit do so themselves. Whoever changes features,
data or scripts on purpose and does not fit again says so: ``python -m scripts.weights --record NAME --behind "why the
weights may stay"``.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeGuard

ROOT: Final = Path(__file__).resolve().parent.parent
MANIFEST: Final = ROOT / "src" / "memstone" / "language" / "models" / "MANIFEST.toml"
_EACH: Final = 3
"""So many lines of each file of data are the sample."""

_OFF_THE_BOUNDARY: Final = 0.0013
"""Added before rounding, because processors differ in the last digit: 1/16 is rounded up on one and down on another."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Report what no longer fits, or record a state."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", metavar="NAME", help="take what there is now for what the weights were fitted to")
    parser.add_argument("--behind", default="", help="why weights may stay that were fitted to something else")
    value = parser.parse_args(arguments)
    if value.record:
        record(value.record, behind=value.behind)
    found = [problem for name in read_manifest() for problem in check(name)]
    print("\n".join(found) or "every file of weights is what its manifest says")
    return 1 if found else 0


def read_manifest() -> dict[str, dict[str, Any]]:
    """Return the manifest: what is told of each file of weights, by name."""
    return tomllib.loads(MANIFEST.read_text(encoding="utf-8"))


def check(name: str, answer: dict[str, Any] | None = None) -> list[str]:
    """Return what of the weights' manifest is no longer so."""
    answer = answer or read_manifest()[name]
    now = measure(name, answer)
    return [f"{name}: {_MEANING[part]} (see scripts/weights.py)" for part in now if now[part] != answer[part]]


_MEANING: Final = {
    "file_sha256": "the weights were written and not recorded",
    "script_sha256": "the script that fits them has changed",
    "data_sha256": "the data they were fitted to has changed",
    "features_sha256": "the features they were fitted to have changed",
}


def record(name: str, *, behind: str = "") -> None:
    """Write into the manifest what there is now, as what the weights were fitted to."""
    manifest = read_manifest()
    answer = {key: value for key, value in manifest[name].items() if key != "behind"}
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    fitted = {"behind": behind} if behind else {"fitted_at": head.stdout.decode().strip()}
    manifest[name] = {**answer, **measure(name, answer), **fitted}
    MANIFEST.write_text(_as_toml(manifest), encoding="utf-8")


def measure(name: str, answer: dict[str, Any]) -> dict[str, str]:
    """Return the hashes of what there is now."""
    return {
        "file_sha256": hashlib.sha256((ROOT / answer["file"]).read_bytes()).hexdigest(),
        "script_sha256": _hash(_code(ROOT / answer["script"])),
        "data_sha256": _hash([(path.name, path.read_text(encoding="utf-8")) for path in data_of(answer["data"])]),
        "features_sha256": _hash(SIGNATURES[name](Sample(answer["data"]))),
    }


def data_of(patterns: Sequence[str]) -> list[Path]:
    """Return the files of data that patterns name."""
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


def _code(path: Path) -> list[str]:
    """Return the lines of a script that do something: not what is said about them, nor where it imports from."""
    source = path.read_text(encoding="utf-8")
    known_names = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_text(node)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = [line.partition("  # ")[0].rstrip() for line in source.splitlines()]
    return [
        one for at, one in enumerate(lines, 1) if at not in known_names and one and not one.lstrip().startswith("#")
    ]


def _is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _as_toml(manifest: dict[str, dict[str, Any]]) -> str:
    head = "# Where fitted weights come from. Written by scripts/weights.py, which says what each part means.\n"
    parts = [
        f"\n[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in answer.items())
        for name, answer in manifest.items()
    ]
    return head + "".join(parts)


# --- what the code makes of a sample ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sample:
    """A few lines of each file that weights were fitted to."""

    patterns: Sequence[str]

    def rows(self) -> Iterator[Any]:
        """Yield the lines of files with one JSON object per line."""
        for path in data_of(self.patterns):
            if path.suffix == ".jsonl":
                yield from map(json.loads, path.read_text(encoding="utf-8").splitlines()[:_EACH])

    def texts(self) -> list[str]:
        """Return the texts of these lines, and of files with one labelled text a line."""
        plain = [path for path in data_of(self.patterns) if path.suffix == ".tsv"]
        lines = [line for path in plain for line in path.read_text(encoding="utf-8").splitlines()[: 10 * _EACH]]
        return [*(line.partition("\t")[2] for line in lines), *(row["text"] for row in self.rows() if "text" in row)]


def _curator(sample: Sample) -> object:
    from memstone.adapters.embed.curator import AGREE, LENGTH, lay_out, list_ids
    from memstone.adapters.embed.local import MODEL_SHA256
    from memstone.language.en.pieces import ABOUT, KINDS, OUTPUTS, WHYS

    encode, rows = _tokenizer().encode, list(sample.rows())
    beside = [
        list_ids(encode(one["new"]), [encode(m["text"]) for m in one["existing"]]) for one in rows if "new" in one
    ]
    alone = [lay_out(one.get("before", ""), one["message"].split(), encode) for one in rows if "message" in one]
    return [MODEL_SHA256, AGREE, LENGTH, KINDS, WHYS, ABOUT, OUTPUTS, beside, alone]


def _relevance_reader(sample: Sample) -> object:
    from memstone.adapters.embed.local import MODEL_SHA256
    from memstone.adapters.embed.pairs import AGREE, DIFFER, pair_ids

    texts = sample.texts()
    encode = _tokenizer().encode
    pairs = [pair_ids(encode(one), encode(other)) for one, other in pairwise(texts)]
    return [MODEL_SHA256, AGREE, DIFFER, pairs]


def _tokenizer() -> Any:
    from memstone.adapters.embed.onnx_model import DATA, WordPiece

    return WordPiece.from_text((DATA / "vocab.txt").read_text(encoding="utf-8"))


def _relevance(sample: Sample) -> object:
    import numpy as np

    from memstone.core.ranking.abstain import word_weights
    from memstone.engine.recall import judge
    from memstone.language.en.english import English
    from memstone.language.en.relevance import memory_forms, question_cues
    from memstone.language.text.bm25 import UNHEARD

    texts, rarity = sample.texts(), {UNHEARD: 6.0, "work": 2.0, "book": 3.0, "sister": 4.0}
    draw = np.random.default_rng(7)
    vectors = [draw.integers(-127, 128, (4, judge.WIDTH)).astype(np.int8).tobytes() for _ in texts]
    asked = [
        judge.JudgedQuestion(one, b"", one.split()[:4], vector, rarity, English().relevance)
        for one, vector in zip(texts, vectors, strict=True)
    ]
    memories = [judge.JudgedMemory(one, 0.4, vector) for one, vector in zip(texts, vectors, strict=True)]
    tables = [
        (judge.build_features(one, memories[:5]) + _OFF_THE_BOUNDARY).round(2).tolist()
        for one in asked
        if len(one.words) == 4  # noqa: PLR2004 - as many as it has vectors
    ]
    wording = [[question_cues(one, rarity), memory_forms(one), word_weights(one.split(), rarity)] for one in texts]
    return [
        judge.SIGNATURE,
        judge.LOOKED_AT,
        tables,
        json.loads(json.dumps(wording), parse_float=lambda x: round(float(x), 4)),
    ]


def _gate(sample: Sample) -> object:
    from memstone.language.en.gate.phrases import own_words_of
    from memstone.language.en.gate.rules import extract_features

    return [sorted(extract_features(own_words_of(text))) for text in sample.texts()]


def _word_basis(_: Sample) -> object:
    from memstone.adapters.embed.local import MODEL_SHA256, WIDTH

    return [MODEL_SHA256, WIDTH]


SIGNATURES: Final[dict[str, Callable[[Sample], object]]] = {
    "curator": _curator,
    "relevance_reader": _relevance_reader,
    "relevance": _relevance,
    "gate": _gate,
    "word_basis": _word_basis,
}
"""By the name in the manifest: what the code makes of a sample, as JSON."""

if __name__ == "__main__":
    sys.exit(main())
