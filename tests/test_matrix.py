"""Every backend against the oracle, bit for bit: dtypes, versions, shapes, data, layouts."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import maxhard as mh
import oracle
from cases import (
    BROADCASTS,
    DTYPES,
    FLOATS,
    KINDS,
    SHAPES,
    Array,
    assert_same,
    patterns,
    samples,
    to_array,
)
from libraries import HALVES, Library

pytestmark = HALVES

MAX_DTYPES = {
    **{opset: ("float16", "float32", "float64") for opset in (1, 6, 7, 8, 11)},
    12: tuple(dtype for dtype in DTYPES if dtype != "bfloat16"),
    13: DTYPES,
    28: DTYPES,
}
HARDMAX_DTYPES = {
    **{opset: ("float16", "float32", "float64") for opset in (1, 10, 11, 12)},
    13: FLOATS,
    28: FLOATS,
}


def pairs(table: dict[int, tuple[str, ...]]) -> list[tuple[int, str]]:
    return [(opset, dtype) for opset, dtypes in table.items() for dtype in dtypes]


# Kept, so that a library which compiles does so once for each signature, and not for each test.
@cache
def max_program(dtype: str, count: int, opset: int = 13, backend: str | None = None) -> mh.Program:
    inputs = [mh.Input(f"x{i}", dtype) for i in range(count)]
    return mh.compile(mh.maximum(*inputs, opset=opset), backend)


@cache
def hardmax_program(
    dtype: str, axis: int | None = None, opset: int = 13, backend: str | None = None
) -> mh.Program:
    return mh.compile(mh.hardmax(mh.Input("x", dtype), axis, opset=opset), backend)


class Together:
    """Many results of one program, so that a library which compiles does so once."""

    def __init__(self, backend: Library, dtype: str) -> None:
        self.backend, self.dtype = backend, dtype
        self.arrays: dict[str, Any] = {}
        self.outputs: dict[str, mh.Node] = {}
        self.expected: dict[str, Array] = {}

    def input(self, bits: Array) -> mh.Input:
        name = f"x{len(self.arrays)}"
        self.arrays[name] = self.backend.array(to_array(self.dtype, bits))
        return mh.Input(name, self.dtype)

    def expect(self, output: mh.Node, bits: Array, label: str) -> None:
        self.outputs[label] = output
        self.expected[label] = to_array(self.dtype, bits)

    def check(self) -> None:
        results = mh.compile(self.outputs)(**self.arrays)
        assert list(results) == list(self.expected)
        for label, result in results.items():
            assert_same(self.backend.numpy(result), self.expected[label], label)


def check_max(
    backend: Library, dtype: str, operands: list[Array], opset: int = 13, at_once: bool = False
) -> None:
    """Max of these bits on `backend`, through a graph or at once."""
    expected = to_array(dtype, oracle.maximum(dtype, operands))
    arrays = [backend.array(to_array(dtype, bits)) for bits in operands]
    if at_once:
        result = mh.maximum(*arrays, opset=opset)
    else:
        result = max_program(dtype, len(arrays), opset)(*arrays)

    assert_same(backend.numpy(result), expected)


def check_hardmax(
    backend: Library,
    dtype: str,
    bits: Array,
    axis: int | None = None,
    opset: int = 13,
    at_once: bool = False,
) -> None:
    """Hardmax of these bits on `backend`, through a graph or at once."""
    expected = to_array(dtype, oracle.hardmax(dtype, bits, axis, opset))
    array = backend.array(to_array(dtype, bits))
    if at_once:
        result = mh.hardmax(array, axis, opset=opset)
    else:
        result = hardmax_program(dtype, axis, opset)(array)

    assert_same(backend.numpy(result), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_max_of_any_data(backend: Library, dtype: str, kind: str) -> None:
    check_max(backend, dtype, samples(dtype, ((9, 33), (9, 33), (33,)), kind))


@pytest.mark.parametrize("dtype", DTYPES)
def test_max_broadcasts(backend: Library, dtype: str) -> None:
    together = Together(backend, dtype)
    for shapes in BROADCASTS:
        operands = samples(dtype, shapes, "specials")
        inputs = [together.input(bits) for bits in operands]
        together.expect(mh.maximum(*inputs), oracle.maximum(dtype, operands), str(shapes))

    together.check()


@pytest.mark.parametrize("shapes", BROADCASTS[::3], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_max_at_once(backend: Library, dtype: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    check_max(backend, dtype, samples(dtype, shapes, "specials"), at_once=True)


@pytest.mark.parametrize(("opset", "dtype"), pairs(MAX_DTYPES))
def test_max_in_every_version(backend: Library, opset: int, dtype: str) -> None:
    check_max(backend, dtype, samples(dtype, ((4, 5),) * 3, "specials"), opset)


@pytest.mark.parametrize("shape", [(), (0,), (3, 4)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_max_of_one_keeps_every_bit(backend: Library, dtype: str, shape: tuple[int, ...]) -> None:
    check_max(backend, dtype, samples(dtype, (shape,), "specials"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_max_of_all_pairs_of_specials(backend: Library, dtype: str) -> None:
    edges = patterns(dtype, (64,), "specials")

    check_max(backend, dtype, [edges[:, None], edges])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_hardmax_of_any_data(backend: Library, dtype: str, kind: str) -> None:
    check_hardmax(backend, dtype, patterns(dtype, (9, 33), kind))


@pytest.mark.parametrize("dtype", FLOATS)
def test_hardmax_along_every_axis(backend: Library, dtype: str) -> None:
    together = Together(backend, dtype)
    for shape in SHAPES:
        bits = patterns(dtype, shape, "ties")
        x = together.input(bits)
        for axis in range(len(shape)):
            expected = oracle.hardmax(dtype, bits, axis)
            together.expect(mh.hardmax(x, axis), expected, f"{shape}, axis {axis}")

    together.check()


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_hardmax_at_once(backend: Library, dtype: str, opset: int) -> None:
    for axis in (None, 0, -1):
        check_hardmax(backend, dtype, patterns(dtype, (3, 4, 5), "ties"), axis, opset, at_once=True)


@pytest.mark.parametrize(("opset", "dtype"), pairs(HARDMAX_DTYPES))
def test_hardmax_in_every_version(backend: Library, opset: int, dtype: str) -> None:
    together = Together(backend, dtype)
    for shape in ((2, 3, 4), (0, 2, 2), (2, 0, 3)):
        bits = patterns(dtype, shape, "ties")
        x = together.input(bits)
        for axis in (None, 0, 1, 2, -1, -2, -3):
            expected = oracle.hardmax(dtype, bits, axis, opset)
            together.expect(mh.hardmax(x, axis, opset=opset), expected, f"{shape}, axis {axis}")

    together.check()


@pytest.mark.parametrize("kind", ["random", "sparse NaN"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_max_of_many_elements(backend: Library, dtype: str, kind: str) -> None:
    check_max(backend, dtype, samples(dtype, ((2**18,),) * 2, kind))


@pytest.mark.parametrize("kind", ["ties", "sparse NaN"])
@pytest.mark.parametrize(("shape", "axis"), [((2**18,), 0), ((512, 512), 0)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_hardmax_of_many_elements(
    backend: Library, dtype: str, shape: tuple[int, ...], axis: int, kind: str
) -> None:
    check_hardmax(backend, dtype, patterns(dtype, shape, kind), axis)


@pytest.mark.parametrize("dtype", DTYPES)
def test_max_of_hostile_numpy_arrays(
    backend: Library, hostile: Callable[[Array], Array], dtype: str
) -> None:
    arrays = [hostile(to_array(dtype, bits)) for bits in samples(dtype, ((4, 6),) * 2, "specials")]
    before = [array.tobytes() for array in arrays]
    operands = [oracle.native_bits(array) for array in arrays]

    result = max_program(dtype, 2, backend=backend.name)(*arrays)

    assert_same(backend.numpy(result), to_array(dtype, oracle.maximum(dtype, operands)))
    assert [array.tobytes() for array in arrays] == before


@pytest.mark.parametrize("dtype", FLOATS)
def test_hardmax_of_hostile_numpy_arrays(
    backend: Library, hostile: Callable[[Array], Array], dtype: str
) -> None:
    array = hostile(to_array(dtype, patterns(dtype, (4, 6), "ties")))
    before = array.tobytes()
    bits = oracle.native_bits(array)

    for axis in (0, 1):
        result = hardmax_program(dtype, axis, backend=backend.name)(array)

        assert_same(backend.numpy(result), to_array(dtype, oracle.hardmax(dtype, bits, axis)))
    assert array.tobytes() == before


@pytest.mark.parametrize("dtype", FLOATS)
def test_hostile_numpy_arrays_at_once(hostile: Callable[[Array], Array], dtype: str) -> None:
    array = hostile(to_array(dtype, patterns(dtype, (4, 6), "specials")))
    bits = oracle.native_bits(array)

    assert_same(mh.hardmax(array), to_array(dtype, oracle.hardmax(dtype, bits)))
    assert_same(mh.maximum(array, array), to_array(dtype, oracle.maximum(dtype, [bits, bits])))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_arrays_reach_a_named_backend_whole(backend: Library, dtype: str) -> None:
    bits = patterns(dtype, (2, 65), "random")

    result = max_program(dtype, 1, backend=backend.name)(to_array(dtype, bits))

    assert_same(backend.numpy(result), to_array(dtype, bits))


@pytest.mark.parametrize("dtype", DTYPES)
def test_python_numbers_take_the_dtype(backend: Library, dtype: str) -> None:
    array = to_array(dtype, patterns(dtype, (33,), "random"))
    weak = np.array(3, array.dtype)
    operands = [oracle.native_bits(array), oracle.native_bits(weak)]
    expected = to_array(dtype, oracle.maximum(dtype, operands))

    theirs = backend.array(array)

    assert_same(backend.numpy(mh.maximum(theirs, 3)), expected)
    assert_same(backend.numpy(mh.compile(mh.maximum(3, mh.Input("x")))(theirs)), expected)


def test_a_graph_of_both(backend: Library) -> None:
    x, y = samples("float32", ((6, 5), (5,)), "specials")
    a, b = mh.Input("x", "float32", ("N", 5)), mh.Input("y", "float32", (5,))
    votes = mh.hardmax(mh.maximum(a, b, 0.0), axis=0)
    top = oracle.maximum("float32", [x, y, np.zeros((), np.uint32)])

    result = mh.compile(votes)(*(backend.array(to_array("float32", bits)) for bits in (x, y)))

    assert_same(backend.numpy(result), to_array("float32", oracle.hardmax("float32", top, 0)))
