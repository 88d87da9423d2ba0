"""Hardmax on JAX: the shared lowering, in the forms that XLA's CPU compiler is fast at.

Where a process has several devices, an operand may be split over them, and a trace cannot know:
there, only `max` and `min` of integers reduce, which XLA splits by combining the parts. Never
`argmax`, which it does not split, and which a caller's trace of 32 bits does not hold.
"""

from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..graph.dtypes import DType
from . import lowering

if TYPE_CHECKING:
    from .base import Backend

Array = Any

SLICES = 8
"""Parts of a long axis whose maximum is taken element by element. More, and XLA stores what it
reads; with one, it stores it as well."""
LONG = 64
"""Elements of an axis that is worth cutting into slices."""


def hardmax(backend: "Backend", array: Array, axes: tuple[int, ...], dtype: DType) -> Array:
    """1 at the first maximum of each slice along `axes`, 0 elsewhere; a NaN is a maximum."""
    if 0 in array.shape:
        return jnp.zeros_like(array)
    size = prod(array.shape[axis] for axis in axes)
    if not isinstance(size, int):
        (axis,) = axes
        return lowering.hardmax(backend, array, axis, dtype)

    def first_in(x: Array, is_whole: bool) -> Array:
        key = lowering.numeric_order(backend, x, dtype)
        index = _index(x.shape, axes, jnp.int32 if size < 2**31 else jnp.int64)
        find = _first_of_whole if is_whole else _first
        return index == _apart(find(key, index, size, axes))

    def on_cpu(x: Array) -> Array:
        return _ones(first_in(x, True), x)

    def anywhere(x: Array) -> Array:
        return _ones(first_in(x, False) & _everywhere(x), x)

    if jax.device_count() > 1:
        return anywhere(array)
    return lax.platform_dependent(array, cpu=on_cpu, default=anywhere)


def _first(key: Array, index: Array, size: int, axes: tuple[int, ...]) -> Array:
    """The first index of the largest key of each slice."""
    if _fits_a_word(key, size):
        packed = _packed(key, size - 1 - index, jnp.int32)
        return size - 1 - _second(packed.max(axes, keepdims=True))
    largest = _apart(key.max(axes, keepdims=True))
    return jnp.where(key == largest, index, size).min(axes, keepdims=True)


def _first_of_whole(key: Array, index: Array, size: int, axes: tuple[int, ...]) -> Array:
    """The same of an operand that is not split over devices."""
    if key.dtype.itemsize < 8 and size < 2**31:
        word = jnp.int32 if _fits_a_word(key, size) else jnp.int64
        packed = _shortened(jnp.maximum, _packed(key, size - 1 - index, word), axes)
        return size - 1 - _second(packed.max(axes, keepdims=True)).astype(index.dtype)
    if axes[-1] == key.ndim - 1:
        return _first_of_pairs(key, index, axes)
    largest = _apart(_shortened(jnp.maximum, key, axes).max(axes, keepdims=True))
    candidates = jnp.where(key == largest, index, size)
    return _shortened(jnp.minimum, candidates, axes).min(axes, keepdims=True)


def _fits_a_word(key: Array, size: int) -> bool:
    return key.dtype.itemsize == 2 and size <= 2**16


def _packed(key: Array, second: Array, word: Any) -> Array:
    # One reduction instead of two: of equal keys, the one with the largest second half wins.
    half = np.dtype(word).itemsize * 4
    return (key.astype(word) << half) | second.astype(word)


def _second(packed: Array) -> Array:
    return packed & (2 ** (packed.dtype.itemsize * 4) - 1)


def _shortened(function: Any, array: Array, axes: tuple[int, ...]) -> Array:
    """An array that reduces to the same along the axes, but is shorter where it was long.

    XLA's CPU compiler stores what it reduces; what it combines element by element it need not.
    """
    size = array.shape[axes[0]]
    if len(axes) > 1 or size < LONG:
        return array

    def part(start: int, stop: int) -> Array:
        return lax.slice_in_dim(array, start, stop, axis=axes[0])

    step = size // SLICES
    slices = [part(i * step, (i + 1) * step) for i in range(SLICES)]
    return jnp.concatenate([reduce(function, slices), part(SLICES * step, size)], axes[0])


def _first_of_pairs(key: Array, index: Array, axes: tuple[int, ...]) -> Array:
    def better(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
        is_other = (other[0] > one[0]) | ((other[0] == one[0]) & (other[1] < one[1]))
        return lax.select(is_other, other[0], one[0]), lax.select(is_other, other[1], one[1])

    least = (
        np.array(np.iinfo(key.dtype).min, key.dtype),
        np.array(np.iinfo(index.dtype).max, index.dtype),
    )
    first: Array = lax.reduce((key, index), least, better, axes)[1]
    return lax.expand_dims(first, axes)


def _index(shape: tuple[int, ...], axes: tuple[int, ...], dtype: Any) -> Array:
    """The place of each element in its slice, in C order."""
    index, stride = jnp.zeros((), dtype), 1
    for axis in reversed(axes):
        index = index + lax.broadcasted_iota(dtype, shape, axis) * stride
        stride *= shape[axis]
    return index


def _ones(is_first: Array, array: Array) -> Array:
    # Chosen as bits: XLA's CPU compiler has no vector code that converts to bfloat16.
    one = np.ones((), array.dtype).view(f"int{8 * array.dtype.itemsize}")
    return lax.bitcast_convert_type(jnp.where(is_first, one, one & 0), array.dtype)


def _apart(reduced: Array) -> Array:
    # XLA would fuse a reduction of short rows into its use, and repeat it for each element.
    return lax.optimization_barrier(reduced)  # type: ignore[no-untyped-call]


def _everywhere(array: Array) -> Array:
    # True; but as it hangs on the operand, the result lies on the devices that the operand lies on.
    return (lax.bitcast_convert_type(array, f"int{8 * array.dtype.itemsize}") | 1) != 0
