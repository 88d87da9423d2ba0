"""Versions converted: how a Max or Hardmax is written where an opset binds to another version.

The meaning is kept, never the number of an axis. Below version 13, Hardmax puts a single 1 into
each row of the matrix that its axis splits off; from 13 on, into each slice along the axis.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ..graph.infer import normal_axis
from ..graph.nodes import Hardmax, Max
from ..graph.types import Dim, Shape, TensorType, shape_text
from ..graph.versions import allowed_dtypes, broadcasts, flattens, hardmax_version, max_version
from .errors import OnnxError


class Direct(NamedTuple):
    """Hardmax itself, along `axis`."""

    axis: int


class Rows(NamedTuple):
    """Flatten at `axis`, Hardmax of the rows, and Reshape to `target` (None: the operand's shape).

    A Reshape of opset 13 reads the size 0 as "copy"; an operand that turns out empty may therefore
    be refused by a runtime there, and by no one from opset 14 on.
    """

    axis: int
    target: tuple[int, ...] | None


class Swapped(NamedTuple):
    """Transpose by `perm`, Hardmax along `axis`, and the same Transpose, which undoes itself."""

    perm: tuple[int, ...]
    axis: int


Form = Direct | Rows | Swapped


def hardmax_form(node: Hardmax, operand: TensorType, opset: int) -> Form:
    """How `node` is written at `opset`.

    Raises:
        OnnxError: the version there does not take the dtype.
    """
    version = hardmax_version(opset)
    _check_dtype("Hardmax", operand, version)
    shape = operand.shape
    assert shape is not None  # a model has the ranks of its inputs
    axis = normal_axis(node.axis, len(shape))
    if flattens(node.version) == flattens(version):
        return Direct(axis if version == 1 else node.axis)  # Hardmax-1 has no negative axes
    # Where all axes but one of those the matrix joins have size 1, both versions mean the same.
    if flattens(node.version):
        wide = [i for i in range(axis, len(shape)) if shape[i] != 1]
        if len(wide) < 2 or 0 in shape:
            return Direct(wide[0] if wide else axis)
        return Rows(axis, reshape_target(shape))
    if all(dim == 1 for dim in shape[axis + 1 :]):
        return Direct(axis)
    last = len(shape) - 1
    perm = list(range(len(shape)))
    perm[axis], perm[last] = last, axis
    return Swapped(tuple(perm), last)


def reshape_target(shape: Sequence[Dim]) -> tuple[int, ...] | None:
    """`shape` as a constant for Reshape, or None where two or more dims are not known."""
    target = [dim if isinstance(dim, int) else -1 for dim in shape]
    return tuple(target) if target.count(-1) < 2 else None


def check_max(node: Max, operands: Sequence[TensorType], result: TensorType, opset: int) -> Shape:
    """The shape that constants among the operands have to be given at `opset`; None for their own.

    Raises:
        OnnxError: the version there does not take the dtype, or does not broadcast.
    """
    version = max_version(opset)
    _check_dtype("Max", result, version)
    if broadcasts(version) or not broadcasts(node.version):
        return None  # Max-1 and Max-6 have promised equal shapes
    shape = result.shape
    shapes = {operand.shape for operand in operands}
    if shapes == {shape} and shape is not None and None not in shape:
        return None
    if shape is not None and all(isinstance(dim, int) for dim in shape):
        return shape
    raise not_equal(operands, version)


def not_equal(operands: Sequence[TensorType], version: int) -> OnnxError:
    """The error for operands that Max-1 and Max-6 would have to broadcast."""
    shapes = dict.fromkeys(shape_text(operand.shape) for operand in operands)
    return OnnxError(
        f"Max-{version} does not broadcast, and the shapes {' and '.join(shapes)} are not known "
        "to be equal.",
        "Write opset 8 or newer, or give every operand one shape.",
    )


def spread_size(shape: Shape, type_: TensorType) -> int:
    """How many bytes a constant takes once it has `shape`."""
    assert shape is not None
    assert type_.dtype is not None
    return prod(dim for dim in shape if isinstance(dim, int)) * type_.dtype.itemsize


def _check_dtype(operator: str, type_: TensorType, version: int) -> None:
    allowed = allowed_dtypes(operator, version)
    if type_.dtype not in allowed:
        raise OnnxError(
            f"{operator}-{version} takes {', '.join(sorted(allowed))}, not {type_.dtype}.",
            "Write a newer opset: nothing is cast.",
        )
