"""Max on NumPy, exact, for arrays that lie in the cache, and block by block for larger ones.

16-bit floats are compared as integers, as NumPy has no vector code for them. Wider floats go
through `np.maximum`, whose result is wrong only where it is -0 or NaN: two scans of the result,
while it is in the cache, find the blocks that need repair.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from ..graph.dtypes import DType
from .arrays import numpy_dtype
from .blocks import (
    BLOCK_BYTES,
    SMALL,
    Block,
    Scratch,
    aligned,
    blocks,
    parts,
    run,
    share,
    threads_for,
)
from .lowering import FORMATS

Array = Any
Kernel = Callable[[Sequence[Array], Array, Scratch], None]
"""Writes Max of operands that broadcast to the shape of the result. Floats of 16 bits are passed
as int16."""


_INTEGERS = {4: np.dtype(np.int32), 8: np.dtype(np.int64)}


def max_step(dtype: DType, shapes: Sequence[tuple[int, ...]], threads: int) -> Callable[..., Array]:
    """A function that gives Max of two or more arrays of these shapes."""
    shape = np.broadcast_shapes(*shapes)
    kernel = kernel_of(dtype)
    given = numpy_dtype(dtype)
    stored = stored_as(dtype)
    # Two integers are read and written once: no cache would serve them twice.
    is_one_pass = all(prod(x) > 1 for x in shapes) and not dtype.is_float and len(shapes) == 2
    threads = threads_for(prod(shape), dtype.itemsize, threads, is_one_pass)
    room = BLOCK_BYTES // dtype.itemsize // (1 if len(shapes) == 2 else 2)  # many share the cache
    if is_one_pass:
        room = prod(shape)
    size = share(prod(shape), threads, room)
    is_alike = all(x == shape or prod(x) == 1 for x in shapes)

    def at_once(*arrays: Array) -> Array:
        out = np.empty(shape, stored)
        kernel(viewed(arrays, stored), out, Scratch())
        return out.view(given)

    def wide_at_once(*arrays: Array) -> Array:
        out = np.asarray(reduce(np.maximum, arrays))  # a result of its own costs less than out=
        _repair(arrays, out, Scratch(), form)
        return out

    def by_blocks(*arrays: Array) -> Array:
        out = result = np.empty(shape, stored)
        operands = viewed(arrays, stored)
        if is_alike and all(x.flags.c_contiguous for x in operands):
            out, *operands = (x.reshape(-1) for x in (out, *operands))
        operands = aligned(operands, out.shape)

        def work(block: Block, scratch: Scratch) -> None:
            kernel(parts(operands, block, scratch), out[block], scratch)

        run(work, blocks(out.shape, size), threads)
        return result.view(given)

    if prod(shape) == 0:
        return lambda *arrays: np.empty(shape, given)
    if prod(shape) > SMALL and not (is_one_pass and threads == 1):
        return by_blocks
    form = FORMATS.get(dtype)
    return wide_at_once if form and dtype.bits > 16 else at_once


def stored_as(dtype: DType) -> Any:
    """The dtype that the kernels see: 16-bit floats are int16 to them."""
    return np.dtype(np.int16) if dtype.is_float and dtype.bits == 16 else numpy_dtype(dtype)


def viewed(arrays: Sequence[Array], stored: Any) -> Sequence[Array]:
    """The arrays as their kernels see them."""
    return arrays if arrays[0].dtype == stored else [x.view(stored) for x in arrays]


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
    function(arrays[0], arrays[1], out=out)
    for array in arrays[2:]:
        function(out, array, out=out)


def largest(array: Array) -> Any:
    """The largest element, or a NaN; `argmax` is the fastest scan that NumPy has."""
    if not array.flags.c_contiguous:  # look at repeated elements once
        array = array[tuple([slice(None if stride else 1) for stride in array.strides])]
    return array.item(array.argmax())


def _wide(arrays: Sequence[Array], out: Array, scratch: Scratch, form: Any) -> None:
    fold(np.maximum, arrays, out)
    _repair(arrays, out, scratch, form)


def _repair(arrays: Sequence[Array], out: Array, scratch: Scratch, form: Any) -> None:
    bits = out.view(_INTEGERS[out.itemsize])
    if bits.item(bits.argmin()) == ~form.magnitude:  # a -0, perhaps for a +0
        signs = scratch.empty("signs", out.shape, bits.dtype)
        fold(np.bitwise_and, [x.view(bits.dtype) for x in arrays], signs)
        signs |= form.magnitude  # the maximum is negative only where all operands are
        bits &= signs
    top = largest(out)
    if top != top:
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
    negative_nan = any([largest(x) > negative_infinity for x in unsigned])
    if negative_nan or largest(out) > form.infinity:
        is_nan = np.greater(out, form.infinity, out=scratch.empty("mask", out.shape, bool))
        if negative_nan:
            fold(np.maximum, unsigned, least)
            is_nan |= least > negative_infinity
        np.copyto(out, form.quiet_nan, where=is_nan)
