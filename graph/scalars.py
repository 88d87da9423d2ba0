"""Python numbers as elements of a dtype, rounded once."""

import math
import struct

from .dtypes import DType
from .errors import RangeError, TypeInferenceError

_FORMATS = {
    DType.FLOAT16: "<e", DType.FLOAT32: "<f", DType.FLOAT64: "<d",
    DType.INT8: "<b", DType.INT16: "<h", DType.INT32: "<i", DType.INT64: "<q",
    DType.UINT8: "<B", DType.UINT16: "<H", DType.UINT32: "<I", DType.UINT64: "<Q",
}  # fmt: skip
# Significant bits, exponent of the smallest subnormal, exponent that overflows (IEEE 754 table 3.5)
_FLOAT_LIMITS = {
    DType.BFLOAT16: (8, -133, 128),
    DType.FLOAT16: (11, -24, 16),
    DType.FLOAT32: (24, -149, 128),
    DType.FLOAT64: (53, -1074, 1024),
}


def encode(number: int | float, dtype: DType) -> bytes:
    """`number` as one little-endian element of `dtype`.

    A float rounds once to nearest, ties to even (IEEE 754 section 4.3.1), so a large one gives an
    infinity.

    >>> encode(1.0, DType.BFLOAT16).hex(), encode(-1, DType.INT16).hex()
    ('803f', 'ffff')

    Raises:
        RangeError: an int lies outside the range of `dtype`.
        TypeInferenceError: a float for an integer dtype.
    """
    if dtype in _FLOAT_LIMITS:
        rounded = _nearest(number, dtype)
        if dtype is DType.BFLOAT16:  # the upper half of a float32
            return struct.pack("<f", rounded)[2:]
        return struct.pack(_FORMATS[dtype], rounded)
    if isinstance(number, float):
        raise TypeInferenceError(
            f"the float {number!r} does not fit {dtype}.", "Use an int, or a float dtype."
        )
    low = -(2 ** (dtype.bits - 1)) if dtype.startswith("int") else 0
    if not low <= number < low + 2**dtype.bits:
        raise _out_of_range(number, dtype)
    return struct.pack(_FORMATS[dtype], number)


def _nearest(number: int | float, dtype: DType) -> float:
    """The value of `dtype` nearest to `number`, as a Python float, which holds it exactly."""
    if number == 0 or (isinstance(number, float) and not math.isfinite(number)):
        return float(number)
    # Late, for it costs more than the rest of an import of maxhard.
    from fractions import Fraction

    precision, smallest, overflow = _FLOAT_LIMITS[dtype]
    exact = Fraction(number)
    exponent = number.bit_length() if isinstance(number, int) else math.frexp(number)[1]
    unit = Fraction(2) ** max(exponent - precision, smallest)
    rounded = round(exact / unit) * unit  # round() on a Fraction ties to even
    if abs(rounded) < 2**overflow:
        return math.copysign(float(rounded), number)
    if isinstance(number, int):
        raise _out_of_range(number, dtype)
    return math.copysign(math.inf, number)


def number_text(number: int | float) -> str:
    """`repr`, or the width of an int that is too long to read (and for Python to print)."""
    if isinstance(number, float) or abs(number) < 10**40:
        return repr(number)
    return f"an int of {number.bit_length()} bits"


def _out_of_range(number: int | float, dtype: DType) -> RangeError:
    return RangeError(
        f"{number_text(number)} is out of range for {dtype}.",
        "Use a number in range, or a wider dtype.",
    )
