"""maximum and hardmax: a node of nodes, or an array of arrays, at once."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, SupportsIndex

from .backends import Backend, of
from .backends.execute import number
from .graph.errors import GraphError
from .graph.node import Node
from .graph.nodes import KINDS, Hardmax, Input, Max, checked_axis, no_operands
from .graph.origin import caller, origin_text
from .graph.scalars import number_text
from .graph.show import context
from .graph.snapshot import is_number
from .graph.surrogates import Surrogate, checked_surrogate
from .graph.versions import checked_opset, hardmax_version, operator_text
from .program import Program
from .structure import Graph


def maximum(*operands: Any, opset: int = 13) -> Any:
    """ONNX Max: the element-wise maximum, with NumPy broadcasting (from opset 8).

    A NaN in any of two or more operands gives the canonical quiet NaN; +0 is greater than -0
    (IEEE 754-2019 `maximum`). One operand is given back bit for bit. Nothing is promoted.

    Args:
        operands: Nodes, arrays of one library, and Python ints or floats, which take the dtype of
            the others.
        opset: Picks the operator version, as ONNX does: Max-1, 6, 8, 12 or 13.

    Returns:
        A node if any operand is a node, else an array of the operands' library.

    >>> import numpy as np
    >>> maximum(np.float32([1, -2]), 0.0)
    array([1., 0.], dtype=float32)
    >>> maximum(Input("x", "float32", ("n",)), 0.0)
    <Max-13 of 2: float32[n]>

    Raises:
        TypeInferenceError: no operand, mixed dtypes or libraries, or a dtype that the version
            does not take.
        ShapeError: shapes do not broadcast; or differ, below opset 8.
        RangeError: a Python int does not fit the dtype.
        OpsetError: the opset is not known.
    """
    if not KINDS.isdisjoint(map(type, operands)):
        return Max(*operands, opset=opset)
    return _maximum_of_arrays(operands, opset)


def hardmax(
    x: Any,
    axis: SupportsIndex | None = None,
    *,
    opset: int = 13,
    surrogate: Surrogate | None = None,
) -> Any:
    """ONNX Hardmax: 1 at the first maximum of each slice along `axis`, 0 elsewhere.

    A NaN counts as the maximum, the first one wins; -0 and +0 are equal. Every slice that is not
    empty has exactly one 1.

    Args:
        x: A node or an array of a float dtype and rank >= 1.
        axis: In [-r, r-1]. None: the version's default, -1, and 1 below opset 13.
        opset: Picks the operator version: Hardmax-1, 11 or 13. Below 13 the operand is first
            coerced to the 2-D matrix of shape (prod(shape[:axis]), prod(shape[axis:])), and each
            of its rows is one slice.
        surrogate: The function whose derivative is taken for that of Hardmax, which is zero:
            "softmax" (over the same slices) or "identity", the straight-through estimators. The
            result is the same; libraries without derivatives have no use for it.

    Returns:
        A node or an array, of the dtype and shape of `x`.

    >>> import numpy as np
    >>> hardmax(np.float64([[1, 3, 3], [np.nan, 9, 0]]))
    array([[0., 1., 0.],
           [1., 0., 0.]])

    Raises:
        TypeInferenceError: the dtype is not in the version's list, or the axis no int.
        AxisError: the axis is out of range, as every axis is for rank 0.
        OpsetError: the opset is not known.
        SurrogateError: the surrogate is not known.
    """
    if isinstance(x, Node):
        return Hardmax(x, axis, opset=opset, surrogate=surrogate)
    return _hardmax_of_array(x, axis, opset, surrogate)


def _maximum_of_arrays(operands: tuple[Any, ...], opset: int) -> Any:
    try:
        checked_opset(opset)
        arrays = [operand for operand in operands if not is_number(operand)]
        if not arrays:
            raise no_operands(operands)
        if len(arrays) < len(operands):
            operands = _without_numbers(operands, arrays[0], of(arrays))
        return _max_program(len(operands), opset)(*operands)
    except GraphError as error:
        failed = error
    raise failed.within(call_text("Max", opset, operands)) from None


def _without_numbers(operands: tuple[Any, ...], array: Any, backend: Backend) -> tuple[Any, ...]:
    """The operands, Python numbers as arrays of the dtype of `array`, on its device."""
    dtype = backend.type_of(array).dtype
    assert dtype is not None
    return tuple(
        [backend.beside(number(backend, x, dtype), array) if is_number(x) else x for x in operands]
    )


def _hardmax_of_array(
    x: Any, axis: SupportsIndex | None, opset: int, surrogate: Surrogate | None
) -> Any:
    try:
        checked_opset(opset)
        of([x])
        axis = checked_axis(axis, hardmax_version(opset))
        return _hardmax_program(axis, opset, checked_surrogate(surrogate))(x)
    except GraphError as error:
        failed = error
    raise failed.within(call_text("Hardmax", opset, [x])) from None


def call_text(operator: str, opset: int, operands: Sequence[Any]) -> str:
    """The operator and its operands, for an error about arrays."""
    lines = [f"operand {i}: {_array_text(operand)}" for i, operand in enumerate(operands)]
    return context(f"{operator_text(operator, opset)} at {origin_text(caller())}", lines, lines)


def _array_text(array: Any) -> str:
    if is_number(array):
        return number_text(array)
    try:
        dtype = str(array.dtype).removeprefix("torch.")
        return f"{dtype}[{', '.join(map(str, array.shape))}]"
    except Exception:  # no array, or a nested tensor, which has no shape
        return type(array).__name__


# The errors of these name operands that are no user's, so those who call them tell of their own.
@lru_cache(maxsize=256)
def _max_program(count: int, opset: int) -> Program:
    return Program(Graph(Max(*[Input(f"operand {i}") for i in range(count)], opset=opset)))


@lru_cache(maxsize=256)
def _hardmax_program(axis: int, opset: int, surrogate: Surrogate | None) -> Program:
    return Program(Graph(Hardmax(Input("operand"), axis, opset=opset, surrogate=surrogate)))
