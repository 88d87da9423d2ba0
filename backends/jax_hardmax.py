"""Hardmax on JAX: the shared lowering, in the forms that XLA's CPU compiler is fast at.

Only `max` and `min` of integers reduce, never `argmax`: XLA splits those over devices by combining
the parts, they hold in a caller's trace of 32 bits, and they are exact.
"""

from math import prod
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax

from ..graph.dtypes import DType
from . import lowering

if TYPE_CHECKING:
    from .base import Backend

Array = Any


def hardmax(backend: "Backend", array: Array, axes: tuple[int, ...], dtype: DType) -> Array:
    """1 at the first maximum of each slice along `axes`, 0 elsewhere; a NaN is a maximum."""
    if 0 in array.shape:
        return jnp.zeros_like(array)
    size = prod(array.shape[axis] for axis in axes)
    if not isinstance(size, int):
        (axis,) = axes
        return lowering.hardmax(backend, array, axis, dtype)
    key = lowering.numeric_order(backend, array, dtype)
    index = _index(array.shape, axes, jnp.int32 if size < 2**31 else jnp.int64)
    if dtype.bits == 16 and size <= 2**16:
        # One reduction instead of two: of equal keys, the one with the lowest index is largest.
        packed = (key.astype(jnp.int32) << 16) | (size - 1 - index)
        first = size - 1 - (packed.max(axes, keepdims=True) & (2**16 - 1))
    else:
        largest = _apart(key.max(axes, keepdims=True))
        first = jnp.where(key == largest, index, size).min(axes, keepdims=True)
    is_first = (index == _apart(first)) & _everywhere(array)
    return is_first.astype(array.dtype)


def _index(shape: tuple[int, ...], axes: tuple[int, ...], dtype: Any) -> Array:
    """The place of each element in its slice, in C order."""
    index, stride = jnp.zeros((), dtype), 1
    for axis in reversed(axes):
        index = index + lax.broadcasted_iota(dtype, shape, axis) * stride
        stride *= shape[axis]
    return index


def _apart(reduced: Array) -> Array:
    # XLA would fuse a reduction of short rows into its use, and repeat it for each element.
    return lax.optimization_barrier(reduced)  # type: ignore[no-untyped-call]


def _everywhere(array: Array) -> Array:
    # True; but as it hangs on the operand, the result lies on the devices that the operand lies on.
    return (lax.bitcast_convert_type(array, f"int{8 * array.dtype.itemsize}") | 1) != 0
