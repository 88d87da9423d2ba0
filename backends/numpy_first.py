"""The first maximum of each slice along the middle axis of (outer, n, inner), on NumPy.

Where `inner` is long, a reduction and a comparison run along it at full speed; short rows are
transposed to that form first; long rows are what `argmax` is fast at. Ties and NaNs cost the same
as other data: the first of several maxima is found by a second reduction, over one byte for each
element.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .blocks import Scratch
from .lowering import Format
from .numpy_max import fold

Array = Any

SHORT = 64
"""Rows below this length are transposed, and inner axes below it are not worth reducing along."""
ROWS = 64
"""How much of a long axis is compared at a time; at most 255, as the index is a byte."""


def first_of(x: Array, scratch: Scratch, with_maximum: bool) -> tuple[Array, Array]:
    """The maximum along the middle axis and its first index; a NaN is a maximum."""
    outer, n, inner = x.shape
    if inner >= SHORT:
        return _by_comparison(x, scratch)
    if n >= SHORT:
        index = x.argmax(axis=1)
        maximum = np.take_along_axis(x, index[:, None], axis=1)[:, 0] if with_maximum else None
        return maximum, index
    turned = scratch.empty("turned", (n, outer, inner), x.dtype)
    np.copyto(turned, x.transpose(1, 0, 2))
    maximum, index = _by_comparison(turned.reshape(1, n, outer * inner), scratch)
    return maximum.reshape(outer, inner), index.reshape(outer, inner)


def _by_comparison(x: Array, scratch: Scratch) -> tuple[Array, Array]:
    slices = x.shape[:1] + x.shape[2:]
    maximum = np.maximum.reduce(x, axis=1, out=scratch.empty("maximum", slices, x.dtype))
    mark = scratch.empty("marks", x.shape, np.uint8)
    np.equal(x, maximum[:, None], out=mark.view(bool))
    index = _first_mark(mark, scratch)
    if x.dtype.kind == "f":
        is_nan = maximum != maximum
        if is_nan.any():
            np.not_equal(x, x, out=mark.view(bool))
            np.copyto(index, _first_mark(mark, scratch), where=is_nan)
    return maximum, index


def _first_mark(mark: Array, scratch: Scratch) -> Array:
    # marks weigh the more the earlier they are, so that the heaviest is the first
    n = mark.shape[1]
    weights = scratch.made(
        "weights", (n,), lambda: np.arange(n, 0, -1, dtype=np.uint8).reshape(n, 1)
    )
    mark *= weights
    return np.subtract(n, np.maximum.reduce(mark, axis=1), dtype=np.intp)


def values(
    arrays: Sequence[Array], shape: tuple[int, ...], form: Format, scratch: Scratch
) -> Array:
    """What to compare: Max of the arrays, but for the bits of zeros and NaNs, which are equal."""
    if arrays[0].dtype.kind == "f":
        if len(arrays) == 1:
            return arrays[0]
        out = scratch.empty("values", shape, arrays[0].dtype)
        fold(np.maximum, arrays, out)
        return out
    out = scratch.empty("values", shape, np.uint16)
    _order(arrays[0], out, form, scratch)
    for array in arrays[1:]:
        other = scratch.empty("others", shape, np.uint16)
        _order(array, other, form, scratch)
        np.maximum(out, other, out=out)
    return out


def _order(bits: Array, out: Array, form: Format, scratch: Scratch) -> None:
    """uint16 in the order of 16-bit floats: zeros are equal, and all NaNs one above the rest."""
    signs = scratch.empty("signs", out.shape, np.int16)
    order = out.view(np.int16)
    np.absolute(bits, out=order)
    np.bitwise_and(bits, -(2**15), out=signs)
    np.bitwise_xor(order, signs, out=order)  # now -magnitude where negative
    np.add(out, np.uint16(form.infinity), out=out)  # negative NaNs, the lowest, turn over
    nan = scratch.made(
        "nan", out.shape, lambda: np.full(out.shape, 2 * form.infinity + 1, np.uint16)
    )
    np.minimum(out, nan, out=out)
