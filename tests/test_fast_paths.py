"""NumPy's block-wise kernels against the oracle, around every switch from one form to another."""

import importlib
import tracemalloc
from functools import reduce
from itertools import pairwise
from threading import get_ident
from typing import Any

import numpy as np
import pytest

import maxhard as mh
import oracle
from cases import DTYPES, FLOATS, KINDS, Array, assert_same, bits_of, patterns, to_array
from maxhard.backends.blocks import SMALL, Scratch, blocks, run
from maxhard.backends.numpy import NumPyBackend
from maxhard.backends.numpy_chunks import CHUNK, CHUNK_OF_ROW
from maxhard.backends.numpy_first import MARKED, NARROW, SHORT_BYTES
from maxhard.backends.numpy_hardmax import UNIT_ROW

Shape = tuple[int, ...]
BLOCK = 2**12
"""Bytes of a block in most of these tests, so that small arrays have many."""
MORE_KINDS = (*KINDS, "all equal", "no positive", "negative")
BACKENDS = [pytest.param(NumPyBackend(threads), id=f"{threads} threads") for threads in (1, 3)]

ROWS = [SHORT_BYTES // size + i for size in (8, 4, 2) for i in (-1, 0)] + [UNIT_ROW, UNIT_ROW + 1]

MAX_SHAPES: list[tuple[Shape, ...]] = [
    *[((n,), (n,)) for n in (SMALL - 1, SMALL, SMALL + 1)],
    *[((n,), (n,)) for n in (BLOCK - 1, BLOCK, BLOCK + 1)],
    ((3 * BLOCK + 5,), (), (3 * BLOCK + 5,)),
    ((), (SMALL + 1,)),
    ((61, 67), (67,), (61, 1)),
    ((5, 1, 700), (3, 1), (1, 3, 700), (1, 1)),
    ((2, 3, 2 * BLOCK), (2, 1, 1)),
    ((SMALL + 1, 2), (1, 2)),
]
HARDMAX_CASES: list[tuple[Shape, int]] = [
    *[((n,), 0) for n in (1, SMALL, SMALL + 1, 3 * BLOCK)],
    *[((90, n), 1) for n in (1, 2, *ROWS)],
    ((5, BLOCK + 3), 1),
    *[((2, 70, n), 1) for n in (NARROW - 1, NARROW, NARROW + 1)],
    ((70, BLOCK + 3), 0),
    *[((n, NARROW), 0) for n in (1, CHUNK + 1, 255, 256, MARKED, MARKED + 1)],
    *[((n, 3), 0) for n in (*ROWS, BLOCK + 1)],
    *[((1500, n, 3), 1) for n in (2, 17)],
    *[((50, n, 3), 1) for n in ROWS],
    *[((n, 64), 0) for n in (MARKED * CHUNK, MARKED * CHUNK + 3)],
    ((2, MARKED + 3, 5, 40), 1),
    ((2, 8 * CHUNK_OF_ROW + 3), 1),
    ((7, 9, 11, 13), 2),
    ((7, 3, 1, 400), 2),
]


def data(dtype: str, shape: Shape, kind: str, seed: int = 0) -> Array:
    """Bits of an array of `shape`; one of `MORE_KINDS`."""
    if kind in KINDS:
        return patterns(dtype, shape, kind, seed)
    word, sign = oracle.word(dtype), oracle.word(dtype).type(oracle.sign(dtype))
    if kind == "all equal":
        return np.full(shape, oracle.one(dtype) if dtype in FLOATS else 1, word)
    negative = patterns(dtype, shape, "sparse NaN" if kind == "negative" else "ties", seed) | sign
    if kind == "no positive":  # zeros of both signs are the largest
        return np.where(
            patterns(dtype, shape, "random", seed) & word.type(1), negative, negative & 0
        )
    return np.asarray(negative)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("numpy_max", "numpy_hardmax", "numpy_chunks"):
        module = importlib.import_module(f"maxhard.backends.{name}")
        monkeypatch.setattr(module, "BLOCK_BYTES", BLOCK)
    hardmax = importlib.import_module("maxhard.backends.numpy_hardmax")
    monkeypatch.setattr(hardmax, "SLAB_BYTES", BLOCK)
    monkeypatch.setattr(hardmax, "SLAB_WIDTH", 50)
    for name in ("THREADED_BYTES", "ONE_PASS_BYTES"):
        monkeypatch.setattr(importlib.import_module("maxhard.backends.blocks"), name, 0)


def check_max(backend: NumPyBackend, dtype: str, kind: str, shapes: tuple[Shape, ...]) -> None:
    bits = [data(dtype, shape, kind, seed) for seed, shape in enumerate(shapes)]
    expected = to_array(dtype, oracle.maximum(dtype, bits))
    arrays = [to_array(dtype, x) for x in bits]

    with np.errstate(all="raise"):
        actual = backend.max_(arrays, mh.DType(dtype))

    assert_same(actual, expected, f"{kind} {shapes}")


def check_hardmax(
    backend: NumPyBackend, dtype: str, kind: str, shapes: tuple[Shape, ...], axis: int
) -> None:
    bits = [data(dtype, shape, kind, seed) for seed, shape in enumerate(shapes)]
    largest = oracle.maximum(dtype, bits) if len(bits) > 1 else bits[0]
    expected = to_array(dtype, oracle.hardmax(dtype, largest, axis))
    arrays = [to_array(dtype, x) for x in bits]

    with np.errstate(all="raise"):
        actual = backend.hardmax_step(mh.DType(dtype), shapes, axis)(*arrays)

    assert_same(actual, expected, f"{kind} {shapes} axis {axis}")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", MORE_KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_max_around_blocks(backend: NumPyBackend, dtype: str, kind: str) -> None:
    for shapes in MAX_SHAPES:
        check_max(backend, dtype, kind, shapes)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", MORE_KINDS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_hardmax_around_blocks(backend: NumPyBackend, dtype: str, kind: str) -> None:
    for shape, axis in HARDMAX_CASES:
        check_hardmax(backend, dtype, kind, (shape,), axis)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", MORE_KINDS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_hardmax_of_max_around_blocks(backend: NumPyBackend, dtype: str, kind: str) -> None:
    for shape, axis in HARDMAX_CASES:
        for shapes in ((shape, shape), (shape[-1:], shape, ())):
            check_hardmax(backend, dtype, kind, shapes, axis)


@pytest.mark.parametrize("dtype", FLOATS)
def test_blocks_of_full_size(dtype: str) -> None:
    backend = NumPyBackend(threads=2)

    check_max(backend, dtype, "random", ((2**19 + 1,), (2**19 + 1,)))
    for axis in (0, 1):
        check_hardmax(backend, dtype, "random", ((600, 700),), axis)
        check_hardmax(backend, dtype, "sparse NaN", ((600, 700), (600, 1)), axis)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("dtype", FLOATS)
def test_layouts(dtype: str) -> None:
    backend, shape = NumPyBackend(threads=2), (70, 90)
    x, y = (to_array(dtype, patterns(dtype, shape, "random", seed)) for seed in range(2))
    layouts: list[Array] = [x[::-1, ::-1], np.asfortranarray(x), np.broadcast_to(x[:1], shape)]
    for left in layouts:
        expected = oracle.maximum(dtype, [bits_of(left.copy()), bits_of(y)])

        actual = backend.max_([left, y], mh.DType(dtype))

        assert_same(actual, to_array(dtype, expected))
        for axis in (0, 1):
            expected = oracle.hardmax(dtype, bits_of(left.copy()), axis)
            actual = backend.hardmax(left, axis, mh.DType(dtype))
            assert_same(actual, to_array(dtype, expected))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_integers_decide_where_subnormals_are_flushed(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("maxhard.backends.numpy")
    monkeypatch.setattr(module, "_LEAST", 0.0)  # as a thread that flushes sees it
    for name in ("max_step", "hardmax_step"):
        monkeypatch.setattr(module, name, lambda *args: None)  # the fast kernels are not asked
    check_max(NumPyBackend(), dtype, "ties", ((5,), (5,)))
    check_hardmax(NumPyBackend(), dtype, "ties", ((4, 5), (5,)), 1)
    check_hardmax(NumPyBackend(), dtype, "ties", ((4, 5),), 0)


def test_a_max_that_others_use_is_kept() -> None:
    x, y = mh.Input("x"), mh.Input("y")
    largest = mh.maximum(x, y, 0)
    outputs = [mh.hardmax(largest), largest, mh.maximum(largest), mh.hardmax(mh.maximum(x, y))]
    bits = [patterns("float32", (6, 7), "specials", seed) for seed in range(2)]
    zero = np.zeros((), np.uint32)
    top = oracle.maximum("float32", [*bits, zero])

    results = mh.compile(outputs, "numpy")(*(to_array("float32", x) for x in bits))

    other = oracle.hardmax("float32", oracle.maximum("float32", bits))
    expected = [oracle.hardmax("float32", top), top, top, other]
    for actual, wanted in zip(results, expected, strict=True):
        assert_same(actual, to_array("float32", wanted))
    assert not any(np.shares_memory(a, b) for a, b in pairwise(results))


def test_hardmax_of_max_needs_no_room_for_the_max() -> None:
    shape = (4096, 1024)
    x, y = (np.random.default_rng(i).standard_normal(shape, np.float32) for i in range(2))
    inputs = mh.Input("x"), mh.Input("y")
    program = mh.compile(mh.hardmax(mh.maximum(*inputs, 0.0)), NumPyBackend(threads=2))
    program(x, y)

    tracemalloc.start()
    result = program(x, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < result.nbytes + 8 * 2**20


@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_blocks_cover_each_element_once(axis: int | None) -> None:
    for shape in ((1, 1, 1), (3, 5, 7), (2, 1, 100), (100, 3, 2)):
        seen = np.zeros(shape, int)
        for block in blocks(shape, 20, axis):
            seen[block] += 1
            assert axis is None or seen[block].shape[axis] == shape[axis]
        assert (seen == 1).all()


def test_the_first_failure_of_a_thread_is_raised() -> None:
    def fail(block: Any, scratch: Scratch) -> None:
        raise MemoryError(f"in {get_ident()}")

    with pytest.raises(MemoryError):
        run(fail, blocks((100,), 10), threads=3)


def test_many_operands() -> None:
    bits = [patterns("float32", (300, 9), "random", seed) for seed in range(50)]
    inputs = [mh.Input(f"x{i}") for i in range(50)]

    actual = mh.compile(mh.hardmax(mh.maximum(*inputs)))(*(to_array("float32", x) for x in bits))

    top = reduce(lambda a, b: oracle.maximum("float32", [a, b]), bits)
    assert_same(actual, to_array("float32", oracle.hardmax("float32", top)))
