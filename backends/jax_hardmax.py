"""Hardmax on JAX: the shared lowering, in the forms that XLA's CPU compiler is fast at.

Only `max` and `min` of integers reduce, never `argmax`: XLA splits those over devices by combining
the parts, they hold in a caller's trace of 32 bits, and they are exact.
"""

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax

from ..graph.dtypes import DType
from . import lowering

if TYPE_CHECKING:
    from .base import Backend

Array = Any


def hardmax(backend: "Backend", array: Array, axis: int, dtype: DType) -> Array:
    """1 at the first maximum of each slice along `axis`, 0 elsewhere; a NaN is a maximum."""
    size = array.shape[axis]
    if not isinstance(size, int) or 0 in array.shape:
        return lowering.hardmax(backend, array, axis, dtype)
    key = lowering.numeric_order(backend, array, dtype)
    index_dtype = jnp.int32 if size < 2**31 else jnp.int64
    index = lax.broadcasted_iota(index_dtype, array.shape, axis)
    if dtype.bits == 16 and size <= 2**16:
        # One reduction instead of two: of equal keys, the one with the lowest index is largest.
        packed = (key.astype(jnp.int32) << 16) | (size - 1 - index)
        first = size - 1 - (packed.max(axis, keepdims=True) & (2**16 - 1))
    else:
        largest = _apart(key.max(axis, keepdims=True))
        first = jnp.where(key == largest, index, size).min(axis, keepdims=True)
    return (index == _apart(first)).astype(array.dtype)


def _apart(reduced: Array) -> Array:
    # XLA would fuse a reduction of short rows into its use, and repeat it for each element.
    return lax.optimization_barrier(reduced)  # type: ignore[no-untyped-call]
