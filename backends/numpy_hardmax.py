"""Hardmax on NumPy: the index of each first maximum, block by block, then one 1 written at each."""

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
from .numpy_first import ROWS, SHORT, first_of, values
from .numpy_max import stored_as

Array = Any


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
        x = values([x.view(stored) for x in arrays], shape, form, Scratch())
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
        x = values(parts(operands, part, scratch), shape, form, scratch)
        x = x.reshape(prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))
        maximum, index = first_of(x, scratch, chunk < n)
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


def _places(shape: tuple[int, ...], axis: int, strides: Sequence[int]) -> Array:
    places: Array = np.zeros((), np.intp)
    for i, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        steps = np.arange(length) * (0 if i == axis else stride)
        places = np.add.outer(places, steps)
    return places
