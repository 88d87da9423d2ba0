"""Test data: bit patterns, shapes, the recorded cases, and the comparison of bytes."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import oracle

Array = NDArray[Any]

FLOATS = ("bfloat16", "float16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = FLOATS + INTEGERS
DATA = Path(__file__).parent / "data"

BROADCASTS: tuple[tuple[tuple[int, ...], ...], ...] = (
    ((), ()),
    ((5,), (5,)),
    ((5,), ()),
    ((), (2, 3)),
    ((4, 1), (1, 3)),
    ((3,), (2, 1), ()),
    ((2, 1, 4), (3, 1), (1,), (2, 3, 4)),
    ((1,), (1, 1)),
    ((0,), (1,)),
    ((2, 0, 3), (1, 1, 3)),
    ((0, 4), (4,), ()),
    ((7, 33), (33,)),
)
SHAPES: tuple[tuple[int, ...], ...] = (
    (1,),
    (7,),
    (3, 5),
    (5, 1),
    (1, 5),
    (2, 3, 4),
    (2, 2, 1, 3),
    (0,),
    (0, 3),
    (3, 0),
    (2, 0, 3),
)
KINDS = ("random", "specials", "ties", "sparse NaN")


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def to_array(dtype: str, bits: Array) -> Array:
    """The array of `dtype` that has these bits."""
    return np.asarray(bits, oracle.word(dtype)).view(numpy_dtype(dtype))


def float32(values: Any) -> Array:
    return np.array(values, np.float32)


def int8(values: Any) -> Array:
    return np.array(values, np.int8)


def bits_of(array: Array) -> Array:
    return array.view(np.dtype(f"uint{8 * array.dtype.itemsize}"))


def specials(dtype: str) -> list[int]:
    """Bit patterns at every edge of the type."""
    top = oracle.sign(dtype)
    if dtype in INTEGERS:
        return [0, 1, 2, top - 1, top, top + 1, 2 * top - 1]
    infinity, quiet = oracle.infinity(dtype), oracle.nan(dtype)
    subnormal = (1 << oracle.MANTISSA[dtype]) - 1
    positive = [0, 1, subnormal, subnormal + 1, oracle.one(dtype), infinity - 1, infinity]
    nans = [quiet, quiet + 1, infinity + 1, top - 1]  # quiet, with payload, signalling, all ones
    return [bits | minus for bits in positive + nans for minus in (0, top)]


def patterns(dtype: str, shape: tuple[int, ...], kind: str, seed: int = 0) -> Array:
    """Bits of an array of `shape`; one of `KINDS`."""
    rng = np.random.default_rng([seed, *map(ord, dtype + kind), *shape])
    edges = np.array(specials(dtype), oracle.word(dtype))
    anything = rng.integers(0, 2 ** oracle.width(dtype), shape, oracle.word(dtype))
    match kind:
        case "random":
            return np.asarray(anything)
        case "specials":
            return np.asarray(rng.choice(edges, shape))
        case "ties":  # +0, -0, the smallest number and its like: what flushing confuses
            return np.asarray(rng.choice(edges[:4], shape))
        case "sparse NaN":
            ordinary = anything >> oracle.word(dtype).type(2)  # exponent below all ones: finite
            return np.asarray(np.where(rng.random(shape) < 0.05, edges[-1], ordinary))
    raise ValueError(kind)


def samples(dtype: str, shapes: tuple[tuple[int, ...], ...], kind: str) -> list[Array]:
    """One array of bits for each shape, all different."""
    return [patterns(dtype, shape, kind, seed) for seed, shape in enumerate(shapes)]


def assert_same(actual: Array, expected: Array, label: str = "") -> None:
    """Dtype, shape and every bit are equal; `label` says which of several results this is."""
    assert isinstance(actual, np.ndarray), f"{label} {type(actual)} is no array"
    assert actual.dtype == expected.dtype, f"{label} dtype {actual.dtype}, not {expected.dtype}"
    assert actual.shape == expected.shape, f"{label} shape {actual.shape}, not {expected.shape}"
    got, want = bits_of(np.ascontiguousarray(actual)), bits_of(np.ascontiguousarray(expected))
    wrong = np.flatnonzero(got.ravel() != want.ravel())
    assert not wrong.size, "\n".join(
        [f"{label} {wrong.size} of {got.size} elements differ:"]
        + [f"  flat index {i}: {got.flat[i]:#x}, not {want.flat[i]:#x}" for i in wrong[:5]]
    )


@cache
def _recorded(file: str) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads((DATA / file).read_text()))


def published() -> tuple[dict[str, Any], ...]:
    return _recorded("published_examples.json")


def reported() -> tuple[dict[str, Any], ...]:
    return _recorded("reported.json")


def recorded_array(tensor: dict[str, Any]) -> Array:
    """The array that a recorded tensor describes; "nan", "inf" and "-0.0" are spelled out."""
    flat: list[Any] = []
    stack = [tensor["data"]]
    while stack:
        item = stack.pop()
        if isinstance(item, list):
            stack.extend(reversed(item))
        else:
            flat.append(float(item) if isinstance(item, str) else item)
    return np.array(flat, numpy_dtype(tensor["dtype"])).reshape(tensor["shape"])
