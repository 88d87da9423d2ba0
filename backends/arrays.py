"""NumPy's side of the dtypes, which every move between libraries passes through."""

import sys
from typing import Any, cast

import numpy as np

from ..graph.dtypes import DType
from ..graph.types import TensorType


def numpy_dtype(dtype: DType) -> "np.dtype[Any]":
    """The NumPy dtype of that name; ml_dtypes has bfloat16."""
    if dtype is DType.BFLOAT16:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return found
    return np.dtype(dtype.value)


def native(array: Any) -> "np.ndarray[Any, Any]":
    """`array` as an ndarray in the byte order of this machine."""
    plain: np.ndarray[Any, Any] = np.asarray(array)
    return plain if plain.dtype.isnative else plain.astype(plain.dtype.newbyteorder("="))


def from_bytes(data: bytes, type_: TensorType) -> "np.ndarray[Any, Any]":
    """The array of little-endian elements in C order; read-only."""
    assert type_.dtype is not None
    shape = cast("tuple[int, ...]", type_.shape)
    array = np.frombuffer(data, numpy_dtype(type_.dtype)).reshape(shape)
    return array if sys.byteorder == "little" else array.byteswap()
