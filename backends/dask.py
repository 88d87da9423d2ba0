"""dask: the NumPy kernels chunk by chunk; nothing is computed before the caller asks for it.

Chunks stay as they are. Hardmax along an axis of several chunks first finds the place of the
winner, by a tree over the chunks, and then writes each chunk of the result from that place alone.
"""

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import array_api_compat.dask.array
import dask.array as da
import numpy as np
from dask.base import tokenize

from ..graph.dtypes import DType
from ..graph.errors import ShapeError, TypeInferenceError
from ..graph.snapshot import refuse_lookalikes
from ..graph.surrogates import Surrogate
from ..graph.types import TensorType
from . import dask_blocks as blocks
from .arrays import native, numpy_dtype
from .base import Backend

Array = Any
_KNOW_SIZES = "Call x.compute_chunk_sizes() first."


class DaskBackend(Backend):
    """dask arrays whose chunks are NumPy arrays."""

    def __init__(self) -> None:
        super().__init__("dask", array_api_compat.dask.array)

    def dtype(self, dtype: str) -> Any:
        return numpy_dtype(DType(dtype))

    def type_of(self, array: Array) -> TensorType:
        _refuse_other_chunks(array)
        return super().type_of(array)

    def prepare(self, array: Array) -> Array:
        _refuse_other_chunks(array)
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))

    def from_numpy(self, array: Any) -> Array:
        own = np.array(native(array))
        # dask's own name is the same for two NaNs of rank 0 whose bits differ
        name = f"array-{tokenize(own.dtype.name, own.view(f'u{own.itemsize}'))}"
        return da.from_array(own, name=name)

    def to_numpy(self, array: Array) -> Any:
        return native(array.compute())

    def copy(self, array: Array) -> Array:
        return _blockwise(blocks.copy, [array])

    def max_(self, arrays: Sequence[Array], dtype: DType) -> Array:
        ndim = max(array.ndim for array in arrays)
        kernel = partial(blocks.max_, dtype=dtype.value, agree=_to_agree(arrays, ndim))
        return _blockwise(kernel, arrays)

    def hardmax(
        self, array: Array, axis: int, dtype: DType, surrogate: Surrogate | None = None
    ) -> Array:
        return _hardmax(array, (axis,), dtype)

    def hardmax_of_rows(
        self, array: Array, axis: int, dtype: DType, surrogate: Surrogate | None = None
    ) -> Array:
        return _hardmax(array, tuple(range(axis, array.ndim)), dtype)


def _hardmax(array: Array, axes: tuple[int, ...], dtype: DType) -> Array:
    """Hardmax over neighbouring axes, seen as one."""
    every = tuple(range(array.ndim))
    if all(array.numblocks[i] == 1 for i in axes) or 0 in array.shape:
        return _blockwise(partial(blocks.hardmax, dtype=dtype.value, axes=axes), [array])
    sizes = [array.shape[i] for i in axes]
    if any(size != size for size in sizes):
        raise ShapeError(
            f"Hardmax runs along axis {axes[0]}, and the sizes of its chunks are not known.",
            _KNOW_SIZES,
        )
    steps = [prod(sizes[i + 1 :]) for i in range(len(axes))]
    places: list[Any] = []
    for i, step in zip(axes, steps, strict=True):
        places += [
            da.arange(array.shape[i], chunks=(array.chunks[i],), dtype=np.int64) * step,
            (i,),
        ]
    found = da.blockwise(
        partial(blocks.find, dtype=dtype.value, axes=axes),
        every, array, every, *places,
        adjust_chunks=dict.fromkeys(axes, 1),
        dtype=blocks.FOUND, meta=_meta(array.ndim, blocks.FOUND),
    )  # fmt: skip
    winner = da.reduction(
        found, chunk=blocks.keep, combine=blocks.best, aggregate=blocks.best, axis=axes,
        keepdims=True, concatenate=True, dtype=blocks.FOUND, meta=_meta(array.ndim, blocks.FOUND),
    )  # fmt: skip
    return da.blockwise(
        partial(blocks.mark, dtype=dtype.value, axes=axes),
        every, winner, every, *places,
        dtype=array.dtype, meta=_meta(array.ndim, array.dtype),
    )  # fmt: skip


def _blockwise(kernel: Any, arrays: Sequence[Array]) -> Array:
    """`kernel` on the chunks of arrays that are broadcast."""
    ndim = max(array.ndim for array in arrays)
    pairs = [part for x in arrays for part in (x, tuple(range(ndim - x.ndim, ndim)))]
    dtype = arrays[0].dtype
    return da.blockwise(kernel, tuple(range(ndim)), *pairs, dtype=dtype, meta=_meta(ndim, dtype))


def _meta(ndim: int, dtype: Any) -> Any:
    return np.empty((0,) * ndim, dtype)


def _to_agree(arrays: Sequence[Array], ndim: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Each axis with chunks of unknown size, and the operands that have to be alike on it.

    dask pairs such chunks by number; a chunk of length 1 would be broadcast, which is wrong unless
    all of the array has length 1 there.
    """
    agree = []
    for axis in range(-ndim, 0):
        members = [i for i, x in enumerate(arrays) if x.ndim >= -axis and x.shape[axis] != 1]
        unknown = [i for i in members if arrays[i].shape[axis] != arrays[i].shape[axis]]
        if not unknown:
            continue
        if unknown != members or len({arrays[i].numblocks[axis] for i in members}) > 1:
            raise ShapeError(
                f"the sizes of chunks on axis {axis} are not known, so it is not known whether "
                "they fit the other operands.",
                _KNOW_SIZES,
            )
        agree.append((axis, tuple(members)))
    return tuple(agree)


def _refuse_other_chunks(array: Array) -> None:
    refuse_lookalikes(array._meta)
    if not isinstance(array._meta, np.ndarray):
        kind = type(array._meta)
        raise TypeInferenceError(
            f"the chunks of this dask array are {kind.__module__}.{kind.__qualname__}, not NumPy "
            "arrays.",
            "Convert them: x.map_blocks(...) with a function that gives numpy.ndarray.",
        )


backend = DaskBackend
