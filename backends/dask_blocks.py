"""What dask runs on the chunks: functions of NumPy arrays that every worker can import."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.dtypes import DType
from ..graph.errors import ShapeError, TypeInferenceError
from . import lowering
from .numpy import NumPyBackend

Array = Any

FOUND = np.dtype([("key", np.int64), ("place", np.int64)])
"""A maximum, as an integer in the order of Hardmax, and where it lies."""
_KERNELS = NumPyBackend(threads=1)  # dask has threads of its own
_NOWHERE = np.iinfo(np.int64)


def copy(chunk: Array) -> Array:
    """The same elements in memory of their own."""
    return np.array(chunk)


def max_(*chunks: Array, dtype: str, agree: Sequence[tuple[int, Sequence[int]]] = ()) -> Array:
    """Max of chunks; `agree` lists an axis and the operands that must have one length on it."""
    for axis, members in agree:
        lengths = sorted({chunks[i].shape[axis] for i in members})
        if len(lengths) > 1:
            raise ShapeError(
                f"chunks of unknown size turned out {' and '.join(map(str, lengths))} long on "
                f"axis {axis}.",
                "Max needs equal chunks: call x.compute_chunk_sizes() and rechunk.",
            )
    return _KERNELS.max_([_checked(chunk, dtype) for chunk in chunks], DType(dtype))


def hardmax(chunk: Array, dtype: str, axes: Sequence[int]) -> Array:
    """Hardmax of a chunk that is whole along `axes`."""
    return _hardmax(_merged(_checked(chunk, dtype), axes), dtype, axes).reshape(chunk.shape)


def find(chunk: Array, *places: Array, dtype: str, axes: Sequence[int]) -> Array:
    """The winner of the chunk and its place among all chunks, one for each slice."""
    merged = _merged(_checked(chunk, dtype), axes)
    shape = [1 if i in axes else size for i, size in enumerate(chunk.shape)]
    found = np.empty(shape, FOUND)
    found["key"], found["place"] = _NOWHERE.min, _NOWHERE.max
    if merged.size:
        hot = _hardmax(merged, dtype, axes)
        index = hot.view(f"u{hot.itemsize}").argmax(axes[0], keepdims=True)
        best = np.take_along_axis(merged, index, axes[0])
        key = lowering.numeric_order(_KERNELS, best, DType(dtype))
        found["key"] = key.reshape(shape)
        found["place"] = _sum(places).reshape(-1)[index].reshape(shape)
    return found


def keep(found: Array, axis: Any, keepdims: bool) -> Array:
    """What `find` gave, which is one for each slice already."""
    return found


def best(found: Array, axis: Any, keepdims: bool) -> Array:
    """The first of the greatest along the axes."""
    key = found["key"].max(axis, keepdims=True)
    place = np.where(found["key"] == key, found["place"], _NOWHERE.max).min(axis, keepdims=True)
    result = np.empty(key.shape, FOUND)
    result["key"], result["place"] = key, place
    return result


def mark(winner: Array, *places: Array, dtype: str, axes: Sequence[int]) -> Array:
    """1 where the winner lies in this chunk, 0 elsewhere."""
    here = _sum(places)
    here = here.reshape(here.shape + (1,) * (winner.ndim - 1 - axes[-1]))
    return np.equal(here, winner["place"]).astype(_KERNELS.dtype(DType(dtype)))


def _hardmax(merged: Array, dtype: str, axes: Sequence[int]) -> Array:
    return _KERNELS.hardmax(merged, axes[0], DType(dtype))


def _merged(chunk: Array, axes: Sequence[int]) -> Array:
    """The chunk with `axes`, which are neighbours, as one."""
    if len(axes) == 1:
        return chunk
    length = int(np.prod([chunk.shape[i] for i in axes]))
    return chunk.reshape(*chunk.shape[: axes[0]], length, *chunk.shape[axes[-1] + 1 :])


def _sum(places: Sequence[Array]) -> Array:
    total = places[0]
    for each in places[1:]:
        total = total[..., None] + each
    return total


def _checked(chunk: Array, dtype: str) -> Array:
    """The chunk as an array of the dtype that the dask array says it has."""
    chunk = np.asarray(chunk)
    if chunk.dtype != _KERNELS.dtype(DType(dtype)):
        raise TypeInferenceError(
            f"a chunk is {chunk.dtype}, and its dask array says {dtype}.",
            "Give the dtype that the chunks have where the dask array is made.",
        )
    return chunk
