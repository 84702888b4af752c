"""Models in a directory of one's own, with a ``tokenizer.json`` of several kinds."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from memstone.adapters.embed.onnx_model import DATA
from memstone.adapters.embed.own_tokenizer import JsonTokenizer
from memstone.adapters.io.blocking import BlockingIo
from memstone.compose import build_adapter
from memstone.drive import drive
from memstone.errors import ConfigError, MissingExtra
from tests.conformance.test_rerank_vendors import tiny_encoder
from tests.unit.test_local_embedder import tiny_model, vectors_of


def word_piece(*, lowercase: bool = True) -> Tokenizer:
    """Like BERT's."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "Tea", "##s", "green"]
    made = Tokenizer(models.WordPiece({word: at for at, word in enumerate(words)}, unk_token="[UNK]"))  # noqa: S106
    made.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(words[:4])
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def unigram() -> Tokenizer:
    """Like that of XLM-RoBERTa, which pads with 1 and parts two texts by two tokens."""
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁green", -2.0), ("▁te", -3.0), ("a", -3.0)]
    made = Tokenizer(models.Unigram([*pieces, ("▁", -4.0), ("茶", -2.0)], unk_id=3))
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    made.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", "<s> $A </s> </s> $B </s>", [("<s>", 0), ("</s>", 2)]
    )
    made.enable_padding(pad_id=1, pad_token="<pad>", length=64)  # noqa: S106
    made.enable_truncation(4)
    return made


def byte_pairs() -> Tokenizer:
    """Like that of RoBERTa."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: at for at, piece in enumerate(["<s>", "<pad>", "</s>", *letters, "te", "tea"])}
    made = Tokenizer(models.BPE(vocabulary, [("t", "e"), ("te", "a")]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<s>", "<pad>", "</s>"])
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return made


KINDS: dict[str, Callable[[], Tokenizer]] = {"word_piece": word_piece, "unigram": unigram, "byte_pairs": byte_pairs}
every = pytest.mark.parametrize("kind", KINDS)


def read(made: Tokenizer, **options: Any) -> JsonTokenizer:
    return JsonTokenizer(made.to_str().encode(), **options)


@every
@pytest.mark.req("X-20")
def test_ids_are_those_of_the_package_without_its_padding(kind: str) -> None:
    made = KINDS[kind]()
    ours = read(made)
    made.no_padding()
    made.no_truncation()
    for text in ("green tea", "Teas and 茶", "", "half \ud83d"):
        clean = text.encode("utf-8", "replace").decode()
        assert ours.encode(text) == made.encode(clean).ids
        assert len(ours.words(text)) == len(ours.encode(text)) - 2
    pair = made.encode("green", "tea").ids
    first, second = ours.encode("green"), ours.encode("tea")
    assert [*first[:-1], *ours.joint, *second[1:]] == pair


@every
def test_a_long_text_is_cut_and_keeps_its_end(kind: str) -> None:
    ours = read(KINDS[kind](), max_tokens=5)
    long, whole = ours.encode("green tea " * 50), ours.encode("")
    assert (len(long), long[0], long[-1]) == (5, whole[0], whole[-1])
    assert len(ours.words("green tea " * 50)) == 3


def test_words_are_told_for_each_piece() -> None:
    assert read(word_piece()).words("green Teas") == ["green", "teas", "teas"]
    assert read(byte_pairs()).words("tea")[-1] == "tea"


def test_padding_has_the_id_of_the_file() -> None:
    assert [read(made()).pad for made in (word_piece, unigram, byte_pairs)] == [0, 1, 1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.onnx").write_bytes(tiny_model())
    (tmp_path / "tokenizer.json").write_text(word_piece(lowercase=False).to_str())
    return tmp_path


def own(folder: Path, *texts: str, **options: Any) -> Any:
    return vectors_of(*texts, model_dir=folder, model_name="own", **options)


@pytest.mark.req("X-20")
def test_a_cased_model_is_read_as_its_file_says(folder: Path) -> None:
    length = math.sqrt(2**2 + 5**2 + 3**2)
    assert own(folder, "Tea")[0] == pytest.approx([2 / length, 5 / length, 3 / length])
    (folder / "other").mkdir()
    shutil.copy(folder / "model.onnx", folder / "other")
    shutil.copy(DATA / "vocab.txt", folder / "other")
    shutil.copy(folder / "tokenizer.json", folder / "other")
    by_vocab, by_file = own(folder / "other", "Tea"), own(folder / "other", "Tea", tokenizer="tokenizer.json")
    assert by_file[0] == pytest.approx(own(folder, "Tea")[0]), "it is used where it is named"
    assert by_vocab[0] != pytest.approx(by_file[0]), "and vocab.txt where nothing is named"


@pytest.mark.req("X-20")
def test_the_file_is_checked(folder: Path) -> None:
    digest = sha256((folder / "tokenizer.json").read_bytes()).hexdigest()
    assert own(folder, "tea", tokenizer_sha256=digest).shape == (1, 3)
    with pytest.raises(ConfigError, match="is not the expected file"):
        own(folder, "tea", tokenizer_sha256="0" * 64)
    with pytest.raises(ConfigError, match=r"tokenizer_sha256 need a model_dir"):
        build_adapter("embedder", "local", {"tokenizer_sha256": "0" * 64}, BlockingIo())


@pytest.mark.parametrize("content", ["no json", "{}", json.dumps({"model": {"type": "Morse"}})])
def test_a_file_that_is_no_tokenizer_is_an_error_that_says_so(folder: Path, content: str) -> None:
    (folder / "tokenizer.json").write_text(content)
    with pytest.raises(ConfigError, match=r"tokenizer\.json cannot be read"):
        own(folder, "tea")


def test_a_tokenizer_without_tokens_around_a_text_is_refused(folder: Path) -> None:
    bare = word_piece()
    bare.post_processor = processors.TemplateProcessing("$A", "$A $B", [])
    (folder / "tokenizer.json").write_text(bare.to_str())
    with pytest.raises(ConfigError, match="no token before and behind"):
        own(folder, "tea")


def test_without_its_package_the_error_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r"memstone\[tokenizers\]"):
        own(folder, "tea")


@every
@pytest.mark.req("N-41.1")
def test_a_cross_encoder_reads_with_a_file_of_any_kind(kind: str, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(tiny_encoder())
    (tmp_path / "tokenizer.json").write_text(KINDS[kind]().to_str())
    made = build_adapter("reranker", "sentence_transformer", {"model_dir": tmp_path}, BlockingIo())
    ranks = drive(made.rerank("green tea", ["zzz", "green tea"], 5))
    assert ranks[0][0] == 1
    assert ranks[0][1] > ranks[1][1]
