"""The first maximum along a long axis, on NumPy: the maxima of its chunks, then one chunk.

All but a small part of the work is one reduction, which reads memory as it lies, and which threads
share by the chunk.
"""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from .blocks import BLOCK_BYTES, Block, Scratch, blocks, parts, run, share
from .lowering import Format
from .numpy_first import MARKED, NARROW, first_of, values

Array = Any

CHUNK = 8
"""Elements of a slice that share one maximum. Those of the one chunk are gathered from all over
memory, which is what more of them cost; fewer leave more maxima."""
CHUNK_OF_ROW = 2**12
"""The same where the axis is the last: a reduction along it is fast for long chunks only."""


def chunk_for(n: int, inner: int, is_computed: bool) -> int | None:
    """How long chunks should be; None where the axis is best looked at as a whole.

    Args:
        n: Length of the axis.
        inner: Elements behind each of the axis.
        is_computed: Whether the elements have no place in memory yet.
    """
    if inner >= NARROW:
        return CHUNK if n > MARKED else None
    return CHUNK_OF_ROW if is_computed and n > 8 * CHUNK_OF_ROW else None


def first_by_chunks(
    operands: Sequence[Array],
    shape: tuple[int, ...],
    axis: int,
    chunk: int,
    form: Format,
    threads: int,
) -> Array:
    """The index of the first maximum of each slice, with 1 for the axis's length.

    Args:
        operands: Arrays of `shape`, or of one element, whose Max is meant.
        shape: The shape of the Max.
        axis: The axis along which to look; it is longer than `chunk`.
        chunk: How many elements share one maximum.
        form: The float format, for operands that are 16-bit floats seen as int16.
        threads: How many threads to use.
    """
    lead, n, trail = shape[:axis], shape[axis], shape[axis + 1 :]
    count = -(-n // chunk)
    kind = operands[0].dtype if operands[0].dtype.kind != "i" else np.uint16
    maxima = np.empty((*lead, count, *trail), kind)

    def reduce_chunks(block: Block, scratch: Scratch) -> None:
        first, last = block[axis].start, block[axis].stop
        part = (*block[:axis], slice(first * chunk, min(last * chunk, n)), *block[axis + 1 :])
        sizes = [span.stop - span.start for span in part]
        x = values(parts(operands, part, scratch), tuple(sizes), form, scratch)
        x = x.reshape(*sizes[:axis], last - first, -1, *sizes[axis + 1 :])
        np.maximum.reduce(x, axis=axis + 1, out=maxima[block])

    is_in_place = len(operands) == 1 and kind == operands[0].dtype
    room = prod(shape) if is_in_place else BLOCK_BYTES // maxima.itemsize
    size = max(1, share(prod(shape), threads, room) // chunk)
    run(reduce_chunks, _blocks_of_chunks(shape, axis, chunk, size), threads)

    three = prod(lead), -1, prod(trail)
    scratch = Scratch()
    if count > MARKED and three[2] >= NARROW:
        index = first_by_chunks([maxima], maxima.shape, axis, chunk, form, 1)
    else:
        index = first_of(maxima.reshape(three), scratch).reshape(*lead, 1, *trail)
    # The last chunk is as long as the others: were what it shares with the one before it the
    # maximum, that one would be the first.
    starts = np.minimum(index * chunk, n - chunk)
    places = starts + np.arange(chunk).reshape(-1, *[1] * len(trail))
    taken = [x if x.size == 1 else np.take_along_axis(x, places, axis) for x in operands]
    candidates = values(taken, places.shape, form, scratch).reshape(three)
    return starts + first_of(candidates, scratch).reshape(starts.shape)


def _blocks_of_chunks(shape: tuple[int, ...], axis: int, chunk: int, size: int) -> Iterator[Block]:
    """Blocks of about `size` chunks; a last chunk that is shorter is in a block of its own."""
    whole, rest = divmod(shape[axis], chunk)
    yield from blocks((*shape[:axis], whole, *shape[axis + 1 :]), size)
    if rest:
        for block in blocks((*shape[:axis], 1, *shape[axis + 1 :]), size):
            yield *block[:axis], slice(whole, whole + 1), *block[axis + 1 :]
