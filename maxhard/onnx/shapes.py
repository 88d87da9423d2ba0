"""Rules for the operators that compute shapes, or that reshape what is known."""

from typing import Any

import numpy as np
from onnx import AttributeProto

from ..graph.dtypes import DType
from ..graph.scalars import encode
from .facts import (
    Fill,
    Iota,
    Known,
    Rows,
    Size,
    Sizes,
    Winner,
    as_fill,
    as_size,
    as_sizes,
    shape_vector,
    sizes_of,
)
from .operation import Foreign, Operation, Value
from .tensors import DTYPES, decode


def shape(op: Operation) -> Value:
    value = op.operand(0)
    sizes = sizes_of(value)
    if sizes is None:
        raise Foreign
    end = op.integer("end", len(sizes))
    return shape_vector(sizes[op.integer("start", 0) : end])


def gather(op: Operation) -> Value:
    match op.operands:
        case (Known(data, dtype), Known(indices)) if data.ndim == 1 and not op.integer("axis", 0):
            if indices.dtype.kind == "i" and np.all(
                (-data.size <= indices) & (indices < data.size)
            ):
                taken = np.empty(indices.shape, data.dtype)
                taken[...] = data[indices]
                return Known(taken, dtype)
    raise Foreign


def concat(op: Operation) -> Value:
    parts = [value for value in op.operands if isinstance(value, Known) and value.array.ndim == 1]
    if not parts or len(parts) < len(op.operands) or op.integer("axis", 0):
        raise Foreign
    return Known(np.concatenate([part.array for part in parts]), parts[0].dtype)


def range_(op: Operation) -> Value:
    match op.operands:
        case (Known(dtype=dtype) as start, limit, step):
            size = as_size(limit)
            if size is not None and as_size(start) == 0 and as_size(step) == 1:
                return Iota((size,), 0, dtype)
    raise Foreign


def expand(op: Operation) -> Value:
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


def constant_of_shape(op: Operation) -> Value:
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


def unsqueeze(op: Operation) -> Value:
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


def squeeze(op: Operation) -> Value:
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


def reshape(op: Operation) -> Value:
    value, target = op.operand(0), as_sizes(op.operand(1))
    if target is None or value is None:
        raise Foreign
    copies = not op.flag("allowzero", False)
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
