"""The rows: which arrays Max, Hardmax and both together are measured on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

Array = Any
FLOATS = ("float32", "float16", "bfloat16", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

HARDMAX = [
    ((2048, 2048), 1),
    ((2048, 2048), 0),
    ((2, 64, 56, 56), 1),
    ((200000, 16), 1),
    ((64, 50257), 1),
    ((512, 512, 21), 2),
    ((8, 1000000), 1),
]
SQUARE = (2048, 2048)
BROADCAST = {"(2048,)": (2048,), "(2048, 1)": (2048, 1), "scalar": ()}


@dataclass(frozen=True)
class Case:
    """One row: an operator, the shapes of its operands, a dtype and a kind of data."""

    op: str
    text: str
    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    data: str
    axis: int = -1
    is_tiny: bool = False

    def arrays(self, seed: int) -> list[Array]:
        rng = np.random.default_rng(seed)
        return [make(rng, shape, self.dtype, self.data) for shape in self.shapes]

    @property
    def name(self) -> str:
        return f"{self.op} {self.text} {self.dtype} {self.data}"


def cases() -> Iterator[Case]:
    """All rows; ordinary data come first in each group of the same operands."""
    for dtype in FLOATS:
        for shape, axis in HARDMAX:
            for data in ("normal", "ties", "all equal", "NaN-sparse"):
                yield Case("Hardmax", f"{shape} axis {axis}", (shape,), dtype, data, axis)
    for dtype in FLOATS + INTEGERS:
        for count in (2, 8):
            for data in ("normal", "zeros", "NaN-sparse") if dtype in FLOATS else ("normal",):
                yield Case("Max", f"{count} x {SQUARE}", (SQUARE,) * count, dtype, data)
    for text, shape in BROADCAST.items():
        yield Case("Max", f"{SQUARE} with {text}", (SQUARE, shape), "float32", "normal")
    yield Case("Max", "64 x (256, 256)", ((256, 256),) * 64, "float32", "normal")
    wide = (4096, 1024)
    yield Case("Hardmax(Max)", f"{wide}, {wide}, 0.0", (wide, wide, ()), "float32", "normal")
    digits = ((1297, 10),) * 50
    yield Case("Hardmax(Max)", "50 x (1297, 10), as the digits", digits, "float32", "normal")


def tiny() -> Iterator[Case]:
    """Calls whose cost is the way to the kernel."""
    for shape in ((8,), (4, 8)):
        for op, text, count in (
            ("Max", f"2 x {shape}", 2),
            ("Hardmax", f"{shape} axis -1", 1),
            ("Hardmax(Max)", f"2 x {shape}", 2),
        ):
            yield Case(op, text, (shape,) * count, "float32", "normal", is_tiny=True)


def make(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, data: str) -> Array:
    """Random elements of that kind; a 0-d operand is the floor of 0."""
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    if shape == ():
        return np.zeros((), kind)
    if dtype in INTEGERS:
        info = np.iinfo(kind)
        return rng.integers(info.min, info.max, shape, kind, endpoint=True)
    x = rng.standard_normal(shape, np.float32)
    if data == "ties":
        x = x.round()
    if data == "all equal":
        x[:] = 1
    if data == "zeros":
        x[rng.random(shape, np.float32) < 0.5] = 0
        x *= rng.choice(np.float32([-1, 1]), shape)
    if data == "NaN-sparse":
        x[rng.random(shape, np.float32) < 1e-3] = np.nan
    return x.astype(kind)
