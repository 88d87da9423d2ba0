"""Hardmax in the forms that exporters write: ArgMax and a one-hot encoding, step by step.

torch.onnx.export, jax2onnx, ndonnx and tf2onnx write ArgMax followed by OneHot, by Equal with a
range and Cast, or by ScatterElements. `to_onnx` writes Transpose or Flatten and Reshape around a
Hardmax of another version. Each rule below gives the fact that follows, or the node itself once a
one-hot encoding has its source's dtype; `Foreign` where the two might differ.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from onnx import AttributeProto, NodeProto, TensorProto

from ..graph.dtypes import DType
from ..graph.infer import normal_axis
from ..graph.node import Node
from ..graph.nodes import AnyNode, Hardmax
from ..graph.scalars import encode
from .facts import (
    Fact,
    Fill,
    Hot,
    Iota,
    Known,
    Moved,
    Rows,
    Size,
    Sizes,
    Winner,
    as_fill,
    as_size,
    as_sizes,
    counts_along,
    is_number,
    shape_vector,
    sizes_of,
)
from .tensors import DTYPES, decode

Value = AnyNode | Fact | None


class Foreign(Exception):
    """An operator that tells nothing: it is left as it is."""


class Operation(NamedTuple):
    """One operator of the model, with what is known of its operands."""

    proto: NodeProto
    opset: int
    origin: str
    operands: tuple[Value, ...]

    def attribute(self, name: str, kind: int) -> AttributeProto | None:
        found = [each for each in self.proto.attribute if each.name == name]
        if found and (found[0].type != kind or found[0].ref_attr_name):
            raise Foreign
        return found[0] if found else None

    def integer(self, name: str, default: int) -> int:
        found = self.attribute(name, AttributeProto.INT)
        return default if found is None else found.i

    def integers(self, name: str) -> tuple[int, ...] | None:
        found = self.attribute(name, AttributeProto.INTS)
        return None if found is None else tuple(found.ints)

    def operand(self, index: int) -> Value:
        return self.operands[index] if index < len(self.operands) else None


def recognise(operation: Operation) -> AnyNode | Fact | None:
    """What an operator other than Max and Hardmax gives, as far as it is known."""
    rule = _RULES.get(operation.proto.op_type)
    try:
        return rule(operation) if rule else None
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
            if op.integer("select_last_index", 0) or not -len(source.shape) <= axis < len(
                source.shape
            ):
                raise Foreign
            axis = normal_axis(axis, len(source.shape))
            if source.shape[axis] == 0:
                raise Foreign  # ArgMax of nothing is an error, Hardmax is empty
            return Winner(source, axis, bool(op.integer("keepdims", 1)))
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


def _shape(op: Operation) -> Value:
    value = op.operand(0)
    sizes = sizes_of(value)
    if sizes is None:
        raise Foreign
    end = op.integer("end", len(sizes))
    return shape_vector(sizes[op.integer("start", 0) : end])


def _gather(op: Operation) -> Value:
    match op.operands:
        case (Known(data, dtype), Known(indices)) if data.ndim == 1 and not op.integer("axis", 0):
            if indices.dtype.kind == "i" and np.all(
                (-data.size <= indices) & (indices < data.size)
            ):
                taken = np.empty(indices.shape, data.dtype)
                taken[...] = data[indices]
                return Known(taken, dtype)
    raise Foreign


def _concat(op: Operation) -> Value:
    parts = [value for value in op.operands if isinstance(value, Known) and value.array.ndim == 1]
    if not parts or len(parts) < len(op.operands) or op.integer("axis", 0):
        raise Foreign
    return Known(np.concatenate([part.array for part in parts]), parts[0].dtype)


def _range(op: Operation) -> Value:
    match op.operands:
        case (Known(dtype=dtype) as start, limit, step):
            size = as_size(limit)
            if size is not None and as_size(start) == 0 and as_size(step) == 1:
                return Iota((size,), 0, dtype)
    raise Foreign


def _expand(op: Operation) -> Value:
    target = as_sizes(op.operand(1))
    value = op.operand(0)
    if target is None or value is None:
        raise Foreign
    if target == sizes_of(value):
        return value
    match value:
        case Known() if value.array.size == 1 and value.array.ndim <= len(target):
            fill = as_fill(value)
            if fill is not None:
                return fill._replace(sizes=target)
    raise Foreign


def _constant_of_shape(op: Operation) -> Value:
    sizes = as_sizes(op.operand(0))
    value = op.attribute("value", AttributeProto.TENSOR)
    if sizes is None:
        raise Foreign
    if value is None:
        return Fill(encode(0, DType.FLOAT32), DType.FLOAT32, sizes)
    if list(value.t.dims) != [1] or value.t.data_type not in DTYPES:
        raise Foreign
    data, type_ = decode(value.t, "a constant", None)
    assert type_.dtype is not None
    return Fill(data, type_.dtype, sizes)


def _axes(op: Operation) -> tuple[int, ...] | None:
    """The axes of Squeeze and Unsqueeze: an attribute, and an operand from opset 13 on."""
    if op.opset < 13:
        return op.integers("axes")
    if op.operand(1) is None:
        if len(op.proto.input) > 1:
            raise Foreign
        return None
    axes = as_sizes(op.operand(1))
    if axes is None or not all(isinstance(axis, int) for axis in axes):
        raise Foreign
    return axes  # type: ignore[return-value]


def _unsqueeze(op: Operation) -> Value:
    axes, value = _axes(op), op.operand(0)
    sizes = sizes_of(value)
    if axes is None or sizes is None:
        raise Foreign
    rank = len(sizes) + len(axes)
    places = {axis % rank for axis in axes if -rank <= axis < rank}
    if len(places) < len(axes):
        raise Foreign
    rest = iter(sizes)
    return _with_sizes(value, tuple(1 if i in places else next(rest) for i in range(rank)))


def _squeeze(op: Operation) -> Value:
    axes, value = _axes(op), op.operand(0)
    sizes = sizes_of(value)
    if sizes is None:
        raise Foreign
    if axes is None:
        if not all(isinstance(size, int) for size in sizes):
            raise Foreign  # which of them go is not known yet
        axes = tuple(i for i, size in enumerate(sizes) if size == 1)
    places = {axis % len(sizes) for axis in axes if -len(sizes) <= axis < len(sizes)}
    if len(places) < len(axes) or any(sizes[place] != 1 for place in places):
        raise Foreign
    return _with_sizes(value, tuple(size for i, size in enumerate(sizes) if i not in places))


def _reshape(op: Operation) -> Value:
    value, target = op.operand(0), as_sizes(op.operand(1))
    if target is None or value is None:
        raise Foreign
    copies = not op.integer("allowzero", 0)
    if isinstance(value, Rows):
        full = sizes_of(value.node)
        if full is not None and _means(target, full, None, copies):
            return value.node
        raise Foreign
    sizes = sizes_of(value)
    if sizes is None:
        raise Foreign
    if all(isinstance(size, int) and size > 0 for size in target):
        return _with_sizes(value, target)
    for wanted in _layouts(value, sizes):
        if _means(target, wanted, sizes, copies):
            return _with_sizes(value, wanted)
    raise Foreign


def _layouts(value: Value, sizes: Sizes) -> list[Sizes]:
    """The sizes that a reshape of `value` is looked at for: its own, and its axis kept or not."""
    match value:
        case Winner():
            other = sizes_of(value._replace(kept=not value.kept))
            assert other is not None
            return [sizes, other]
        case _:
            return [sizes, (1, *sizes), (*sizes, 1)]


def _means(target: Sizes, wanted: Sizes, given: Sizes | None, copies: bool) -> bool:
    """Whether Reshape to `target` gives the sizes `wanted`, which hold as many elements."""
    if len(target) != len(wanted) or target.count(-1) > 1:
        return False
    for i, (size, want) in enumerate(zip(target, wanted, strict=True)):
        is_copied = size == 0 and copies
        if is_copied and (given is None or i >= len(given) or given[i] != want):
            return False
        if size not in (-1, want) and not is_copied:
            return False
    return True


def _with_sizes(value: Value, sizes: Sizes) -> Value:
    """`value` reshaped to `sizes`, where what is known of it still holds."""
    if sizes == sizes_of(value):
        return value
    match value:
        case Winner():
            other = value._replace(kept=not value.kept)
            if sizes_of(other) == sizes:
                return other
        case Iota(own, axis, dtype):
            places = [i for i, size in enumerate(sizes) if size != 1]
            ones = sum(size == 1 for size in own) == len(own) - 1
            if ones and own[axis] != 1 and len(places) == 1 and sizes[places[0]] == own[axis]:
                return Iota(sizes, places[0], dtype)
        case Known(array, dtype) if all(isinstance(size, int) for size in sizes):
            shape: Any = sizes
            if np.prod(shape, dtype=object) == array.size and len(sizes) <= 64:
                return Known(array.reshape(shape), dtype)
        case Fill() if _same_but_ones(value.sizes, sizes):
            return value._replace(sizes=sizes)
    raise Foreign


def _same_but_ones(some: Sizes, others: Sizes) -> bool:
    def rest(sizes: Sizes) -> list[Size]:
        return [size for size in sizes if size != 1]

    return rest(some) == rest(others)


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


_RULES: dict[str, Callable[[Operation], Value]] = {
    "ArgMax": _arg_max,
    "Cast": _cast,
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Equal": _equal,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "OneHot": _one_hot,
    "Range": _range,
    "Reshape": _reshape,
    "Scatter": _scatter,
    "ScatterElements": _scatter,
    "Shape": _shape,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
