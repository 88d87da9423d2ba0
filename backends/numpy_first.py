"""The first maximum of each slice along the middle axis of (outer, n, inner), on NumPy.

Where `inner` is long, a reduction and a comparison run along it at full speed; short rows are
turned to that form first; long rows are what `argmax` is fast at. Ties and NaNs cost the same as
other data: the first of several maxima is found by a second reduction, over a byte or two for
each element.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .blocks import Scratch
from .lowering import Format
from .numpy_max import fold

Array = Any

NARROW = 64
"""Elements behind each of the axis below which it is not worth reducing along."""
SHORT_BYTES = 128
"""Rows below this length are turned: NumPy has vector code for `argmax` of longer ones."""
MARKED = 512
"""Elements of a slice that are compared one by one; of more, the chunk is looked for first."""
TURNED = 512
"""Short rows turned at a time: what a first-level cache holds."""


def first_of(x: Array, scratch: Scratch) -> Array:
    """The index of the first maximum along the middle axis; a NaN is a maximum.

    Best where the axis is at most `MARKED` long or has fewer than `NARROW` elements behind it.
    """
    outer, n, inner = x.shape
    if inner >= NARROW and n <= MARKED:
        return _by_marks(x, scratch)
    if n * x.itemsize >= SHORT_BYTES:
        return x.argmax(axis=1)
    index = np.empty((outer, inner), np.intp)
    whole = outer - outer % TURNED if outer > 4 * TURNED else 0
    for rows, count in (slice(whole), TURNED), (slice(whole, outer), outer - whole):
        if x[rows].size:
            tiles = x[rows].reshape(-1, count, n, inner)
            turned = scratch.empty("turned", (len(tiles), n, inner, count), x.dtype)
            np.copyto(turned, tiles.transpose(0, 2, 3, 1))
            found = _by_marks(turned.reshape(len(tiles), n, inner * count), scratch)
            index[rows] = found.reshape(-1, inner, count).transpose(0, 2, 1).reshape(-1, inner)
    return index


def _by_marks(x: Array, scratch: Scratch) -> Array:
    slices = x.shape[:1] + x.shape[2:]
    maximum = np.maximum.reduce(x, axis=1, out=scratch.empty("maximum", slices, x.dtype))
    marks = scratch.empty("marks", x.shape, np.uint8)
    np.equal(x, maximum[:, None], out=marks.view(bool))
    index = _first_mark(marks, scratch)
    if x.dtype.kind == "f":
        is_nan = maximum != maximum
        if is_nan.any():
            np.not_equal(x, x, out=marks.view(bool))
            np.copyto(index, _first_mark(marks, scratch), where=is_nan)
    return index


def _first_mark(marks: Array, scratch: Scratch) -> Array:
    # marks weigh the more the earlier they are, so that the heaviest is the first
    n = marks.shape[1]
    kind = np.min_scalar_type(n)
    weights = scratch.made("weights", (n,), lambda: np.arange(n, 0, -1, dtype=kind).reshape(n, 1))
    out = marks if kind == marks.dtype else scratch.empty("weighed marks", marks.shape, kind)
    np.multiply(marks, weights, out=out)
    return np.subtract(n, np.maximum.reduce(out, axis=1), dtype=np.intp)


def values(
    arrays: Sequence[Array], shape: tuple[int, ...], form: Format, scratch: Scratch
) -> Array:
    """What to compare: Max of the arrays, but for the bits of zeros and NaNs, which are equal.

    16-bit floats, passed as int16, become uint16.
    """
    if arrays[0].dtype.kind != "i":
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
