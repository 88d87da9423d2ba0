"""Any other array-API namespace: used for the dtypes that it proves to be exact for."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.dtypes import DType
from ..graph.errors import BackendError
from ..graph.infer import Types
from ..graph.nodes import AnyNode, Input
from . import lowering
from .arrays import numpy_dtype
from .base import Backend, Function
from .numpy import NumPyBackend


class StandardBackend(Backend):
    """A namespace that nobody here has tried: each float dtype is, before its first use.

    What the standard leaves open, such as NaN beside numbers, subnormals and ties, a library may do
    in another way. Such a dtype is refused.
    """

    def __init__(self, name: str, xp: Any) -> None:
        super().__init__(name, xp)
        self._exact: set[DType] = set()

    def lower(self, inputs: Sequence[Input], outputs: Sequence[AnyNode], types: Types) -> Function:
        for dtype in {type_.dtype for type_ in types.values()} - self._exact:
            if dtype is not None and dtype.is_float:
                self._prove(dtype)
                self._exact.add(dtype)
        return super().lower(inputs, outputs, types)

    def _prove(self, dtype: DType) -> None:
        """Compare both kernels with NumPy's, on all pairs of edge values, bit for bit."""
        self.dtype(dtype)
        known = NumPyBackend(threads=1)
        edges = _edges(dtype)
        column, pairs = edges[:, None], np.stack(np.meshgrid(edges, edges), -1)
        try:
            with np.errstate(all="ignore"):  # libraries over NumPy warn of NaNs
                theirs = self.max_([self.from_numpy(column), self.from_numpy(edges)], dtype)
                hot = self.hardmax(self.from_numpy(pairs), 2, dtype)
                results = self.to_numpy(theirs), self.to_numpy(hot)
        except Exception as error:
            raise self._refusal(dtype, f"{type(error).__name__}: {error}") from error
        wanted = known.max_([column, edges], dtype), known.hardmax(pairs, 2, dtype)
        for operator, result, want in zip(("Max", "Hardmax"), results, wanted, strict=True):
            if result.dtype != want.dtype or result.tobytes() != want.tobytes():
                raise self._refusal(dtype, f"its {operator} of edge values differs in bits")

    def _refusal(self, dtype: DType, reason: str) -> BackendError:
        return BackendError(
            f"{self.name} is not exact for {dtype}: {reason}.",
            "Use another dtype or another backend.",
        )


def _edges(dtype: DType) -> "np.ndarray[Any, Any]":
    """Zeros, subnormals, numbers, infinities and NaNs of both signs."""
    form = lowering.FORMATS[dtype]
    infinity, quiet = form.infinity, form.quiet_nan
    bits = [0, 1, 2, infinity // 2, infinity - 1, infinity, infinity + 1, quiet, quiet + 1]
    signed = [sign | size for size in bits for sign in (0, ~form.magnitude)]
    return np.array(signed, form.integer).view(numpy_dtype(dtype))
