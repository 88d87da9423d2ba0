"""The contract of Max and Hardmax on bit patterns, in integer arithmetic only.

Arrays in and out hold unsigned integers: the bits of the elements. No float is ever compared, so
nothing here depends on how a library treats NaN, the sign of zero or subnormals.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[Any]

MANTISSA = {"bfloat16": 7, "float16": 10, "float32": 23, "float64": 52}


def width(dtype: str) -> int:
    return int(dtype.lstrip("abcdefghijklmnopqrstuvwxyz"))


def word(dtype: str) -> np.dtype[Any]:
    """The unsigned integer type that holds one element's bits."""
    return np.dtype(f"uint{width(dtype)}")


def sign(dtype: str) -> int:
    return 1 << (width(dtype) - 1)


def infinity(dtype: str) -> int:
    return sign(dtype) - (1 << MANTISSA[dtype])


def nan(dtype: str) -> int:
    """The canonical quiet NaN: positive, the top mantissa bit set, no payload."""
    return infinity(dtype) | 1 << (MANTISSA[dtype] - 1)


def one(dtype: str) -> int:
    """1.0: the exponent's bias, which is all ones but the top bit."""
    return infinity(dtype) >> 1 & infinity(dtype)


def native_bits(array: Bits) -> Bits:
    """The bits of an array of any layout and byte order."""
    order = array.dtype.newbyteorder("=")
    return (
        np.ascontiguousarray(array.astype(order))
        .reshape(array.shape)
        .view(np.dtype(f"uint{8 * order.itemsize}"))
    )


def is_nan(dtype: str, bits: Bits) -> NDArray[np.bool_]:
    magnitude = bits & word(dtype).type(sign(dtype) - 1)
    return np.asarray(magnitude > word(dtype).type(infinity(dtype)))


def ascending(dtype: str, bits: Bits) -> Bits:
    """Unsigned integers in the order of the values, -0 right below +0; undone by `bits_at`."""
    top = word(dtype).type(sign(dtype))
    if dtype.startswith("uint"):
        return bits
    if dtype.startswith("int"):
        return np.asarray(bits ^ top)
    return np.where(bits & top, ~bits, bits | top)


def bits_at(dtype: str, keys: Bits) -> Bits:
    top = word(dtype).type(sign(dtype))
    if dtype.startswith("uint"):
        return keys
    if dtype.startswith("int"):
        return np.asarray(keys ^ top)
    return np.where(keys & top, keys ^ top, ~keys)


def maximum(dtype: str, operands: Sequence[Bits]) -> Bits:
    """ONNX Max: the bits of the result. One operand is returned as it is."""
    if len(operands) == 1:
        return operands[0].copy()
    spread = np.broadcast_arrays(*operands)
    keys = spread[0].copy()
    keys[...] = ascending(dtype, spread[0])
    for bits in spread[1:]:
        larger = ascending(dtype, bits)
        keys = np.where(larger > keys, larger, keys)
    result = bits_at(dtype, keys)
    if dtype in MANTISSA:
        unordered = np.logical_or.reduce([is_nan(dtype, bits) for bits in spread])
        result = np.where(unordered, word(dtype).type(nan(dtype)), result)
    return np.asarray(result, word(dtype))


def hardmax(dtype: str, bits: Bits, axis: int | None = None, opset: int = 13) -> Bits:
    """ONNX Hardmax: one 1.0 where the first NaN is, or else the first maximum; +0 elsewhere."""
    rank = bits.ndim
    axis = (-1 if opset >= 13 else 1) if axis is None else axis
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} of rank {rank}")
    axis %= rank
    if opset < 13:
        rows = int(np.prod(bits.shape[:axis], dtype=np.int64))
        columns = int(np.prod(bits.shape[axis:], dtype=np.int64))
        return hardmax(dtype, bits.reshape(rows, columns), 1).reshape(bits.shape)
    result = np.zeros(bits.shape, word(dtype))
    if bits.size:
        unsigned_zero = np.where(bits == word(dtype).type(sign(dtype)), word(dtype).type(0), bits)
        keys = ascending(dtype, unsigned_zero)
        keys = np.where(is_nan(dtype, bits), word(dtype).type(2 ** width(dtype) - 1), keys)
        largest = np.max(keys, axis=axis, keepdims=True)
        place = np.arange(bits.shape[axis]).reshape([-1] + [1] * (rank - 1 - axis))
        first = np.min(np.where(keys == largest, place, bits.shape[axis]), axis=axis, keepdims=True)
        result[place == first] = one(dtype)
    return result
