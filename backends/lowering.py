"""What Max and Hardmax compute, written once, in array-API terms.

Floats are compared as integers of the same width wherever a library can view them so: integer
comparisons know no NaN, no signed zero and no flushing of subnormals, and they are the same on
every library. `Format` gives the numbers of IEEE 754 that the order of the bits depends on.
"""

from collections.abc import Sequence
from functools import reduce
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from ..graph.dtypes import DType

if TYPE_CHECKING:
    from .base import Backend

Array = Any
MANY = 128
"""Above so many operands, those of one shape are stacked: XLA compiles thousands of them slowly."""


class Format(NamedTuple):
    """A float format seen as signed integers."""

    integer: str
    infinity: int
    quiet_nan: int
    magnitude: int


FORMATS = {
    DType.BFLOAT16: Format("int16", 0x7F80, 0x7FC0, 2**15 - 1),
    DType.FLOAT16: Format("int16", 0x7C00, 0x7E00, 2**15 - 1),
    DType.FLOAT32: Format("int32", 0x7F800000, 0x7FC00000, 2**31 - 1),
    DType.FLOAT64: Format("int64", 0x7FF0000000000000, 0x7FF8000000000000, 2**63 - 1),
}


def max_(backend: "Backend", arrays: Sequence[Array], dtype: DType) -> Array:
    """Element-wise maximum of two or more arrays (IEEE 754-2019 `maximum`, canonical NaN)."""
    xp = backend.xp
    if dtype.is_float and not backend.has_view:
        return _max_by_standard(xp, arrays)
    if len(arrays) > MANY:
        groups: dict[tuple[int, ...], list[Array]] = {}
        for array in arrays:
            groups.setdefault(array.shape, []).append(array)
        arrays = [_max_of_stack(backend, xp.stack(group), dtype) for group in groups.values()]
    if not dtype.is_float:
        return reduce(xp.maximum, arrays)
    keys = [total_order(backend, array, dtype) for array in arrays]
    return _from_total_order(backend, reduce(xp.maximum, keys), dtype)


def _max_of_stack(backend: "Backend", stack: Array, dtype: DType) -> Array:
    if not dtype.is_float:
        return backend.xp.max(stack, axis=0)
    key = backend.xp.max(total_order(backend, stack, dtype), axis=0)
    return _from_total_order(backend, key, dtype)


def total_order(backend: "Backend", array: Array, dtype: DType) -> Array:
    """Integers in the order of Max: -0 below +0, and the canonical NaN above all."""
    xp, form = backend.xp, FORMATS[dtype]
    bits = backend.view(array, backend.dtype(form.integer))
    is_nan = (bits & form.magnitude) > form.infinity
    return xp.where(
        is_nan, _like(xp, form.quiet_nan, bits), _flip_negative(xp, bits, form.magnitude)
    )


def _from_total_order(backend: "Backend", key: Array, dtype: DType) -> Array:
    # The flip undoes itself; the canonical NaN is positive and stays.
    bits = _flip_negative(backend.xp, key, FORMATS[dtype].magnitude)
    return backend.view(bits, backend.dtype(dtype))


def _flip_negative(xp: Any, bits: Array, magnitude: int) -> Array:
    # Floats are sign and magnitude, integers two's complement: the order of negatives is reversed.
    return xp.where(bits < 0, bits ^ magnitude, bits)


def hardmax(backend: "Backend", array: Array, axis: int, dtype: DType) -> Array:
    """1 at the first maximum of each slice along `axis`, 0 elsewhere; a NaN is a maximum."""
    xp = backend.xp
    if 0 in array.shape:
        return xp.zeros_like(array)
    size = array.shape[axis]
    is_small = isinstance(size, int) and size < 2**31  # a size not known yet is no int
    index_dtype = backend.dtype(DType.INT32 if is_small else DType.INT64)
    index = xp.reshape(
        xp.arange(size, dtype=index_dtype, device=backend.device_of(array)),
        tuple(-1 if i == axis else 1 for i in range(len(array.shape))),
    )
    if not backend.has_view:
        return xp.astype(index == _argmax_by_standard(xp, array, axis), backend.dtype(dtype))
    # Not argmax: this form can be split over devices, and holds inside any caller's trace.
    key = numeric_order(backend, array, dtype)
    is_max = key == xp.max(key, axis=axis, keepdims=True)
    candidates = xp.where(is_max, index, _like(xp, size, index))
    # Not index == ...: a result that hangs on the operand lies on the devices that it lies on.
    is_first = candidates == xp.min(candidates, axis=axis, keepdims=True)
    return xp.astype(is_first, backend.dtype(dtype))


def numeric_order(backend: "Backend", array: Array, dtype: DType) -> Array:
    """Integers in the order of Hardmax: -0 and +0 are one, and each NaN above all."""
    xp, form = backend.xp, FORMATS[dtype]
    bits = backend.view(array, backend.dtype(form.integer))
    size = bits & form.magnitude
    order = xp.where(bits < 0, -size, size)
    return xp.where(size > form.infinity, _like(xp, form.magnitude, bits), order)


def _max_by_standard(xp: Any, arrays: Sequence[Array]) -> Array:
    """The same, for a library without views: what it leaves open is put right afterwards."""
    result = reduce(xp.maximum, arrays)
    any_positive_zero = reduce(xp.logical_or, [(x == 0) & ~xp.signbit(x) for x in arrays])
    result = xp.where((result == 0) & any_positive_zero, _like(xp, 0.0, result), result)
    return xp.where(xp.isnan(result), _like(xp, float("nan"), result), result)


def _argmax_by_standard(xp: Any, array: Array, axis: int) -> Array:
    is_nan = xp.isnan(array)
    first_nan = xp.argmax(xp.astype(is_nan, xp.int8), axis=axis, keepdims=True)
    numbers = xp.where(is_nan, _like(xp, -inf, array), array)
    first_max = xp.argmax(numbers, axis=axis, keepdims=True)
    return xp.where(xp.any(is_nan, axis=axis, keepdims=True), first_nan, first_max)


def _like(xp: Any, number: float, array: Array) -> Array:
    return xp.asarray(number, dtype=array.dtype)
