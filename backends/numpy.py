"""NumPy: its own kernels, which work block by block; Hardmax of Max in one go."""

from collections.abc import Callable, Sequence
from typing import Any

import array_api_compat.numpy
import numpy as np

from ..graph.dtypes import DType
from ..graph.infer import Types
from ..graph.nodes import AnyNode, Input
from ..graph.surrogates import Surrogate
from . import lowering
from .arrays import native, numpy_dtype
from .base import Backend, Function
from .blocks import default_threads
from .numpy_hardmax import hardmax_step
from .numpy_max import max_step
from .numpy_plan import plan

Array = Any
_LEAST = 5e-324


class NumPyBackend(Backend):
    """NumPy with the bfloat16 of ml_dtypes.

    Args:
        threads: How many threads a large call may use. None: the processors that this process
            may use, but no more than 4.

    >>> import numpy as np
    >>> from maxhard.backends.numpy import NumPyBackend
    >>> NumPyBackend(threads=1).max_([np.float32([1, 2]), np.float32([2, 1])], DType.FLOAT32)
    array([2., 2.], dtype=float32)
    """

    has_view = True

    def __init__(self, threads: int | None = None) -> None:
        super().__init__("numpy", array_api_compat.numpy)
        self.threads = default_threads() if threads is None else threads

    def dtype(self, dtype: str) -> Any:
        return numpy_dtype(DType(dtype))

    def prepare(self, array: Array) -> Array:
        return native(array)

    def takes(self, array: Array) -> bool:
        return type(array) is np.ndarray and array.dtype.isnative

    def from_numpy(self, array: Array) -> Array:
        return np.array(native(array))

    def to_numpy(self, array: Array) -> Array:
        return native(array)

    def copy(self, array: Array) -> Array:
        return np.array(array)

    def view(self, array: Array, dtype: Any) -> Array:
        return np.asarray(array).view(dtype)

    def max_(self, arrays: Sequence[Array], dtype: DType) -> Array:
        return self.max_step(dtype, [x.shape for x in arrays])(*arrays)

    def hardmax(
        self, array: Array, axis: int, dtype: DType, surrogate: Surrogate | None = None
    ) -> Array:
        return self.hardmax_step(dtype, [array.shape], axis)(array)

    def lower(self, inputs: Sequence[Input], outputs: Sequence[AnyNode], types: Types) -> Function:
        return plan(self, inputs, outputs, types)

    def max_step(self, dtype: DType, shapes: Sequence[tuple[int, ...]]) -> Callable[..., Array]:
        """A function that gives Max of arrays of these shapes."""
        fast = max_step(dtype, shapes, self.threads)
        if not dtype.is_float or dtype.bits == 16:
            return fast

        def step(*arrays: Array) -> Array:
            if _flushes_subnormals():
                return np.asarray(lowering.max_(self, arrays, dtype))
            return fast(*arrays)

        return step

    def hardmax_step(
        self, dtype: DType, shapes: Sequence[tuple[int, ...]], axis: int
    ) -> Callable[..., Array]:
        """A function that gives Hardmax of Max of arrays of these shapes, or of the one array."""
        fast = hardmax_step(dtype, shapes, axis, self.threads)
        if dtype.bits == 16:
            return fast

        def step(*arrays: Array) -> Array:
            if _flushes_subnormals():
                array = arrays[0] if len(arrays) == 1 else lowering.max_(self, arrays, dtype)
                return lowering.hardmax(self, array, axis, dtype)
            return fast(*arrays)

        return step


def _flushes_subnormals() -> bool:
    """Whether this thread does, so that only comparisons of integers are exact."""
    return _LEAST * 1.0 == 0.0


backend = NumPyBackend
