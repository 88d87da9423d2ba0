"""What is known of an array before it exists: its dtype and its dims."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any, NoReturn

from .dtypes import DType
from .errors import FrozenError, ShapeError

Dim = int | str | None
"""A size, a name (any non-empty string, kept verbatim), or None: unknown."""
Shape = tuple[Dim, ...] | None
"""One dim for each axis, or None: unknown rank."""


class BroadcastDim(str):
    """The dim that differently named dims have after broadcasting: `broadcast(M, N)`."""

    __slots__ = ("names",)
    names: frozenset[str]

    def __new__(cls, names: Iterable[str]) -> "BroadcastDim":
        names = frozenset(names)
        dim = super().__new__(cls, f"broadcast({', '.join(sorted(names))})")
        dim.names = names
        return dim

    def __reduce__(self) -> tuple[Any, ...]:
        return BroadcastDim, (self.names,)


class TensorType:
    """A dtype and a shape, each None where it is unknown; frozen, compared by value.

    >>> TensorType("float32", ("batch", 3))
    TensorType('float32', ('batch', 3))
    >>> print(TensorType("bfloat16", ("n", None)), TensorType(None, None))
    bfloat16[n, ?] ?[...]

    Raises:
        TypeInferenceError: the dtype is none of the twelve.
        ShapeError: a dim is neither a size, a non-empty name, nor None.
    """

    # Not a dataclass: importing those takes as long as all of maxhard.
    __slots__ = __match_args__ = ("dtype", "shape")
    dtype: DType | None
    shape: Shape

    def __init__(self, dtype: Any = None, shape: Any = None) -> None:
        known = dtype is None or type(dtype) is DType
        object.__setattr__(self, "dtype", dtype if known else DType.of(dtype))
        object.__setattr__(self, "shape", None if shape is None else checked_shape(shape))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise FrozenError(f"types are frozen: {name} cannot be set.", "Make another TensorType.")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenError(f"types are frozen: {name} cannot go.", "Make another TensorType.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorType):
            return NotImplemented
        return self.dtype == other.dtype and self.shape == other.shape

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape))

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorType, (self.dtype, self.shape)

    def __repr__(self) -> str:
        dtype = None if self.dtype is None else self.dtype.value
        return f"TensorType({dtype!r}, {self.shape!r})"

    def __str__(self) -> str:
        dims = "..." if self.shape is None else ", ".join(map(_dim_text, self.shape))
        return f"{self.dtype or '?'}[{dims}]"


def checked_shape(shape: Any) -> tuple[Dim, ...]:
    """`shape` as a tuple of dims, or a `ShapeError` that names the dim that is none."""
    if isinstance(shape, str) or not isinstance(shape, Iterable):
        raise ShapeError(
            f"{shape!r} is not a shape.", "Give a tuple of dims, such as ('batch', 3), or None."
        )
    return tuple(dim if type(dim) is int and dim >= 0 else _checked_dim(dim) for dim in shape)


def _checked_dim(dim: Any) -> Dim:
    if dim is None or (isinstance(dim, str) and dim):
        return dim
    try:  # NumPy integers are sizes; bool is an int but no size
        size = None if isinstance(dim, bool) else dim.__index__()
    except AttributeError:
        size = None
    if size is None or size < 0:
        raise ShapeError(
            f"{dim!r} is not a dim.", "A dim is a size >= 0, a non-empty name, or None (unknown)."
        )
    return int(size)


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """The shape that `shapes` have together, by NumPy's rules (ONNX multidirectional broadcasting).

    Sizes 1 drop out. A size other than 1 wins over names and unknown dims, which have to turn out
    1 or that size once arrays are bound. Equal names stay; different names give
    `broadcast(M, N)`; an unknown dim beside a name is unknown. An unknown rank stays unknown.

    >>> broadcast([("N", 1), (3,)])
    ('N', 3)
    >>> broadcast([("N",), ("M",)])
    ('broadcast(M, N)',)

    Raises:
        ShapeError: two different sizes other than 1 meet on one axis.
    """
    known = [shape for shape in shapes if shape is not None]
    axes = list(zip_longest(*(reversed(shape) for shape in known), fillvalue=1))
    # Each axis is looked at even where a rank is unknown: two sizes clash all the same.
    dims = [_broadcast_dims(column, -1 - i, known) for i, column in enumerate(axes)]
    return tuple(reversed(dims)) if len(known) == len(shapes) else None


def _broadcast_dims(dims: Sequence[Dim], axis: int, shapes: Sequence[Shape]) -> Dim:
    distinct = set(dims) - {1}
    sizes = sorted(dim for dim in distinct if isinstance(dim, int))
    if len(sizes) > 1:
        raise ShapeError(
            f"shapes {' and '.join(dict.fromkeys(map(shape_text, shapes)))} do not broadcast: "
            f"axis {axis} has sizes {' and '.join(map(str, sizes))}.",
            "Give that axis one size in every operand, or size 1.",
        )
    if sizes or not distinct:
        return sizes[0] if sizes else 1
    if None in distinct:
        return None
    if len(distinct) == 1:
        return distinct.pop()
    names = (dim.names if isinstance(dim, BroadcastDim) else {str(dim)} for dim in distinct)
    return BroadcastDim(frozenset().union(*names))


def equal_shape(shapes: Sequence[Shape]) -> Shape:
    """The one shape that all of `shapes` are promised to have (Max-1 and Max-6).

    Raises:
        ShapeError: ranks or sizes differ, or a size stands against a 1.
    """
    known = [shape for shape in shapes if shape is not None]
    if not known:
        return None
    if len({len(shape) for shape in known}) > 1:
        raise _unequal(known)
    return tuple(_equal_dims(column, known) for column in zip(*known, strict=True))


def _equal_dims(dims: Sequence[Dim], shapes: Sequence[Shape]) -> Dim:
    sizes = {dim for dim in dims if isinstance(dim, int)}
    if len(sizes) > 1:
        raise _unequal(shapes)
    names = [dim for dim in dims if isinstance(dim, str)]
    return sizes.pop() if sizes else names[0] if names else None


def _unequal(shapes: Sequence[Shape]) -> ShapeError:
    return ShapeError(
        "inputs must have the same shape, got "
        f"{' and '.join(dict.fromkeys(map(shape_text, shapes)))}.",
        "Broadcasting came with Max-8: use opset 8 or newer, or give every input one shape.",
    )


def shape_text(shape: Shape) -> str:
    """`[N, 3]`; `[...]` for an unknown rank."""
    return "[...]" if shape is None else f"[{', '.join(map(_dim_text, shape))}]"


def _dim_text(dim: Dim) -> str:
    return "?" if dim is None else str(dim)
