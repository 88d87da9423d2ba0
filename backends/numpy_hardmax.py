"""Hardmax on NumPy: the index of each first maximum, then one 1 written at each.

A block holds whole slices, seen as (outer, n, inner). Where `inner` is long, a reduction and a
comparison run along it at full speed; short rows are transposed to that form first; long rows are
what `argmax` is fast at. Ties and NaNs cost the same as other data: the first of several maxima is
found by a second reduction, over one byte for each element.
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
from .lowering import FORMATS, Format
from .numpy_max import fold, stored_as

Array = Any

SHORT = 64
"""Rows below this length are transposed, and inner axes below it are not worth reducing along."""
ROWS = 64
"""How much of a long axis is compared at a time; at most 255, as the index is a byte."""


def hardmax_step(
    dtype: DType, shapes: Sequence[tuple[int, ...]], axis: int, threads: int
) -> Callable[..., Array]:
    """A function that gives Hardmax of Max of arrays of these shapes, or of the one array.

    No Max is stored: each block of it is computed where it is used.
    """
    shape = np.broadcast_shapes(*shapes)
    given, stored, form = numpy_dtype(dtype), stored_as(dtype), FORMATS[dtype]
    if 0 in shape:
        return lambda *arrays: np.zeros(shape, given)
    if prod(shape) <= SMALL:
        return _small_step(dtype, shape, axis)
    ones = np.ones((), given).view(form.integer)
    n, inner = shape[axis], prod(shape[axis + 1 :])
    # Rows that lie in memory as they are need no buffer, so no block that fits the cache.
    is_scanned = inner == 1 and n >= SHORT and dtype.bits > 16 and len(shapes) == 1
    chunk = n if is_scanned else chunk_length(n, inner, dtype)
    sliced = [chunk if i == axis else length for i, length in enumerate(shape)]
    threads = threads_for(prod(shape), dtype.itemsize, threads)
    size = share(prod(sliced), threads, None if is_scanned else BLOCK_BYTES // dtype.itemsize)

    def by_blocks(*arrays: Array) -> Array:
        result = np.zeros(shape, form.integer)
        flat = result.reshape(-1)
        strides = [stride // result.itemsize for stride in result.strides]
        operands = aligned([x.view(stored) for x in arrays], shape)

        def work(block: Block, scratch: Scratch) -> None:
            index = first_maximum(operands, block, axis, n, chunk, form, scratch)
            places = scratch.made(
                "places", index.shape, lambda: _places(index.shape, axis, strides)
            )
            if inner != 1:
                index *= inner
            index += places
            start = sum(part.start * step for part, step in zip(block, strides, strict=True))
            flat[start:][index.reshape(-1)] = ones

        run(work, blocks(sliced, size, axis), threads)
        return result.view(given)

    return by_blocks


def _small_step(dtype: DType, shape: tuple[int, ...], axis: int) -> Callable[..., Array]:
    given, stored, form = numpy_dtype(dtype), stored_as(dtype), FORMATS[dtype]
    n = shape[axis]
    unit_rows = np.eye(min(n, SHORT), dtype=given)
    positions = np.arange(n).reshape([n if i == axis else 1 for i in range(len(shape))])

    def rows(*arrays: Array) -> Array:
        return unit_rows.take(reduce(np.maximum, arrays).argmax(-1), 0)

    def general(*arrays: Array) -> Array:
        x = _values([x.view(stored) for x in arrays], shape, form, Scratch())
        return np.equal(positions, x.argmax(axis, keepdims=True)).astype(given)

    is_row = axis == len(shape) - 1 and n <= SHORT
    return rows if is_row and dtype is not DType.BFLOAT16 else general


def chunk_length(n: int, inner: int, dtype: DType) -> int:
    """How much of a slice is looked at at a time."""
    if inner >= SHORT:
        return min(n, ROWS)
    return n if n < SHORT else min(n, max(1, BLOCK_BYTES // dtype.itemsize // inner))


def first_maximum(
    operands: Sequence[Array],
    block: Block,
    axis: int,
    n: int,
    chunk: int,
    form: Format,
    scratch: Scratch,
) -> Array:
    """The index of the first maximum of each slice in the block, with 1 for the axis's length."""
    best: Array = None
    found: Array = None
    for start in range(0, n, chunk):
        span = slice(start, min(start + chunk, n))
        part = (*block[:axis], span, *block[axis + 1 :])
        shape = tuple([s.stop - s.start for s in part])
        x = _values(parts(operands, part, scratch), shape, form, scratch)
        x = x.reshape(prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))
        maximum, index = _first(x, scratch, chunk < n)
        if start == 0:
            found = index
            best = maximum.copy() if chunk < n else None
            continue
        better = ~(best >= maximum)
        better &= best == best  # a NaN stays
        np.copyto(best, maximum, where=better)
        index += start
        np.copyto(found, index, where=better)
    lengths = [s.stop - s.start for s in block]
    lengths[axis] = 1
    return found.reshape(lengths)


