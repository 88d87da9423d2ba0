"""A graph on every library that is installed, with ordinary and hostile data, compared by bytes."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from . import backends
from .backends import get
from .backends.arrays import numpy_dtype
from .graph.dtypes import DType
from .graph.errors import BackendError, GraphError
from .graph.infer import solve
from .graph.nodes import Input
from .graph.types import Shape, TensorType
from .program import Program
from .structure import Graph

Array = Any
KINDS = ("typical", "any bits", "edges", "ties", "empty")
_LARGEST = 2**26  # elements of one array
_SIZES = (3, 2, 1, 4, 5)
_MANTISSA = {DType.BFLOAT16: 7, DType.FLOAT16: 10, DType.FLOAT32: 23, DType.FLOAT64: 52}


class Report(NamedTuple):
    """What came out, as a table and in short."""

    text: str
    passed: bool


def run_on(graph: Graph, name: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs of a graph of named outputs, computed on a library from NumPy arrays."""
    backend = get(name)
    given = {key: backend.from_numpy(array) for key, array in arrays.items()}
    results = Program(graph, backend)(**given)
    return {key: backend.to_numpy(result) for key, result in results.items()}


def check(graph: Graph, tell: Callable[[str], None]) -> Report:
    """Run `graph` on every installed library with data made for its types.

    Raises:
        GraphError: there is no data that fits what the graph declares.
    """
    found = {kind: data(graph, kind) for kind in KINDS}
    sets = {kind: arrays for kind, arrays in found.items() if arrays is not None}
    expected: dict[str, dict[str, Array]] = {}
    rows, notes, passed = [["backend", *sets]], [], True
    for name, version in backends().items():
        if version.startswith("not installed"):
            continue
        row = [f"{name} {version}"]
        for kind, arrays in sets.items():
            tell(f"checking {name} with {kind} data")
            try:
                results = run_on(graph, name, arrays)
            except BackendError as error:
                row.append("refused")
                notes.append(f"{name} refused: {error.args[0]}")
                continue
            wrong = differences(results, expected.setdefault(kind, results))
            row.append("differs" if wrong else "ok")
            notes += [f"{name}, {kind} data, {line}" for line in wrong]
            passed = passed and not wrong
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return Report("\n".join([*lines, *dict.fromkeys(notes)]), passed)


def differences(actual: Mapping[str, Array], expected: Mapping[str, Array]) -> list[str]:
    """A line for each output whose dtype, shape or bytes are not those expected."""
    lines = []
    for name, want in expected.items():
        got = actual[name]
        if (got.dtype, got.shape) != (want.dtype, want.shape):
            lines.append(f"{name}: {got.dtype}{got.shape}, not {want.dtype}{want.shape}")
            continue
        one, other = (np.frombuffer(x.tobytes(), f"<u{x.dtype.itemsize}") for x in (got, want))
        wrong = np.flatnonzero(one != other)
        if wrong.size:
            first = wrong[0]
            place = ", ".join(map(str, np.unravel_index(first, got.shape)))
            lines.append(
                f"{name}: {wrong.size} of {one.size} elements, the first at [{place}]: "
                f"{one[first]:#x}, not {other[first]:#x}"
            )
    return lines


def data(graph: Graph, kind: str) -> dict[str, Array] | None:
    """Arrays of one kind that fit every input, or None where no dim can be empty."""
    types = bound_types(graph, [0] if kind == "empty" else _sizes_for(graph))
    if types is None:
        if kind == "empty":
            return None
        raise BackendError(
            "no sizes were found that fit what the inputs declare.", "Give their dims sizes."
        )
    if kind == "empty" and not any(0 in (type_.shape or ()) for type_ in types.values()):
        return None
    rng = np.random.default_rng(KINDS.index(kind))
    return {node.name: _array(rng, type_, kind) for node, type_ in types.items()}


def bound_types(graph: Graph, sizes: Sequence[int]) -> dict[Input, TensorType] | None:
    """Types for the inputs, every open dim of one size: the first of `sizes` that fits."""
    solved = solve(graph.nodes)
    for size in sizes:
        for rank in (2, 3, 1, 4, 0):
            types = {}
            for node in graph.inputs:
                declared = node.declared
                shape = (size,) * rank if declared.shape is None else _filled(declared.shape, size)
                known = solved[node].dtype if node in solved else declared.dtype
                types[node] = TensorType(known or DType.FLOAT32, shape)
            try:
                solve(graph.nodes, types)
                return types
            except GraphError:
                continue
    return None


def _sizes_for(graph: Graph) -> list[int]:
    """Sizes to try for open dims: those that their neighbours have may be the only ones to fit."""
    shapes = [node.declared.shape or () for node in graph.inputs]
    written = {dim for shape in shapes for dim in shape if isinstance(dim, int)}
    return [*_SIZES, *sorted(written - {*_SIZES, 0})]


def _filled(shape: Shape, size: int) -> tuple[int, ...]:
    assert shape is not None
    return tuple(dim if isinstance(dim, int) else size for dim in shape)


def _array(rng: np.random.Generator, type_: TensorType, kind: str) -> Array:
    dtype, shape = type_.dtype, type_.shape
    assert dtype is not None
    sizes = _filled(shape, 0)
    if prod(sizes) > _LARGEST:
        raise BackendError(
            f"{type_} has more than {_LARGEST} elements.", "Check a model with smaller inputs."
        )
    word = np.dtype(f"u{dtype.itemsize}")
    if kind == "typical":
        values = rng.standard_normal(sizes) if dtype.is_float else rng.integers(0, 100, sizes)
        return np.asarray(values).astype(numpy_dtype(dtype))
    if kind == "edges":
        bits = rng.choice(_edges(dtype), sizes)
    elif kind == "ties":
        bits = rng.choice(_edges(dtype)[:4], sizes)
    else:
        bits = rng.integers(0, 2**dtype.bits, sizes, dtype=word)
    return np.asarray(bits, word).view(numpy_dtype(dtype))


def _edges(dtype: DType) -> Array:
    """Bits at the edges of a dtype; the first four are both zeros and the numbers next to them."""
    sign = 1 << (dtype.bits - 1)
    positive = [0, 1, sign - 1]  # of floats, the last is a NaN
    if dtype in _MANTISSA:
        infinity = sign - (1 << _MANTISSA[dtype])
        subnormal, quiet = (1 << _MANTISSA[dtype]) - 1, 1 << (_MANTISSA[dtype] - 1)
        one = infinity >> 1 & infinity
        positive += [one, subnormal, subnormal + 1, infinity - 1, infinity]
        positive += [infinity + 1, infinity | quiet, infinity | quiet | 1]
    return np.array([bits | side for bits in positive for side in (0, sign)], f"u{dtype.itemsize}")
