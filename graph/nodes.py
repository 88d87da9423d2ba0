"""The nodes of a graph: Input, Constant, Max and Hardmax; a closed set."""

from operator import index
from typing import Any, Never, NoReturn, Self, TypeVar

from .dtypes import DType
from .errors import GraphError, LazyError, TypeInferenceError
from .origin import Origin, caller, origin_text
from .snapshot import snapshot
from .types import Shape, TensorType
from .versions import checked_opset, default_axis, hardmax_version, max_version

_set = object.__setattr__  # nodes are frozen for everybody else
N = TypeVar("N", bound="Node")


class Node:
    """An array that does not exist yet: frozen, compared by identity, typed when asked.

    `type`, `dtype`, `shape` and `ndim` are inferred from the operands and remembered.
    """

    __slots__ = ("_origin", "_type")
    _origin: Origin
    _type: TensorType | None

    @property
    def origin(self) -> str:
        """The line of the caller's code that made this node: `file.py:12`."""
        return origin_text(self._origin)

    @property
    def type(self) -> TensorType:
        """Dtype and shape, as far as they are known before the graph runs.

        Raises:
            TypeInferenceError, ShapeError: the node, or one it depends on, breaks a rule of its
                operator version.
        """
        if self._type is None:
            from .infer import infer

            infer(self)  # type: ignore[arg-type]
        assert self._type is not None
        return self._type

    @property
    def dtype(self) -> DType | None:
        """The element type, or None while it is open."""
        return self.type.dtype

    @property
    def shape(self) -> Shape:
        """A tuple of sizes, names and None (unknown), or None for an unknown rank."""
        return self.type.shape

    @property
    def ndim(self) -> int | None:
        """The rank, or None while it is unknown."""
        return None if self.shape is None else len(self.shape)

    def __repr__(self) -> str:
        from .show import one_line

        return one_line(self)  # type: ignore[arg-type]

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"nodes are frozen: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"nodes are frozen: cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        from .flat import flatten, restore_one

        return restore_one, (flatten([self]),)  # type: ignore[list-item]

    def _lazy(self, *args: Any, **kwargs: Any) -> Never:
        raise LazyError(
            f"{self!r} holds no values.",
            "Run it first: maxhard.evaluate(node, {name: array}) or maxhard.compile(node)(array).",
        )

    __bool__ = __iter__ = __len__ = __array__ = __float__ = __int__ = __index__ = _lazy


class Input(Node):
    """A named array that is passed when the graph runs.

    Args:
        name: What programs, errors and ONNX call it.
        dtype: Anything that names one of the twelve dtypes; None leaves it open.
        shape: Sizes, names ("batch", "2*(H//2)") and None for an unknown dim; None leaves the
            rank open.

    >>> Input("x", "float32", ("batch", 3)).type
    TensorType(dtype=<DType.FLOAT32: 'float32'>, shape=('batch', 3))

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
    TensorType(dtype=<DType.INT8: 'int8'>, shape=(3,))

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
            if not operands or not _KINDS.issuperset(map(type, operands)):
                operands = _as_nodes(operands)
        except GraphError as error:
            raise error.within(_call_text("Max", opset, origin)) from None
        _set(self, "_origin", origin)
        _set(self, "_type", None)
        _set(self, "operands", operands)
        _set(self, "opset", opset)

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

    __slots__ = __match_args__ = ("operand", "axis", "opset")
    operand: "AnyNode"
    axis: int
    opset: int

    def __init__(self, operand: Any, axis: int | None = None, *, opset: int = 13) -> None:
        origin = caller()
        try:
            checked_opset(opset)
            axis = checked_axis(axis, hardmax_version(opset))
            node = operand if isinstance(operand, Node) else Constant(operand)
        except GraphError as error:
            raise error.within(_call_text("Hardmax", opset, origin)) from None
        _fill(self, origin, None, node, axis, opset)

    @classmethod
    def of(cls, operand: "AnyNode", axis: int, opset: int, origin: Origin) -> Self:
        """A Hardmax from checked parts."""
        return _fill(object.__new__(cls), origin, None, operand, axis, opset)

    @property
    def version(self) -> int:
        """The operator version that the opset binds to."""
        return hardmax_version(self.opset)


AnyNode = Input | Constant | Max | Hardmax
"""The closed set: a `match` over it ends in `assert_never`."""
_KINDS = frozenset({Input, Constant, Max, Hardmax})


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
    return f"{operator} (opset {opset}) at {origin_text(origin)}"


def _fill(node: N, origin: Origin, known: TensorType | None, *fields: Any) -> N:
    _set(node, "_origin", origin)
    _set(node, "_type", known)
    for name, value in zip(type(node).__slots__, fields, strict=True):
        _set(node, name, value)
    return node
