"""What is known of tensors between an ArgMax and the one-hot encoding that it ends in.

Other operators than Max and Hardmax are looked through as far as these facts reach: which index
of which axis a tensor holds, which shape, which constant. Nothing the size of a tensor is made.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..backends.arrays import from_bytes
from ..graph.dtypes import DType
from ..graph.node import Node
from ..graph.nodes import AnyNode, Hardmax
from ..graph.scalars import encode
from ..graph.types import TensorType


@dataclass(frozen=True)
class Unnamed:
    """The size of an axis of which nothing is known."""

    node: AnyNode
    axis: int


Size = Hashable
"""An int, a dim's name, or an `Unnamed`: equal ones are one size."""
Sizes = tuple[Size, ...]


class Winner(NamedTuple):
    """The index of the first maximum along an axis, which is kept with size 1 or left out."""

    source: AnyNode
    axis: int
    kept: bool


class Hot(NamedTuple):
    """1 at the first maximum, 0 elsewhere, in a dtype or (None) as booleans."""

    source: AnyNode
    axis: int
    dtype: DType | None


class Known(NamedTuple):
    """A constant, or a shape: elements are numbers, or sizes that are not known yet."""

    array: "np.ndarray[Any, Any]"
    dtype: DType


class Iota(NamedTuple):
    """The index along one axis of a tensor of these sizes."""

    sizes: Sizes
    axis: int
    dtype: DType


class Fill(NamedTuple):
    """One number everywhere in a tensor of these sizes."""

    number: bytes
    dtype: DType
    sizes: Sizes


class Moved(NamedTuple):
    """A node's value with its axes permuted."""

    node: AnyNode
    perm: tuple[int, ...]


class Rows(NamedTuple):
    """A node's value as the matrix that an axis splits off (ONNX Flatten)."""

    node: AnyNode
    axis: int


Fact = Winner | Hot | Known | Iota | Fill | Moved | Rows


def sizes_of(value: "AnyNode | Fact | None") -> Sizes | None:
    """The sizes of a node or of what a fact tells about, or None where they are not known."""
    match value:
        case Winner(source, axis, kept):
            sizes = sizes_of(source)
            assert sizes is not None
            return (*sizes[:axis], *([1] if kept else []), *sizes[axis + 1 :])
        case Hot(source):
            return sizes_of(source)
        case Known(array):
            shape: tuple[int, ...] = array.shape
            return shape
        case Iota(sizes) | Fill(sizes=sizes):
            return sizes
        case Moved(node, perm):
            sizes = sizes_of(node)
            assert sizes is not None
            return tuple(sizes[axis] for axis in perm)
        case Node() if value.shape is not None:
            node = value
            while isinstance(node, Hardmax):  # which has the shape of its operand
                node = node.operand
            dims = enumerate(value.shape)
            return tuple(Unnamed(node, i) if dim is None else dim for i, dim in dims)
    return None


def known_constant(data: bytes, type_: TensorType) -> Known:
    """A constant of the model."""
    assert type_.dtype is not None
    return Known(from_bytes(data, type_), type_.dtype)


def shape_vector(sizes: Sizes) -> Known:
    """A shape as a tensor."""
    array = np.empty(len(sizes), object)
    for i, size in enumerate(sizes):
        array[i] = size
    return Known(array, DType.INT64)


def as_sizes(value: Any) -> Sizes | None:
    """The elements of a vector of sizes."""
    match value:
        case Known(array, DType.INT64 | DType.INT32) if array.ndim == 1:
            return tuple(array.tolist())
    return None


def as_size(value: Any) -> Size | None:
    """The element of a tensor that holds one size."""
    match value:
        case Known(array, DType.INT64 | DType.INT32) if array.size == 1:
            size: Size = array.reshape(-1).tolist()[0]
            return size
    return None


def as_fill(value: Any) -> Fill | None:
    """A constant of equal elements as one."""
    match value:
        case Fill():
            return value
        case Known(array, dtype) if array.size and array.dtype != object:
            first = array.reshape(-1)[:1].tobytes()
            if array.tobytes() == first * array.size:
                return Fill(first, dtype, array.shape)
    return None


def is_number(value: Any, number: int, sizes: Sizes | None) -> bool:
    """Whether a tensor of `sizes` (None: of one element) is `number` everywhere; +0 is not -0."""
    fill = as_fill(value)
    if fill is None or fill.number != encode(number, fill.dtype):
        return False
    return fill.sizes == sizes if sizes is not None else all(size == 1 for size in fill.sizes)


def counts_along(value: Any, back: int, sizes: Sizes) -> bool:
    """Whether a tensor that broadcasts to `sizes` holds the index along the axis `back` from last.

    Both have the same size on that axis.
    """
    match value:
        case Iota(own, axis):
            right = len(own) - axis == back
        case Known(array) if array.dtype.kind in "iu" and array.ndim >= back:
            own = array.shape
            ramp = np.arange(own[-back]).reshape(-1, *[1] * (back - 1))
            right = bool(np.all(array == ramp))
        case _:
            return False
    if not right or len(own) > len(sizes) or own[-back] != sizes[-back]:
        return False
    return all(mine in (1, full) for mine, full in zip(own[::-1], sizes[::-1], strict=False))
