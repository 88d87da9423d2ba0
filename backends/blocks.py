"""Work cut into blocks that stay in the cache, shared among a few threads."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from math import prod
from threading import Thread
from typing import Any

import numpy as np

Array = Any
Block = tuple[slice, ...]

BLOCK_BYTES = 2**20
"""Bytes of one operand in a block. Half as many would fit better into a second-level cache, but
NumPy's cost for each call, and that of threads taking turns in Python, weigh more."""
SMALL = 2**11
"""Elements up to which the fixed cost of blocks is more than all the rest."""
THREADED_BYTES = 3 * 2**20
"""Bytes below which one thread does all: starting another takes as long as half of these."""
ONE_PASS_BYTES = 2**25
"""The same where each byte is looked at once: the wait for memory is most of that work, and a
processor that slept takes up to a millisecond to join in."""

LAZY_BYTES = 2**25
"""Bytes from which memory comes fresh from the system, which zeroes a page when it is touched."""


def default_threads() -> int:
    """The processors that this process may use, but no more than 4: memory feeds no more."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(usable or 1, 4)


def threads_for(size: int, itemsize: int, threads: int, is_one_pass: bool) -> int:
    """How many of `threads` are worth their start for a result of that size."""
    least = ONE_PASS_BYTES if is_one_pass else THREADED_BYTES
    return threads if size * itemsize >= least else 1


def share(size: int, threads: int, room: int) -> int:
    """Elements of a block: as many as `room` says, but enough blocks for all threads."""
    return min(room, -(-size // (2 * threads if threads > 1 else 1)))


def blocks(shape: Sequence[int], size: int, axis: int | None = None) -> Iterator[Block]:
    """Cut `shape` into blocks of about `size` elements in memory order, whole along `axis`.

    >>> [rows.stop for rows, _ in blocks((6, 4), 8)]
    [2, 4, 6]
    >>> [columns.stop for _, columns in blocks((6, 4), 12, axis=0)]
    [2, 4]
    """
    steps = list(shape)
    room = max(1, size // (1 if axis is None else max(1, shape[axis])))
    for i in reversed(range(len(shape))):
        if i != axis:
            steps[i] = min(shape[i], room)
            room = max(1, room // max(1, shape[i]))
    return product(
        *[
            [slice(start, min(start + step, length)) for start in range(0, length, step)]
            for length, step in zip(shape, steps, strict=True)
        ]
    )


class Scratch:
    """Buffers that one thread uses again for every block; one of a kind and shape."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def empty(self, kind: str, shape: tuple[int, ...], dtype: Any) -> Array:
        """An array of any content, the same one for the same arguments."""
        key = kind, shape, dtype
        if key not in self._kept:
            self._kept[key] = np.empty(shape, dtype)
        return self._kept[key]

    def made(self, kind: str, shape: tuple[int, ...], make: Callable[[], Array]) -> Array:
        """What `make` gives, called once for each shape."""
        key = kind, shape
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


def aligned(arrays: Sequence[Array], shape: tuple[int, ...]) -> list[Array]:
    """Views of `arrays` of that shape; arrays of one element stay as they are."""
    return [x if x.shape == shape or x.size == 1 else np.broadcast_to(x, shape) for x in arrays]


def parts(arrays: Sequence[Array], block: Block, scratch: Scratch) -> list[Array]:
    """The block of each of the `aligned` arrays.

    One element is repeated in memory: NumPy's vector code wants contiguous operands.
    """
    shape = tuple([part.stop - part.start for part in block])

    return [
        x[block]
        if x.size != 1
        else scratch.made(f"operand {i}", shape, partial(_repeated, x, shape))
        for i, x in enumerate(arrays)
    ]


def _repeated(element: Array, shape: tuple[int, ...]) -> Array:
    out = np.empty(shape, element.dtype)
    out[...] = element.reshape(())
    return out


def zeros(shape: tuple[int, ...], dtype: Any, threads: int) -> Array:
    """An array of zeros, which the threads write together where nobody else does."""
    size = prod(shape)
    if threads == 1 or size * np.dtype(dtype).itemsize >= LAZY_BYTES:
        return np.zeros(shape, dtype)
    result = np.empty(shape, dtype)
    flat = result.reshape(-1)
    run(lambda block, _: flat[block].fill(0), blocks((size,), -(-size // threads)), threads)
    return result


def run(work: Callable[[Block, Scratch], None], items: Iterator[Block], threads: int) -> None:
    """Call `work` with each block, in up to `threads` threads.

    The threads live as long as the call, so there is no pool to find dead after a fork.
    """
    queue = deque(items)
    failures: list[BaseException] = []

    def drain() -> None:
        scratch = Scratch()
        try:
            while not failures:
                try:
                    item = queue.popleft()
                except IndexError:
                    return
                work(item, scratch)
        except BaseException as failure:  # raised again in the caller's thread
            failures.append(failure)

    others = [Thread(target=drain) for _ in range(min(threads, len(queue)) - 1)]
    for thread in others:
        thread.start()
    drain()
    for thread in others:
        thread.join()
    if failures:
        raise failures[0]
