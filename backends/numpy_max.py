"""Max on NumPy, exact, for arrays that lie in the cache, and block by block for larger ones.

16-bit floats are compared as integers, as NumPy has no vector code for them. Wider floats go
through `np.maximum`, whose result is wrong only where it is -0 or NaN: two scans of the result,
while it is in the cache, find the blocks that need repair.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph.dtypes import DType
from .arrays import numpy_dtype
from .blocks import BLOCK_BYTES, Scratch, blocks, flat_or_broadcast, run
from .lowering import FORMATS

Array = Any
Kernel = Callable[[Sequence[Array], Array, Scratch], None]
"""Writes Max of operands that broadcast to the shape of the result. Floats of 16 bits are passed
as int16."""


def max_step(
    dtype: DType, shapes: Sequence[tuple[int, ...]], threads: int
) -> Callable[..., Array]:
    """A function that gives Max of two or more arrays of these shapes."""
    shape = np.broadcast_shapes(*shapes)
    kernel = kernel_of(dtype)
    stored = stored_as(dtype)
    given = numpy_dtype(dtype)
    size = BLOCK_BYTES // dtype.itemsize

    def at_once(*arrays: Array) -> Array:
        out = np.empty(shape, stored)
        if out.size:
            kernel([x.view(stored) for x in arrays], out, Scratch())
        return out.view(given)

    def by_blocks(*arrays: Array) -> Array:
        result = np.empty(shape, stored)
        operands = flat_or_broadcast([x.view(stored) for x in arrays], shape)
        out = result.reshape(operands[0].shape)

        def work(block: Any, scratch: Scratch) -> None:
            parts = [scratch.expanded(f"{i}", x[block]) for i, x in enumerate(operands)]
            kernel(parts, out[block], scratch)

        run(work, blocks(out.shape, size), out, threads)
        return result.view(given)

    return at_once if np.prod(shape) <= size // 4 else by_blocks


def stored_as(dtype: DType) -> Any:
    """The dtype that the kernels see: 16-bit floats are int16 to them."""
    return np.dtype(np.int16) if dtype.is_float and dtype.bits == 16 else numpy_dtype(dtype)


def kernel_of(dtype: DType) -> Kernel:
    """The kernel for arrays of `dtype`."""
    if not dtype.is_float:
        return lambda arrays, out, scratch: fold(np.maximum, arrays, out)
    form = FORMATS[dtype]
    if dtype.bits == 16:
        return lambda arrays, out, scratch: _halves(arrays, out, scratch, form)
    return lambda arrays, out, scratch: _wide(arrays, out, scratch, form)


def fold(function: "np.ufunc", arrays: Sequence[Array], out: Array) -> None:
    """Reduce `arrays` by a binary function, into `out`."""
    function(arrays[0], arrays[1], out)
    for array in arrays[2:]:
        function(out, array, out)


def _wide(arrays: Sequence[Array], out: Array, scratch: Scratch, form: Any) -> None:
    fold(np.maximum, arrays, out)
    bits = out.view(form.integer)
    if np.minimum.reduce(bits, axis=None) == ~form.magnitude:  # a -0, perhaps for a +0
        signs = scratch.empty("signs", out.shape, bits.dtype)
        fold(np.bitwise_and, [x.view(bits.dtype) for x in arrays], signs)
        signs |= form.magnitude  # the maximum is negative only where all operands are
        bits &= signs
    largest = np.maximum.reduce(out, axis=None)
    if largest != largest:
        is_nan = np.not_equal(out, out, out=scratch.empty("mask", out.shape, bool))
        np.copyto(bits, form.quiet_nan, where=is_nan)


def _halves(arrays: Sequence[Array], out: Array, scratch: Scratch, form: Any) -> None:
    # As signed integers the largest bits win, unless all operands are negative: then, as
    # unsigned ones, the smallest. As unsigned ones, too, negative NaNs are the largest.
    unsigned = [x.view(np.uint16) for x in arrays]
    negative_infinity = form.infinity + 2**15
    fold(np.maximum, arrays, out)
    least = scratch.empty("least", out.shape, np.uint16)
    fold(np.minimum, unsigned, least)
    positive = scratch.made("positive", out.shape, lambda: np.full(out.shape, 2**15 - 1, np.uint16))
    np.maximum(least, positive, out=least)  # no bound where an operand is positive
    bits = out.view(np.uint16)
    np.minimum(bits, least, out=bits)
    negative_nan = any([np.maximum.reduce(x, axis=None) > negative_infinity for x in unsigned])
    if negative_nan or np.maximum.reduce(out, axis=None) > form.infinity:
        is_nan = np.greater(out, form.infinity, out=scratch.empty("mask", out.shape, bool))
        if negative_nan:
            fold(np.maximum, unsigned, least)
            is_nan |= least > negative_infinity
        np.copyto(out, form.quiet_nan, where=is_nan)
