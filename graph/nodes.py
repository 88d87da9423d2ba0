"""The nodes of a graph: Input, Constant, Max and Hardmax; a closed set."""

from operator import index
from typing import Any, Self, SupportsIndex, TypeVar

from .dtypes import DType
from .errors import GraphError, TypeInferenceError
from .node import Node, set_field
from .origin import Origin, caller, origin_text, place_of
from .snapshot import snapshot
from .surrogates import Surrogate, checked_surrogate
from .types import TensorType
from .versions import (
    checked_opset,
    default_axis,
    hardmax_version,
    max_version,
    operator_text,
)

N = TypeVar("N", bound=Node)


class Input(Node):
    """A named array that is passed when the graph runs.

    Args:
        name: What programs, errors and ONNX call it.
        dtype: Anything that names one of the twelve dtypes; None leaves it open.
        shape: Sizes, names ("batch", "2*(H//2)") and None for an unknown dim; None leaves the
            rank open.

    >>> Input("x", "float32", ("batch", 3)).type
    TensorType('float32', ('batch', 3))

    Raises:
        TypeInferenceError: the name is no string, or the dtype none of the twelve.
        ShapeError: a dim is no dim.
    """

    __slots__ = __match_args__ = ("name", "declared")
    name: str
    declared: TensorType

    def __init__(self, name: str, dtype: Any = None, shape: Any = None) -> None:
        if not isinstance(name, str) or not name:
            raise TypeInferenceError(f"{name!r} is not a name.", "Name an Input by a string.")
        origin = caller()
        try:
            declared = TensorType(dtype, shape)
        except GraphError as error:
            raise error.within(f"Input {name!r}, made at {origin_text(origin)}") from None
        _fill(self, origin, declared, name, declared)

    @classmethod
    def of(cls, name: str, declared: TensorType, origin: Origin) -> Self:
        """An input from checked parts."""
        return _fill(object.__new__(cls), origin, declared, name, declared)


class Constant(Node):
    """A value fixed when the graph is built; a snapshot, so later writes change nothing.

    Args:
        value: An array, a list of numbers (with a dtype), or a Python int or float. A number
            without a dtype takes the dtype of the operands beside it, wherever it is used.
        dtype: None takes the array's own. Nothing is cast.

    >>> Constant([1, 2, 3], "int8").type
    TensorType('int8', (3,))

    Raises:
        TypeInferenceError: the value is no array or number, or of another dtype.
        RangeError: an int does not fit the dtype.
    """

    __slots__ = __match_args__ = ("data", "declared")
    data: bytes | int | float
    declared: TensorType

    def __init__(self, value: Any, dtype: Any = None) -> None:
        origin = caller()
        try:
            data, declared = snapshot(value, None if dtype is None else DType.of(dtype))
        except GraphError as error:
            raise error.within(f"Constant, made at {origin_text(origin)}") from None
        _fill(self, origin, declared, data, declared)

    @classmethod
    def of_bytes(
        cls, data: bytes | int | float, declared: TensorType, origin: Origin | None = None
    ) -> Self:
        """A constant from its elements, little-endian in C order."""
        return _fill(object.__new__(cls), origin or caller(), declared, data, declared)

    @property
    def is_weak(self) -> bool:
        """Whether this is a Python number that takes the dtype of the operands beside it."""
        return self.declared.dtype is None

    @property
    def number(self) -> int | float:
        """The Python number of a weak constant."""
        assert not isinstance(self.data, bytes)
        return self.data

    @property
    def elements(self) -> bytes:
        """The bytes of a constant that has a dtype."""
        assert isinstance(self.data, bytes)
        return self.data


