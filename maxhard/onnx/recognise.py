"""Hardmax in the forms that exporters write: ArgMax and a one-hot encoding, step by step.

torch.onnx.export, jax2onnx, ndonnx and tf2onnx write ArgMax followed by OneHot, by Equal with a
range and Cast, or by ScatterElements. `to_onnx` writes Transpose or Flatten and Reshape around a
Hardmax of another version. Each rule below gives the fact that follows, or the node itself once a
one-hot encoding has its source's dtype; `Foreign` where the two might differ.
"""

from collections.abc import Callable

import numpy as np
from onnx import AttributeProto, TensorProto

from ..graph.dtypes import DType
from ..graph.infer import normal_axis
from ..graph.node import Node
from ..graph.nodes import AnyNode, Hardmax
from . import shapes
from .facts import (
    Fact,
    Hot,
    Iota,
    Known,
    Moved,
    Rows,
    Winner,
    as_fill,
    as_size,
    counts_along,
    is_number,
    sizes_of,
)
from .operation import Foreign, Operation, Value
from .tensors import DTYPES


def recognise(operation: Operation) -> Value:
    """What an operator of `RULES` gives, as far as it is known."""
    try:
        return RULES[operation.proto.op_type](operation)
    except Foreign:
        return None


def hardmax_of(operand: Value, axis: int, is_legacy: bool, operation: Operation) -> Fact | None:
    """Hardmax of permuted axes or of rows, as the permutation or the rows of a Hardmax."""
    match operand:
        case Moved(node, perm) if -len(perm) <= axis < len(perm):
            if not is_legacy or axis in (-1, len(perm) - 1):
                return Moved(_hardmax(node, perm[axis], operation), perm)
        case Rows(node, split) if axis in (-1, 1) and node.dtype is not DType.BFLOAT16:
            legacy = min(operation.opset, 12)
            return Rows(Hardmax.of(node, split, legacy, None, operation.origin), split)
    return None


def _hardmax(node: AnyNode, axis: int, operation: Operation) -> Hardmax:
    # Slices along one axis, whatever the model's opset: that is Hardmax-13.
    return Hardmax.of(node, axis, max(operation.opset, 13), None, operation.origin)


def _encoded(hot: Hot, operation: Operation) -> Value:
    if hot.dtype is not None and hot.dtype == hot.source.dtype:
        return _hardmax(hot.source, hot.axis, operation)
    return hot


def _arg_max(op: Operation) -> Value:
    match op.operand(0):
        case Node() as source if source.shape and source.dtype and source.dtype.is_float:
            axis = op.integer("axis", 0)
            if op.flag("select_last_index", False) or not -len(source.shape) <= axis < len(
                source.shape
            ):
                raise Foreign
            axis = normal_axis(axis, len(source.shape))
            if source.shape[axis] == 0:
                raise Foreign  # ArgMax of nothing is an error, Hardmax is empty
            return Winner(source, axis, op.flag("keepdims", True))
    raise Foreign


def _one_hot(op: Operation) -> Value:
    match op.operands:
        case (Winner(source, axis, kept=False), depth, Known(values, dtype)):
            sizes = sizes_of(source)
            assert sizes is not None
            place = op.integer("axis", -1)
            wanted = np.array([0, 1]).astype(values.dtype)
            if place not in (axis, axis - len(sizes)) or as_size(depth) != sizes[axis]:
                raise Foreign
            if values.shape != (2,) or values.tobytes() != wanted.tobytes():
                raise Foreign
            return _encoded(Hot(source, axis, dtype), op)
    raise Foreign


def _equal(op: Operation) -> Value:
    match op.operands:
        case (Winner() as winner, other) | (other, Winner() as winner):
            sizes = sizes_of(winner.source)
            assert sizes is not None
            back = len(sizes) - winner.axis
            if not winner.kept and (winner.axis or len(sizes_of(other) or ()) != len(sizes)):
                raise Foreign  # an axis left out lines up by itself only where it is the first
            if counts_along(other, back, sizes):
                return Hot(winner.source, winner.axis, None)
    raise Foreign


def _where(op: Operation) -> Value:
    match op.operands:
        case (Hot(dtype=None) as hot, one, zero):
            sizes = sizes_of(hot.source)
            full = as_fill(one)
            for value, number in ((one, 1), (zero, 0)):
                one_element = len(sizes_of(value) or ()) <= len(sizes or ())
                if not (one_element and is_number(value, number, None)):
                    if not is_number(value, number, sizes):
                        raise Foreign
            assert full is not None
            return _encoded(hot._replace(dtype=full.dtype), op)
    raise Foreign


def _scatter(op: Operation) -> Value:
    match op.operands:
        case (zeros, Winner(source, axis, kept=True) as winner, ones):
            fill = as_fill(zeros)
            place = op.integer("axis", 0)
            rank = len(source.shape or ())
            reduction = op.attribute("reduction", AttributeProto.STRING)
            if fill is None or place not in (axis, axis - rank):
                raise Foreign
            if reduction is not None and reduction.s != b"none":
                raise Foreign
            if is_number(zeros, 0, sizes_of(source)) and is_number(ones, 1, sizes_of(winner)):
                return _encoded(Hot(source, axis, fill.dtype), op)
    raise Foreign


def _cast(op: Operation) -> Value:
    number = op.integer("to", 0)
    op.flag("saturate", True)
    to = DTYPES.get(number)
    match op.operand(0):
        case Hot() as hot if to is not None or number == TensorProto.BOOL:
            return _encoded(hot._replace(dtype=to), op)
        case Winner(source, axis) as winner if to is not None and not to.is_float:
            size = (sizes_of(source) or ())[axis]
            if to is DType.INT64 or (isinstance(size, int) and size <= 2 ** (to.bits - 1)):
                return winner
        case (Known() | Iota()) as value if to in (DType.INT32, DType.INT64):
            if value.dtype in (DType.INT32, DType.INT64) and (
                to is DType.INT64 or to is value.dtype
            ):
                return value._replace(dtype=to)
    raise Foreign


def _transpose(op: Operation) -> Value:
    value = op.operand(0)
    match value:
        case Node() if value.shape is not None:
            node, before = value, tuple(range(len(value.shape)))
        case Moved(node, before):
            pass
        case _:
            raise Foreign
    perm = op.integers("perm") or tuple(reversed(range(len(before))))
    if sorted(perm) != list(range(len(before))):
        raise Foreign
    after = tuple(before[axis] for axis in perm)
    return node if after == tuple(range(len(after))) else Moved(node, after)


def _flatten(op: Operation) -> Value:
    value = op.operand(0)
    axis = op.integer("axis", 1)
    if isinstance(value, Node) and value.shape and -len(value.shape) <= axis < len(value.shape):
        return Rows(value, axis % len(value.shape))
    raise Foreign


RULES: dict[str, Callable[[Operation], Value]] = {
    "ArgMax": _arg_max,
    "Cast": _cast,
    "Concat": shapes.concat,
    "ConstantOfShape": shapes.constant_of_shape,
    "Equal": _equal,
    "Expand": shapes.expand,
    "Flatten": _flatten,
    "Gather": shapes.gather,
    "OneHot": _one_hot,
    "Range": shapes.range_,
    "Reshape": shapes.reshape,
    "Scatter": _scatter,
    "ScatterElements": _scatter,
    "Shape": shapes.shape,
    "Squeeze": shapes.squeeze,
    "Transpose": _transpose,
    "Unsqueeze": shapes.unsqueeze,
    "Where": _where,
}
