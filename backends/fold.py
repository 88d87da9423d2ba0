"""Constants merged when a graph is simplified, by the NumPy kernels."""

from collections.abc import Sequence

from ..graph.nodes import Constant
from ..graph.types import TensorType
from . import get


def merge(constants: Sequence[Constant]) -> Constant:
    """Max of two or more constants of one dtype, as a constant."""
    backend = get("numpy")
    dtype = constants[0].declared.dtype
    assert dtype is not None
    arrays = [backend.constant(x.elements, x.declared) for x in constants]
    result = backend.to_numpy(backend.max_(arrays, dtype))
    declared = TensorType(dtype, result.shape)
    return Constant.of_bytes(result.tobytes(), declared, constants[0]._origin)
