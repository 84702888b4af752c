"""Build the network of the built-in model again, so that it computes with the 8-bit weights.

The model's file expands its weights to 32 bits when it is loaded: four times the memory to hold, and to walk through
for every text. Here a product of matrices stays one of whole numbers. What is multiplied with the weights is written as
two numbers of seven bits, a coarse one and a fine one for what the coarse one leaves. Which range these cover follows
from the weights themselves, because what leaves a layer norm has a known length. So nothing can fall outside, and no
text's vector depends on what else is computed with it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    import numpy as np

    Floats = npt.NDArray[np.float32]


# --- reads the weights out of an ONNX file, and writes a new one ------------------------------------------------------


MICROSOFT: Final = "com.microsoft"  # where onnxruntime keeps the operators that ONNX itself lacks
OPSETS: Final = {"": 17, MICROSOFT: 1}
_IR_VERSION: Final = 8
_COUNTED, _FOUR_BYTES = 2, 5  # how a field is to be read; else it is a number
_TYPES: Final = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 9: "?"}  # by ONNX's numbers
_NUMBERS: Final = {code: number for number, code in _TYPES.items()}

Piece = bytes | memoryview
Pieces = list[Piece]  # joined once, at the very end: weights are large
Shapes = dict[str, list[str | int]]


def read_weights(content: bytes) -> dict[str, Array]:
    """Return the constants of a model by name; they look into the given bytes and copy nothing."""
    graphs = _iter_bytes_fields(memoryview(content), 7)
    return dict(_parse_tensor(tensor) for graph in graphs for tensor in _iter_bytes_fields(graph, 5))


def _parse_tensor(message: memoryview) -> tuple[str, Array]:
    import numpy as np

    sizes = [size for number, size in _iter_fields(message) if number == 1 and isinstance(size, int)]
    (kind,) = (value for number, value in _iter_fields(message) if number == 2 and isinstance(value, int))  # noqa: PLR2004
    (name,) = _iter_bytes_fields(message, 8)
    (numbers,) = _iter_bytes_fields(message, 9)
    return name.tobytes().decode(), np.frombuffer(numbers, dtype=_TYPES[kind]).reshape(sizes)


def _iter_bytes_fields(message: memoryview, wanted: int) -> Iterator[memoryview]:
    """Return what is counted in the fields of that number."""
    return (value for number, value in _iter_fields(message) if number == wanted and not isinstance(value, int))


def _iter_fields(message: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Yield the number and the content of each field."""
    place = 0
    while place < len(message):
        key, place = _varint_at(message, place)
        value, place = _varint_at(message, place)
        if key & 7 == _COUNTED:
            yield key >> 3, message[place : place + value]
            place += value
        else:
            yield key >> 3, value


