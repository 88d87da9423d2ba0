"""Hardmax on NumPy: the index of each first maximum, part by part, then one 1 written at each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
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
    zeros,
)
from .lowering import FORMATS, Format
from .numpy_chunks import chunk_for, first_by_chunks
from .numpy_first import NARROW, first_of, values
from .numpy_max import stored_as, viewed

Array = Any

UNIT_ROW = 128
"""Elements of a row up to which rows of the identity matrix are copied: it has to fit the cache."""
SLAB_BYTES = 2**25
"""Bytes that are looked at in chunks at a time: the maxima of the chunks need room beside them."""
SLAB_WIDTH = 1024
"""Columns of such a slab, at least: fewer are no stretch of memory to read at full speed."""


def hardmax_step(
    dtype: DType, shapes: Sequence[tuple[int, ...]], axis: int, threads: int
) -> Callable[..., Array]:
    """A function that gives Hardmax of Max of arrays of these shapes, or of the one array.

    No Max is stored: each block of it is computed where it is used.
    """
    shape = np.broadcast_shapes(*shapes)
    n, inner, size = shape[axis], prod(shape[axis + 1 :]), prod(shape)
    given, stored = numpy_dtype(dtype), stored_as(dtype)
    if size == 0:
        return lambda *arrays: np.zeros(shape, given)
    if size <= SMALL:
        return _small_step(dtype, shape, axis)
    is_computed = len(shapes) > 1 or dtype.bits == 16
    is_short = inner == 1 and n <= UNIT_ROW
    uses_buffers = is_computed or is_short or inner >= NARROW
    threads = threads_for(size, dtype.itemsize, threads, is_one_pass=not uses_buffers)
    by_parts = _ByParts(shape, axis, FORMATS[dtype], given, threads)
    chunk = chunk_for(n, inner, is_computed)
    if chunk:
        fill = partial(by_parts.chunks, chunk=chunk, room=SLAB_BYTES // dtype.itemsize)
    else:
        fill = partial(
            by_parts.blocks,
            write=by_parts.write_rows if is_short else by_parts.write_ones,
            room=BLOCK_BYTES // dtype.itemsize if uses_buffers else size,
        )

    def step(*arrays: Array) -> Array:
        kind = by_parts.form.integer
        result = np.empty(shape, kind) if is_short else zeros(shape, kind, threads)
        fill(aligned(viewed(arrays, stored), shape), result)
        return result.view(given)

    return step


@dataclass(frozen=True)
class _ByParts:
    """Ways to write Hardmax of Max of operands into `result`, by parts of about `room` elements."""

    shape: tuple[int, ...]
    axis: int
    form: Format
    given: Any
    threads: int

    def blocks(
        self,
        operands: Sequence[Array],
        result: Array,
        write: Callable[[Array, Block, Array, Scratch], None],
        room: int,
    ) -> None:
        """Whole slices, in all threads."""

        def work(block: Block, scratch: Scratch) -> None:
            write(result, block, self.first(operands, block, scratch), scratch)

        size = share(prod(self.shape), self.threads, room)
        run(work, blocks(self.shape, size, self.axis), self.threads)

    def chunks(self, operands: Sequence[Array], result: Array, chunk: int, room: int) -> None:
        """Long slices, by the maxima of their chunks."""
        scratch = Scratch()
        for slab in blocks(self.shape, max(room, SLAB_WIDTH * self.shape[self.axis]), self.axis):
            shape = tuple([part.stop - part.start for part in slab])
            taken = [x if x.size == 1 else x[slab] for x in operands]
            index = first_by_chunks(taken, shape, self.axis, chunk, self.form, self.threads)
            self.write_ones(result, slab, index, scratch)

    def first(self, operands: Sequence[Array], block: Block, scratch: Scratch) -> Array:
        """The index of the first maximum of each slice in the block, with 1 for its length."""
        shape = [part.stop - part.start for part in block]
        x = values(parts(operands, block, scratch), tuple(shape), self.form, scratch)
        three = prod(shape[: self.axis]), shape[self.axis], prod(shape[self.axis + 1 :])
        shape[self.axis] = 1
        return first_of(x.reshape(three), scratch).reshape(shape)

    def write_rows(self, result: Array, block: Block, index: Array, scratch: Scratch) -> None:
        """Write rows of the identity matrix; the result need not be zero."""
        n = self.shape[-1]
        rows = scratch.made("unit rows", (n, n), lambda: np.eye(n, dtype=self.given))
        rows.view(self.form.integer).take(
            index.reshape(-1), 0, result[block].reshape(-1, n), "clip"
        )

    def write_ones(self, result: Array, block: Block, index: Array, scratch: Scratch) -> None:
        """Write a 1 at each index into zeros; the array of indices is used up."""
        steps = [stride // result.itemsize for stride in result.strides]
        index *= steps[self.axis]
        along = [0 if i == self.axis else step for i, step in enumerate(steps)]
        index += scratch.made("places", index.shape, lambda: _places(index.shape, along))
        start = sum(part.start * step for part, step in zip(block, along, strict=True))
        one = np.ones((), self.given).view(self.form.integer)
        result.reshape(-1)[start:][index.reshape(-1)] = one


def _places(shape: tuple[int, ...], steps: Sequence[int]) -> Array:
    places: Array = np.zeros((), np.intp)
    for length, step in zip(shape, steps, strict=True):
        places = np.add.outer(places, np.arange(length) * step)
    return places


def _small_step(dtype: DType, shape: tuple[int, ...], axis: int) -> Callable[..., Array]:
    given, stored, form = numpy_dtype(dtype), stored_as(dtype), FORMATS[dtype]
    n = shape[axis]
    is_row = axis == len(shape) - 1 and n <= UNIT_ROW and dtype is not DType.BFLOAT16
    unit_rows = np.eye(n if is_row else 0, dtype=given)
    positions = np.arange(n).reshape([n if i == axis else 1 for i in range(len(shape))])

    def rows(*arrays: Array) -> Array:
        return unit_rows.take(reduce(np.maximum, arrays).argmax(-1), 0)

    def general(*arrays: Array) -> Array:
        x = values(viewed(arrays, stored), shape, form, Scratch())
        return np.equal(positions, x.argmax(axis, keepdims=True)).astype(given)

    return rows if is_row else general