class Max(Node):
    """ONNX Max: the element-wise maximum of one or more operands (see `maxhard.maximum`)."""

    __slots__ = __match_args__ = ("operands", "opset")
    operands: "tuple[AnyNode, ...]"
    opset: int

    def __init__(self, *operands: Any, opset: int = 13) -> None:
        origin = caller()
        try:
            checked_opset(opset)
            if not operands or not KINDS.issuperset(map(type, operands)):
                operands = _as_nodes(operands)
        except GraphError as error:
            raise error.within(_call_text("Max", opset, origin)) from None
        set_field(self, "_code", origin[0])
        set_field(self, "_instruction", origin[1])
        set_field(self, "_type", None)
        set_field(self, "operands", operands)
        set_field(self, "opset", opset)

    @classmethod
    def of(cls, operands: "tuple[AnyNode, ...]", opset: int, origin: Origin) -> Self:
        """A Max from checked parts."""
        return _fill(object.__new__(cls), origin, None, operands, opset)

    @property
    def version(self) -> int:
        """The operator version that the opset binds to."""
        return max_version(self.opset)


class Hardmax(Node):
    """ONNX Hardmax: 1 at the first maximum, 0 elsewhere (see `maxhard.hardmax`)."""

    __slots__ = __match_args__ = ("operand", "axis", "opset", "surrogate")
    operand: "AnyNode"
    axis: int
    opset: int
    surrogate: Surrogate | None

    def __init__(
        self,
        operand: Any,
        axis: SupportsIndex | None = None,
        *,
        opset: int = 13,
        surrogate: Surrogate | None = None,
    ) -> None:
        origin = caller()
        try:
            checked_opset(opset)
            axis = checked_axis(axis, hardmax_version(opset))
            surrogate = checked_surrogate(surrogate)
            node = operand if isinstance(operand, Node) else Constant(operand)
        except GraphError as error:
            raise error.within(_call_text("Hardmax", opset, origin)) from None
        _fill(self, origin, None, node, axis, opset, surrogate)

    @classmethod
    def of(
        cls,
        operand: "AnyNode",
        axis: int,
        opset: int,
        surrogate: Surrogate | None,
        origin: Origin,
    ) -> Self:
        """A Hardmax from checked parts."""
        return _fill(object.__new__(cls), origin, None, operand, axis, opset, surrogate)

    @property
    def version(self) -> int:
        """The operator version that the opset binds to."""
        return hardmax_version(self.opset)


AnyNode = Input | Constant | Max | Hardmax
"""The closed set: a `match` over it ends in `assert_never`."""
KINDS = frozenset({Input, Constant, Max, Hardmax})


def _as_nodes(operands: tuple[Any, ...]) -> tuple[AnyNode, ...]:
    if not any(isinstance(operand, Node) for operand in operands):
        raise no_operands(operands)
    return tuple([x if isinstance(x, AnyNode) else Constant(x) for x in operands])


def checked_axis(axis: Any, version: int) -> int:
    """`axis` as an int, the version's default for None; its range needs the rank."""
    if axis is None:
        return default_axis(version)
    try:
        if isinstance(axis, bool):
            raise TypeError
        return index(axis)
    except TypeError:
        raise TypeInferenceError(f"axis {axis!r} is not an int.", "Give an int.") from None


def no_operands(operands: tuple[Any, ...]) -> TypeInferenceError:
    """The error for a Max of nothing, or of Python numbers only, which have no dtype."""
    if not operands:
        return TypeInferenceError("Max needs at least one operand.", "Pass nodes or arrays.")
    return TypeInferenceError(
        "there is no array or node among the operands, so no dtype.",
        "Make one operand an array, or Constant(value, dtype=...).",
    )


def _call_text(operator: str, opset: Any, origin: Origin) -> str:
    return f"{operator_text(operator, opset)} at {origin_text(origin)}"


def _fill(node: N, origin: Origin, known: TensorType | None, *fields: Any) -> N:
    code, instruction = place_of(origin)
    set_field(node, "_code", code)
    set_field(node, "_instruction", instruction)
    set_field(node, "_type", known)
    for name, value in zip(type(node).__slots__, fields, strict=True):
        set_field(node, name, value)
    return node
