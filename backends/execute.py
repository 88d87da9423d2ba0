"""Running a graph node by node: the plain way, which every faster one must agree with."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, assert_never

from ..graph.dtypes import DType
from ..graph.infer import Types, is_weak, normal_axis
from ..graph.nodes import AnyNode, Constant, Hardmax, Input, Max
from ..graph.scalars import encode
from ..graph.types import TensorType
from ..graph.versions import flattens
from ..graph.walk import operands_of

if TYPE_CHECKING:
    from .base import Backend

Array = Any


def interpret(
    backend: "Backend",
    inputs: Sequence[Input],
    outputs: Sequence[AnyNode],
    types: Types,
) -> Callable[[Sequence[Array]], list[Array]]:
    """A function that evaluates each node of `types` in turn and lets go of values no longer used.

    Outputs that are inputs, constants or one another are copied: results share no memory.
    """
    constants = constant_arrays(backend, types)
    steps = [node for node in types if isinstance(node, Max | Hardmax)]
    last_use = {operand: step for step in steps for operand in operands_of(step)}
    kept = {*outputs, *constants}
    expiring: dict[AnyNode, list[AnyNode]] = {}
    for operand, step in last_use.items():
        if operand not in kept and not is_weak(operand):
            expiring.setdefault(step, []).append(operand)

    def run(arrays: Sequence[Array]) -> list[Array]:
        values = constants | dict(zip(inputs, arrays, strict=True))
        for step in steps:
            values[step] = apply(backend, step, values, types)
            for operand in expiring.get(step, ()):
                values.pop(operand, None)
        return owned(backend, outputs, values)

    return run


def apply(
    backend: "Backend",
    node: Max | Hardmax,
    values: dict[AnyNode, Array],
    types: Types,
) -> Array:
    """The value of `node`, given those of its operands."""
    dtype = types[node].dtype
    assert dtype is not None
    match node:
        case Max(operands):
            arrays = [
                number(backend, x.number, dtype) if is_weak(x) else values[x] for x in operands
            ]
            return arrays[0] if len(arrays) == 1 else backend.max_(arrays, dtype)
        case Hardmax(operand):
            return apply_hardmax(backend, node, values[operand], dtype)
        case _:
            assert_never(node)


def apply_hardmax(backend: "Backend", node: Hardmax, array: Array, dtype: DType) -> Array:
    """Hardmax along an axis; or, below version 13, of the 2-D matrix that the axis splits off."""
    rank = len(array.shape)
    axis = normal_axis(node.axis, rank)
    if not flattens(node.version) or axis == rank - 1:
        return backend.hardmax(array, axis, dtype, node.surrogate)
    return backend.hardmax_of_rows(array, axis, dtype, node.surrogate)


def constant_arrays(backend: "Backend", types: Types) -> dict[AnyNode, Array]:
    """The constants among the nodes, as arrays of the backend."""
    return {
        node: backend.constant(node.elements, node.declared)
        for node in types
        if isinstance(node, Constant) and not node.is_weak
    }


def number(backend: "Backend", value: int | float, dtype: DType) -> Array:
    """A Python number as a 0-d array of `dtype`."""
    return backend.constant(encode(value, dtype), TensorType(dtype, ()))


def owned(
    backend: "Backend", outputs: Sequence[AnyNode], values: dict[AnyNode, Array]
) -> list[Array]:
    """The values of `outputs`, copied where they are not ours alone to give away."""
    results: list[Array] = []
    given: set[int] = set()
    for node in outputs:
        value = values[node]
        passed_on = isinstance(node, Max) and len(node.operands) == 1
        borrowed = passed_on or isinstance(node, Input | Constant) or id(value) in given
        results.append(backend.copy(value) if borrowed else value)
        given.add(id(value))
    return results
