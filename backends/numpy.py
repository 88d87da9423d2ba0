"""NumPy: the lowering as it is."""

from collections.abc import Sequence
from typing import Any

import array_api_compat.numpy
import numpy as np

from ..graph.dtypes import DType
from .arrays import native, numpy_dtype
from .base import Backend


class NumPyBackend(Backend):
    """NumPy with the bfloat16 of ml_dtypes."""

    has_view = True

    def __init__(self) -> None:
        super().__init__("numpy", array_api_compat.numpy)

    def dtype(self, dtype: str) -> Any:
        return numpy_dtype(DType(dtype))

    def prepare(self, array: Any) -> Any:
        return native(array)

    def from_numpy(self, array: Any) -> Any:
        return np.array(native(array))

    def to_numpy(self, array: Any) -> Any:
        return native(array)

    def copy(self, array: Any) -> Any:
        return np.array(array)

    def max_(self, arrays: Sequence[Any], dtype: DType) -> Any:
        return np.asarray(super().max_(arrays, dtype))  # NumPy turns 0-d results into scalars

    def view(self, array: Any, dtype: Any) -> Any:
        return np.asarray(array).view(dtype)


backend = NumPyBackend