def _varint_at(message: memoryview, place: int) -> tuple[int, int]:
    """Return a number, seven bits a byte and the lowest first, and the place after it."""
    value = shift = 0
    while True:
        byte = message[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:  # noqa: PLR2004 - the eighth bit says that more follows
            return value, place
        shift += 7


class OnnxGraph:
    """A model in the making. Nodes are in the order in which they are computed."""

    def __init__(self) -> None:
        self._nodes: Pieces = []
        self._constants: dict[str, Pieces] = {}

    def constant(self, name: str, value: Array) -> str:
        """Add numbers that are part of the model, and return their name; a name that is known keeps what it has."""
        import numpy as np

        if name not in self._constants:
            array = np.ascontiguousarray(value)
            shape = [piece for size in value.shape for piece in _encode_number(1, size)]
            kind = _encode_number(2, _NUMBERS[array.dtype.str.lstrip("|")])
            numbers = array.reshape(-1).view("u1").data
            self._constants[name] = [*shape, *kind, *_encode_bytes(8, name), *_encode_bytes(9, numbers)]
        return name

    def node(self, operator: str, inputs: Sequence[str], *outputs: str, **attributes: float | list[int]) -> str:
        """Add one step, and return its first output.

        An operator of onnxruntime's own is written with its domain before a colon.
        """
        domain, _, operation = operator.rpartition(":")
        message = [
            *(piece for name in inputs for piece in _encode_bytes(1, name)),
            *(piece for name in outputs for piece in _encode_bytes(2, name)),
            *_encode_bytes(3, outputs[0]),
            *_encode_bytes(4, operation),
            *(
                piece
                for name, value in attributes.items()
                for piece in _encode_message(5, _encode_attribute(name, value))
            ),
            *_encode_bytes(7, domain),
        ]
        self._nodes += _encode_message(1, message)
        return outputs[0]

    def model(self, inputs: Shapes, outputs: Shapes, *, numbers: Shapes | None = None) -> bytes:
        """Return the file of the model.

        It takes whole numbers of the given shapes, with ``numbers`` beside them with a point, and gives such numbers.
        """
        items = [("<i8", *one) for one in inputs.items()] + [("<f4", *one) for one in (numbers or {}).items()]
        graph = [
            *self._nodes,
            *_encode_bytes(2, "graph"),
            *(piece for tensor in self._constants.values() for piece in _encode_message(5, tensor)),
            *(
                piece
                for code, name, shape in items
                for piece in _encode_message(11, _encode_value_info(name, code, shape))
            ),
            *(
                piece
                for name, shape in outputs.items()
                for piece in _encode_message(12, _encode_value_info(name, "<f4", shape))
            ),
        ]
        opsets = ([*_encode_bytes(1, domain), *_encode_number(2, version)] for domain, version in OPSETS.items())
        imported = [piece for opset in opsets for piece in _encode_message(8, opset)]
        return b"".join([*_encode_number(1, _IR_VERSION), *_encode_message(7, graph), *imported])


def _encode_attribute(name: str, value: float | list[int]) -> Pieces:
    if isinstance(value, list):
        return [
            *_encode_bytes(1, name),
            *(piece for one in value for piece in _encode_number(8, one)),
            *_encode_number(20, 7),
        ]
    if isinstance(value, int):
        return [*_encode_bytes(1, name), *_encode_number(3, value), *_encode_number(20, 2)]
    return [
        *_encode_bytes(1, name),
        _encode_varint(2 << 3 | _FOUR_BYTES),
        struct.pack("<f", value),
        *_encode_number(20, 1),
    ]


def _encode_value_info(name: str, code: str, shape: list[str | int]) -> Pieces:
    sizes = [_encode_bytes(2, size) if isinstance(size, str) else _encode_number(1, size) for size in shape]
    dimensions = [piece for size in sizes for piece in _encode_message(1, size)]
    tensor = [*_encode_number(1, _NUMBERS[code]), *_encode_message(2, dimensions)]
    return [*_encode_bytes(1, name), *_encode_message(2, _encode_message(1, tensor))]


def _encode_message(field: int, content: Pieces) -> Pieces:
    return [_encode_varint(field << 3 | _COUNTED) + _encode_varint(sum(map(len, content))), *content]


def _encode_bytes(field: int, content: str | Piece) -> Pieces:
    return _encode_message(field, [content.encode() if isinstance(content, str) else content])


def _encode_number(field: int, value: int) -> Pieces:
    return [_encode_varint(field << 3) + _encode_varint(value)]


def _encode_varint(value: int) -> bytes:
    value &= 2**64 - 1  # negative numbers are written as their complement of 64 bits
    rest = bytearray()
    while value >= 128:  # noqa: PLR2004 - as above
        rest.append(value & 127 | 128)
        value >>= 7
    return bytes([*rest, value])


# --- build the network ------------------------------------------------------------------------------------------------


_LAYERS: Final = 6
_HEADS: Final = 12
_EPSILON: Final = 1e-12
_MASKED: Final = -3.4028234663852886e38
# Seven bits and not eight: processors that add products in pairs of 16 bits then have room for them.
_STEPS: Final = 63
_ZERO: Final = 64
_ROUNDING: Final = 1.001  # the ranges are worked out in 32 bits
_GELU_BELOW: Final = 0.17  # what is above zero it lets pass, of what is below no more than this
_EMBEDDINGS: Final = "inner.embeddings."
PARTS: Final = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
"""The products of a layer, in their order."""


class Linear(NamedTuple):
    """A layer of weights: what goes in times ``weights`` times the ``scale`` of the column, plus ``bias``."""

    weights: npt.NDArray[np.int8]
    scale: Floats
    bias: Floats

    def beside(self, other: Linear) -> Linear:
        """Return both as one layer with the outputs of the first before those of the second."""
        import numpy as np

        return Linear(
            np.concatenate([self.weights, other.weights], axis=1),
            np.concatenate([self.scale, other.scale]),
            np.concatenate([self.bias, other.bias]),
        )


class Norm(NamedTuple):
    """A layer norm: it scales each row to mean 0 and variance 1, then multiplies by ``gain`` and adds ``bias``."""

    gain: Floats
    bias: Floats

    def reach(self) -> float:
        """Return how far from zero what leaves it can be: at most, one number alone carries the whole variance."""
        import numpy as np

        return float((np.abs(self.gain) * np.sqrt(len(self.gain) - 1) + np.abs(self.bias)).max()) * _ROUNDING

    def range_through(self, layer: Linear) -> tuple[float, float]:
        """Return the bounds of what leaves a layer after it (Cauchy and Schwarz's inequality)."""
        import numpy as np

        columns, width = layer.weights.astype(np.float32), len(self.gain)
        # Not as products of matrices, whose threads wait for each other longer than this takes.
        mean = np.einsum("k,kn->n", self.gain, columns) / width
        squares = np.einsum("k,kn,kn->n", self.gain**2, columns, columns)
        spread = layer.scale * np.sqrt(width * (squares - width * mean**2))
        middle = layer.scale * np.einsum("k,kn->n", self.bias, columns) + layer.bias
        return float((middle - spread).min()) * _ROUNDING, float((middle + spread).max()) * _ROUNDING


class Network:
    """The weights of the built-in model by their place in it, out of its file given byte for byte."""

    layers = _LAYERS

    def __init__(self, content: bytes) -> None:
        self._known = read_weights(content)
        # The products have no speaking names, but are in the order of the network.
        self._products = [name[:-2] for name in self._known if name.startswith("val_") and name.endswith("_q")]

    def words(self) -> tuple[npt.NDArray[np.int8], Floats]:
        """Return a row for each token, in 8 bits, and what each row is multiplied with."""
        table = f"{_EMBEDDINGS}word_embeddings.weight_"
        return self._known[table + "q"], self._known[table + "scale"]

    def places(self) -> Floats:
        """Return what is added to the first token, the second, and so on."""
        table = f"{_EMBEDDINGS}position_embeddings.weight_"
        rows: Floats = self._known[table + "q"] * self._known[table + "scale"]
        return rows

    def types(self) -> Floats:
        """Return what is added to the tokens of a first text, and to those of a second."""
        return self._known[_EMBEDDINGS + "token_type_embeddings.weight"]

    def first_norm(self) -> Norm:
        """Return the norm before the first layer."""
        return self._norm(_EMBEDDINGS + "LayerNorm")

    def norms(self, layer: int) -> tuple[Norm, Norm]:
        """Return the norms of a layer: after the attention, and after all."""
        name = f"inner.encoder.layer.{layer}."
        return self._norm(name + "attention.output.LayerNorm"), self._norm(name + "output.LayerNorm")

    def linear(self, layer: int, place: int) -> Linear:
        """Return the weights of a layer at a place of ``PARTS``."""
        product = self._products[layer * len(PARTS) + place]
        scale = self._known[product + "_scale"].reshape(-1)
        bias = self._known[f"inner.encoder.layer.{layer}.{PARTS[place]}.bias"]
        return Linear(self._known[product + "_q"], scale, bias)

    def _norm(self, name: str) -> Norm:
        return Norm(self._known[name + ".weight"], self._known[name + ".bias"])


def rewrite_model(content: bytes) -> bytes:
    """Return the built-in model's file, given byte for byte, as one that computes the same in 8 bits."""
    return _Writer(Network(content)).of_ids()


def of_rows(network: Network, *, once: bool = False) -> bytes:
    """Return a model that is given the rows of all tokens, before the first norm, and not their ids.

    Multiplying ``once`` takes half the time. What is multiplied is then one number of seven bits, of a range that every
    token has for itself: coarser, but again no text depends on what else is computed with it.
    """
    return _Writer(network, once=once).of_rows()


class _Writer:
    def __init__(self, network: Network, *, once: bool = False) -> None:
        self._network, self._once = network, once
        self._width = len(network.first_norm().gain)
        self._graph = OnnxGraph()

    def of_ids(self) -> bytes:
        self._graph.node("Shape", ["input_ids"], "shape")
        self._layers(self._write_embedding())
        return self._graph.model(
            {"input_ids": ["texts", "tokens"], "attention_mask": ["texts", "tokens"]},
            {"last_hidden_state": ["texts", "tokens", self._width]},
        )

    def of_rows(self) -> bytes:
        self._graph.node("Shape", ["rows"], "shape", start=0, end=2)
        self._layers(self._flat("first", "rows"))
        every: list[str | int] = ["texts", "tokens", self._width]
        return self._graph.model({"attention_mask": every[:2]}, {"last_hidden_state": every}, numbers={"rows": every})

    def _layers(self, embedded: str) -> None:
        import numpy as np

        self._graph.node("Cast", ["attention_mask"], "mask", to=6)
        self._graph.constant("zero", np.array(_ZERO, dtype=np.uint8))
        norm = self._network.first_norm()
        rows = self._write_layer_norm("embedded", embedded, norm)
        for number in range(self._network.layers):
            rows, norm = self._layer(number, rows, norm)
        self._write_reshape("last_hidden_state", rows, self._width)

    def _write_embedding(self) -> str:
        """Return the rows of all tokens, one below the other. Only the words that occur are expanded."""
        import numpy as np

        graph = self._graph
        words, scales = self._network.words()
        graph.node("Gather", [graph.constant("words_q", words), "input_ids"], "word_q", axis=0)
        graph.node("Gather", [graph.constant("words_scale", scales), "input_ids"], "word_scale", axis=0)
        graph.node("Cast", ["word_q"], "word_f", to=1)
        graph.node("Mul", ["word_f", "word_scale"], "word")
        # Every text is one of a single part, the first.
        graph.constant("places", self._network.places() + self._network.types()[0])
        graph.constant("start", np.array([0], dtype=np.int64))
        graph.node("Shape", ["input_ids"], "tokens", start=1, end=2)
        graph.node("Slice", ["places", "start", "tokens", "start"], "place")
        graph.node("Add", ["word", "place"], "placed")
        return self._flat("rows", "placed")

    def _layer(self, number: int, rows: str, norm: Norm) -> tuple[str, Norm]:
        at = f"layer{number}."
        query, key, value, merge, widen, narrow = (self._network.linear(number, place) for place in range(len(PARTS)))
        middle, last = self._network.norms(number)
        heads = self._heads(at, rows, norm.reach(), query.beside(key).beside(value))
        attended = self._write_residual(at + "merged", heads, max(map(abs, norm.range_through(value))), merge, rows)
        between = self._write_layer_norm(at + "between", attended, middle)
        wide = self._product(at + "wide", between, middle.reach(), widen)
        active = self._graph.node(f"{MICROSOFT}:Gelu", [wide], at + "active")
        _, highest = middle.range_through(widen)
        narrowed = self._write_residual(at + "narrow", active, max(highest, _GELU_BELOW), narrow, between)
        return self._write_layer_norm(at + "rows", narrowed, last), last

    def _heads(self, at: str, rows: str, reach: float, layer: Linear) -> str:
        """Return every token with what it takes from the others of its text."""
        import numpy as np

        graph = self._graph
        width = layer.weights.shape[0]
        by_text = self._write_reshape(at + "by_text", self._product(at + "asked", rows, reach, layer), 3 * width)
        thirds = graph.constant("thirds", np.array([width] * 3, dtype=np.int64))
        split = [at + part for part in ("query", "key", "value")]
        graph.node("Split", [by_text, thirds], *split, axis=2)
        options = {"num_heads": _HEADS, "mask_filter_value": _MASKED}
        graph.node(f"{MICROSOFT}:MultiHeadAttention", [*split, "", "mask"], at + "seen", **options)
        return self._flat(at + "heads", at + "seen")

    def _write_residual(self, at: str, rows: str, reach: float, layer: Linear, before: str) -> str:
        """Return what leaves the layer, and what was there before it."""
        return self._graph.node("Add", [self._product(at + ".out", rows, reach, layer), before], at)

    def _product(self, at: str, rows: str, reach: float, layer: Linear) -> str:
        """Return what leaves the layer."""
        if self._once:
            return self._product_once(at, rows, layer)
        return self._graph.node("Add", self._both_products(at, rows, reach, layer), at)

    def _product_once(self, at: str, rows: str, layer: Linear) -> str:
        import numpy as np

        graph = self._graph
        one = graph.constant("one", np.array(1, np.float32))
        steps = graph.constant("steps", np.array(1 / _STEPS, np.float32))
        graph.node("Abs", [rows], at + ".size")
        graph.node("ReduceMax", [at + ".size"], at + ".most", axes=[-1], keepdims=1)
        graph.node("Mul", [at + ".most", steps], at + ".step")
        graph.node("Div", [rows, at + ".step"], at + ".even")
        graph.node("QuantizeLinear", [at + ".even", one, "zero"], at + ".coarse")
        matrix, scale = graph.constant(at + ".weights", layer.weights), graph.constant(at + ".scale", layer.scale)
        multiply = f"{MICROSOFT}:MatMulIntegerToFloat"
        graph.node(multiply, [at + ".coarse", matrix, one, scale, "zero"], at + ".first")
        graph.node("Mul", [at + ".first", at + ".step"], at + ".sized")
        return graph.node("Add", [at + ".sized", graph.constant(at + ".bias", layer.bias)], at)

    def _both_products(self, at: str, rows: str, reach: float, layer: Linear) -> tuple[str, str]:
        """Return two parts of what leaves the layer; it is their sum."""
        import numpy as np

        graph = self._graph
        step = graph.constant(at + ".step", np.array(reach / _STEPS, dtype=np.float32))
        small = graph.constant(at + ".small", np.array(reach / _STEPS / (2 * _STEPS), dtype=np.float32))
        graph.node("QuantizeLinear", [rows, step, "zero"], at + ".coarse")
        graph.node("DequantizeLinear", [at + ".coarse", step, "zero"], at + ".near")
        graph.node("Sub", [rows, at + ".near"], at + ".rest")
        graph.node("QuantizeLinear", [at + ".rest", small, "zero"], at + ".fine")
        matrix, scale = graph.constant(at + ".weights", layer.weights), graph.constant(at + ".scale", layer.scale)
        bias = graph.constant(at + ".bias", layer.bias)
        multiply = f"{MICROSOFT}:MatMulIntegerToFloat"
        coarse = graph.node(multiply, [at + ".coarse", matrix, step, scale, "zero", "", bias], at + ".first")
        return coarse, graph.node(multiply, [at + ".fine", matrix, small, scale, "zero"], at + ".second")

    def _write_layer_norm(self, at: str, rows: str, norm: Norm) -> str:
        gain, bias = self._graph.constant(at + ".gain", norm.gain), self._graph.constant(at + ".bias", norm.bias)
        return self._graph.node("LayerNormalization", [rows, gain, bias], at, axis=-1, epsilon=_EPSILON)

    def _flat(self, at: str, by_text: str) -> str:
        import numpy as np

        shape = self._graph.constant("flat", np.array([-1, self._width], dtype=np.int64))
        return self._graph.node("Reshape", [by_text, shape], at)

    def _write_reshape(self, at: str, rows: str, width: int) -> str:
        import numpy as np

        self._graph.constant(f"width{width}", np.array([width], dtype=np.int64))
        shape = self._graph.node("Concat", ["shape", f"width{width}"], at + ".shape", axis=0)
        return self._graph.node("Reshape", [rows, shape], at)
