"""Tensors of a model as bytes, and back; sizes are checked before anything is allocated."""

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto

from ..graph.dtypes import DType
from ..graph.types import TensorType
from .errors import OnnxError
from .external import read_external

ELEMENT_TYPES: dict[DType, int] = {
    DType.BFLOAT16: TensorProto.BFLOAT16,
    DType.FLOAT16: TensorProto.FLOAT16,
    DType.FLOAT32: TensorProto.FLOAT,
    DType.FLOAT64: TensorProto.DOUBLE,
    **{DType(name.lower()): getattr(TensorProto, name) for name in (
        "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"
    )},
}  # fmt: skip
DTYPES = {number: dtype for dtype, number in ELEMENT_TYPES.items()}

_MOST_AXES = 64  # of a NumPy array
_MOST_BYTES = 2**63
# Where each dtype's elements are without raw_data, and as what (onnx.proto, TensorProto).
_FIELDS = {
    DType.FLOAT32: ("float_data", "<f4"),
    DType.FLOAT64: ("double_data", "<f8"),
    DType.INT64: ("int64_data", "<i8"),
    DType.UINT32: ("uint64_data", "<u4"),
    DType.UINT64: ("uint64_data", "<u8"),
    DType.BFLOAT16: ("int32_data", "<u2"),
    DType.FLOAT16: ("int32_data", "<u2"),
    **{DType(name): ("int32_data", np.dtype(name).newbyteorder("<").str) for name in (
        "int8", "int16", "int32", "uint8", "uint16"
    )},
}  # fmt: skip


def element_type(number: int, what: str) -> DType:
    """The dtype of an ONNX element type.

    Raises:
        OnnxError: it is none of the twelve.
    """
    if number in DTYPES:
        return DTYPES[number]
    raise OnnxError(
        f"{what} has element type {element_name(number)}, which Max and Hardmax do not take.",
        f"They take {', '.join(DType)}.",
    )


def element_name(number: int) -> str:
    """The name of an ONNX element type, or its number."""
    names: dict[int, str] = {n: name.lower() for name, n in TensorProto.DataType.items()}
    return names.get(number, str(number))


def decode(tensor: TensorProto, what: str, folder: Path | None) -> tuple[bytes, TensorType]:
    """The elements of a tensor, little-endian in C order, and its type.

    Raises:
        OnnxError: dtype, shape and data do not fit together, or external data cannot be had.
    """
    dtype = element_type(tensor.data_type, what)
    shape = tuple(tensor.dims)
    count = checked_count(shape, dtype, what)
    if tensor.HasField("segment"):
        raise OnnxError(f"{what} is stored in segments.", "Save it in one piece.")
    if tensor.data_location == TensorProto.EXTERNAL:
        data = read_external(tensor, what, folder, count * dtype.itemsize)
    elif tensor.HasField("raw_data"):
        data = tensor.raw_data
        if len(data) != count * dtype.itemsize:
            raise _mismatch(what, shape, dtype, f"{len(data)} bytes")
    else:
        data = _from_field(tensor, what, shape, dtype, count)
    return data, TensorType(dtype, shape)


def _from_field(
    tensor: TensorProto, what: str, shape: tuple[int, ...], dtype: DType, count: int
) -> bytes:
    name, form = _FIELDS[dtype]
    elements: Sequence[Any] = getattr(tensor, name)
    if len(elements) != count:
        raise _mismatch(what, shape, dtype, f"{len(elements)} elements in {name}")
    if dtype.is_float and form != "<u2":
        return np.array(elements, form).tobytes()
    wide = np.array(elements, np.uint64 if name == "uint64_data" else np.int64)
    narrow = wide.astype(form)
    if not np.array_equal(narrow.astype(wide.dtype), wide):
        raise OnnxError(f"{what} has elements in {name} that do not fit {dtype}.", "Save it again.")
    return narrow.tobytes()


def checked_count(shape: Sequence[int], dtype: DType, what: str) -> int:
    """How many elements an array of `shape` has; nothing is allocated.

    Raises:
        OnnxError: no array can have that shape.
    """
    size = _MOST_BYTES  # what many axes would multiply to is not computed
    if len(shape) <= _MOST_AXES and all(dim >= 0 for dim in shape):
        size = prod(dim for dim in shape if dim) * dtype.itemsize
    if size >= _MOST_BYTES:
        shown = ", ".join(map(str, shape[:8])) + (", ..." if len(shape) > 8 else "")
        raise OnnxError(f"{what} declares the shape [{shown}], which no array has.", "Correct it.")
    return prod(shape)


def encode(name: str, data: bytes, type_: TensorType) -> TensorProto:
    """A tensor from its elements, little-endian in C order."""
    assert type_.dtype is not None
    assert type_.shape is not None
    dims: Any = type_.shape
    return TensorProto(name=name, data_type=ELEMENT_TYPES[type_.dtype], dims=dims, raw_data=data)


def _mismatch(what: str, shape: tuple[int, ...], dtype: DType, found: str) -> OnnxError:
    return OnnxError(
        f"{what} is declared {TensorType(dtype, shape)}, and its data has {found}.",
        "The model is damaged, or its shape is wrong: save it again.",
    )
