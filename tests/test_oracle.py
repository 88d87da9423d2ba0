"""The oracle against the definition of the formats, so that it can be trusted with the rest."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import oracle
from cases import FLOATS, INTEGERS, specials


def value(dtype: str, bits: int) -> Fraction | float | None:
    """The number that `bits` stand for, exactly; None for a NaN (IEEE 754 section 3.4)."""
    mantissa = oracle.MANTISSA[dtype]
    bias = (1 << (oracle.width(dtype) - mantissa - 2)) - 1
    negative, magnitude = divmod(bits, oracle.sign(dtype))
    exponent, fraction = divmod(magnitude, 1 << mantissa)
    if exponent == 2 * bias + 1:
        return None if fraction else float("-inf" if negative else "inf")
    significand = fraction + (1 << mantissa if exponent else 0)
    size = significand * Fraction(2) ** (max(exponent, 1) - bias - mantissa)
    return -size if negative else size


@pytest.mark.parametrize("dtype", FLOATS)
def test_max_is_ieee_maximum(dtype: str) -> None:
    for x, y in product(specials(dtype), repeat=2):
        left, right = value(dtype, x), value(dtype, y)
        if left is None or right is None:
            expected = oracle.nan(dtype)
        elif left == right:
            expected = min(x, y)  # equal values have equal bits, or are zeros: +0 is the lower
        else:
            expected = x if left > right else y

        result = oracle.maximum(
            dtype, [np.array(x, oracle.word(dtype)), np.array(y, oracle.word(dtype))]
        )

        assert int(result) == expected, f"{x:#x}, {y:#x}"


@pytest.mark.parametrize("dtype", INTEGERS)
def test_max_of_integers(dtype: str) -> None:
    for x, y in product(specials(dtype), repeat=2):
        operands = [np.array(bits, oracle.word(dtype)) for bits in (x, y)]

        result = oracle.maximum(dtype, operands)

        assert result.view(dtype) == max(int(bits.view(dtype)) for bits in operands)


@pytest.mark.parametrize("dtype", FLOATS)
def test_hardmax_takes_the_first_nan_or_maximum(dtype: str) -> None:
    assert value(dtype, oracle.one(dtype)) == 1
    for row in product(specials(dtype)[::3], repeat=3):
        values = [value(dtype, bits) for bits in row]
        first = 0
        for place, candidate in enumerate(values):
            best = values[first]
            if best is not None and (candidate is None or candidate > best):
                first = place

        result = oracle.hardmax(dtype, np.array(row, oracle.word(dtype)))

        assert result.tolist() == [oracle.one(dtype) * (place == first) for place in range(3)]


def test_hardmax_below_13_flattens() -> None:
    bits = np.arange(12, dtype=np.uint32).reshape(2, 3, 2)

    assert oracle.hardmax("float32", bits, opset=11).astype(bool).ravel().tolist() == (
        [False] * 5 + [True] + [False] * 5 + [True]
    )