def _first(x: Array, scratch: Scratch, with_maximum: bool) -> tuple[Array, Array]:
    """The maximum along the middle axis and its first index; a NaN is a maximum."""
    outer, n, inner = x.shape
    if inner >= SHORT:
        return _by_comparison(x, scratch)
    if n >= SHORT:
        index = x.argmax(axis=1)
        maximum = np.take_along_axis(x, index[:, None], axis=1)[:, 0] if with_maximum else None
        return maximum, index
    turned = scratch.empty("turned", (n, outer, inner), x.dtype)
    np.copyto(turned, x.transpose(1, 0, 2))
    maximum, index = _by_comparison(turned.reshape(1, n, outer * inner), scratch)
    return maximum.reshape(outer, inner), index.reshape(outer, inner)


def _by_comparison(x: Array, scratch: Scratch) -> tuple[Array, Array]:
    slices = x.shape[:1] + x.shape[2:]
    maximum = np.maximum.reduce(x, axis=1, out=scratch.empty("maximum", slices, x.dtype))
    mark = scratch.empty("marks", x.shape, np.uint8)
    np.equal(x, maximum[:, None], out=mark.view(bool))
    index = _first_mark(mark, scratch)
    if x.dtype.kind == "f":
        is_nan = maximum != maximum
        if is_nan.any():
            np.not_equal(x, x, out=mark.view(bool))
            np.copyto(index, _first_mark(mark, scratch), where=is_nan)
    return maximum, index


def _first_mark(mark: Array, scratch: Scratch) -> Array:
    # marks weigh the more the earlier they are, so that the heaviest is the first
    n = mark.shape[1]
    weights = scratch.made(
        "weights", (n,), lambda: np.arange(n, 0, -1, dtype=np.uint8).reshape(n, 1)
    )
    mark *= weights
    return np.subtract(n, np.maximum.reduce(mark, axis=1), dtype=np.intp)


def _values(
    arrays: Sequence[Array], shape: tuple[int, ...], form: Format, scratch: Scratch
) -> Array:
    """What to compare: Max of the arrays, but for the bits of zeros and NaNs, which are equal."""
    if arrays[0].dtype.kind == "f":
        if len(arrays) == 1:
            return arrays[0]
        out = scratch.empty("values", shape, arrays[0].dtype)
        fold(np.maximum, arrays, out)
        return out
    out = scratch.empty("values", shape, np.uint16)
    _order(arrays[0], out, form, scratch)
    for array in arrays[1:]:
        other = scratch.empty("others", shape, np.uint16)
        _order(array, other, form, scratch)
        np.maximum(out, other, out=out)
    return out


def _order(bits: Array, out: Array, form: Format, scratch: Scratch) -> None:
    """uint16 in the order of 16-bit floats: zeros are equal, and all NaNs one above the rest."""
    signs = scratch.empty("signs", out.shape, np.int16)
    order = out.view(np.int16)
    np.absolute(bits, out=order)
    np.bitwise_and(bits, -(2**15), out=signs)
    np.bitwise_xor(order, signs, out=order)  # now -magnitude where negative
    np.add(out, np.uint16(form.infinity), out=out)  # negative NaNs, the lowest, turn over
    nan = scratch.made(
        "nan", out.shape, lambda: np.full(out.shape, 2 * form.infinity + 1, np.uint16)
    )
    np.minimum(out, nan, out=out)


def _places(shape: tuple[int, ...], axis: int, strides: Sequence[int]) -> Array:
    places: Array = np.zeros((), np.intp)
    for i, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        steps = np.arange(length) * (0 if i == axis else stride)
        places = np.add.outer(places, steps)
    return places
