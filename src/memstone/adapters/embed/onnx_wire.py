"""Reads the weights out of an ONNX file, and writes a new one: the few parts of its format that this takes.

Such a file is a protocol buffer: numbered fields, each a number or a counted run of bytes, which may hold fields again.
It is read by somebody who knows it byte for byte, so nothing here expects a broken one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MICROSOFT: Final = "com.microsoft"  # where onnxruntime keeps the operators that ONNX itself lacks
OPSETS: Final = {"": 17, MICROSOFT: 1}
_IR_VERSION: Final = 8
_COUNTED, _FOUR_BYTES = 2, 5  # how a field is to be read; else it is a number
_TYPES: Final = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8", 9: "?"}  # by ONNX's numbers
_NUMBERS: Final = {code: number for number, code in _TYPES.items()}

Piece = bytes | memoryview
Pieces = list[Piece]  # joined once, at the very end: weights are large
Shapes = dict[str, list[str | int]]


def weights(content: bytes) -> dict[str, Array]:
    """The constants of a model by name; they look into the given bytes and copy nothing."""
    graphs = _parts(memoryview(content), 7)
    return dict(_tensor(tensor) for graph in graphs for tensor in _parts(graph, 5))


def _tensor(message: memoryview) -> tuple[str, Array]:
    import numpy as np

    sizes = [size for number, size in _fields(message) if number == 1 and isinstance(size, int)]
    (kind,) = (value for number, value in _fields(message) if number == 2 and isinstance(value, int))  # noqa: PLR2004
    (name,) = _parts(message, 8)
    (numbers,) = _parts(message, 9)
    return name.tobytes().decode(), np.frombuffer(numbers, dtype=_TYPES[kind]).reshape(sizes)


def _parts(message: memoryview, wanted: int) -> Iterator[memoryview]:
    """What is counted in the fields of that number."""
    return (value for number, value in _fields(message) if number == wanted and not isinstance(value, int))


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """Number and content of each field."""
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
    """A number, seven bits a byte and the lowest first, and the place after it."""
    value = shift = 0
    while True:
        byte = message[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:  # noqa: PLR2004 - the eighth bit says that more follows
            return value, place
        shift += 7


class Graph:
    """A model in the making. Nodes stand in the order in which they are computed."""

    def __init__(self) -> None:
        self._nodes: Pieces = []
        self._constants: dict[str, Pieces] = {}

    def constant(self, name: str, value: Array) -> str:
        """Numbers that are part of the model; a name that is known already keeps what it has."""
        import numpy as np

        if name not in self._constants:
            array = np.ascontiguousarray(value)
            shape = [piece for size in value.shape for piece in _number(1, size)]
            kind = _number(2, _NUMBERS[array.dtype.str.lstrip("|")])
            numbers = array.reshape(-1).view("u1").data
            self._constants[name] = [*shape, *kind, *_counted(8, name), *_counted(9, numbers)]
        return name

    def node(self, operator: str, inputs: Sequence[str], *outputs: str, **attributes: float | list[int]) -> str:
        """One step; its first output. An operator of onnxruntime's own is written with its domain before a colon."""
        domain, _, operation = operator.rpartition(":")
        message = [
            *(piece for name in inputs for piece in _counted(1, name)),
            *(piece for name in outputs for piece in _counted(2, name)),
            *_counted(3, outputs[0]),
            *_counted(4, operation),
            *(piece for name, value in attributes.items() for piece in _message(5, _attribute(name, value))),
            *_counted(7, domain),
        ]
        self._nodes += _message(1, message)
        return outputs[0]

    def model(self, inputs: Shapes, outputs: Shapes, *, numbers: Shapes | None = None) -> bytes:
        """The file: whole numbers of the given shapes in, ``numbers`` beside them with a point; such numbers out."""
        given = [("<i8", *one) for one in inputs.items()] + [("<f4", *one) for one in (numbers or {}).items()]
        graph = [
            *self._nodes,
            *_counted(2, "graph"),
            *(piece for tensor in self._constants.values() for piece in _message(5, tensor)),
            *(piece for code, name, shape in given for piece in _message(11, _value(name, code, shape))),
            *(piece for name, shape in outputs.items() for piece in _message(12, _value(name, "<f4", shape))),
        ]
        opsets = ([*_counted(1, domain), *_number(2, version)] for domain, version in OPSETS.items())
        imported = [piece for opset in opsets for piece in _message(8, opset)]
        return b"".join([*_number(1, _IR_VERSION), *_message(7, graph), *imported])


def _attribute(name: str, value: float | list[int]) -> Pieces:
    if isinstance(value, list):
        return [*_counted(1, name), *(piece for one in value for piece in _number(8, one)), *_number(20, 7)]
    if isinstance(value, int):
        return [*_counted(1, name), *_number(3, value), *_number(20, 2)]
    return [*_counted(1, name), _varint(2 << 3 | _FOUR_BYTES), struct.pack("<f", value), *_number(20, 1)]


def _value(name: str, code: str, shape: list[str | int]) -> Pieces:
    sizes = [_counted(2, size) if isinstance(size, str) else _number(1, size) for size in shape]
    dimensions = [piece for size in sizes for piece in _message(1, size)]
    tensor = [*_number(1, _NUMBERS[code]), *_message(2, dimensions)]
    return [*_counted(1, name), *_message(2, _message(1, tensor))]


def _message(field: int, content: Pieces) -> Pieces:
    return [_varint(field << 3 | _COUNTED) + _varint(sum(map(len, content))), *content]


def _counted(field: int, content: str | Piece) -> Pieces:
    return _message(field, [content.encode() if isinstance(content, str) else content])


def _number(field: int, value: int) -> Pieces:
    return [_varint(field << 3) + _varint(value)]


def _varint(value: int) -> bytes:
    value &= 2**64 - 1  # negative numbers are written as their complement of 64 bits
    rest = bytearray()
    while value >= 128:  # noqa: PLR2004 - as above
        rest.append(value & 127 | 128)
        value >>= 7
    return bytes([*rest, value])
