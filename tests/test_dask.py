"""dask: lazy, chunk by chunk, also along chunked axes and where sizes are not known."""

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import maxhard as mh
import oracle
from cases import FLOATS, Array, assert_same, bits_of, patterns, samples, to_array
from maxhard.backends import get

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


def refuse_to_compute(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("something was computed")


@pytest.fixture
def lazy() -> Iterator[None]:
    with dask.config.set(scheduler=refuse_to_compute):
        yield


def chunked(dtype: str, bits: Array, chunks: Any) -> Any:
    return da.from_array(to_array(dtype, bits), chunks=chunks)


def computed(array: Any) -> Array:
    with dask.config.set(scheduler="sync"):
        return np.asarray(array.compute())


CHUNKS: tuple[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]], ...] = (
    ((12,), ((5, 0, 7),)),
    ((7, 9), ((7,), (4, 5))),
    ((7, 9), ((2, 0, 5), (3, 3, 3))),
    ((4, 5, 6), ((2, 2), (5,), (1, 2, 3))),
    ((5, 4), ((1,) * 5, (1,) * 4)),
    ((3, 0, 4), ((3,), (0,), (2, 2))),
)


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize(("shape", "chunks"), CHUNKS, ids=str)
@pytest.mark.parametrize("dtype", FLOATS[1:])
def test_hardmax_along_chunked_axes(dtype: str, shape: Any, chunks: Any, opset: int) -> None:
    for kind in ("ties", "specials", "sparse NaN"):
        bits = patterns(dtype, shape, kind)
        for axis in range(len(shape)):
            result = mh.hardmax(chunked(dtype, bits, chunks), axis, opset=opset)

            assert result.chunks == chunks
            expected = to_array(dtype, oracle.hardmax(dtype, bits, axis, opset))
            assert_same(computed(result), expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_hardmax_of_bfloat16_too(dtype: str) -> None:
    bits = patterns(dtype, (40, 3), "ties")

    result = mh.hardmax(chunked(dtype, bits, (7, 2)), 0)

    assert_same(computed(result), to_array(dtype, oracle.hardmax(dtype, bits, 0)))


def test_max_keeps_chunks() -> None:
    a, b = samples("float32", ((6, 8), (8,)), "specials")
    x, y = chunked("float32", a, ((2, 0, 4), (3, 5))), chunked("float32", b, ((4, 4),))

    result = mh.maximum(x, 0.0)

    assert result.chunks == x.chunks
    assert_same(computed(result), to_array("float32", oracle.maximum("float32", [a, np.uint32(0)])))
    both = to_array("float32", oracle.maximum("float32", [a, b]))
    assert_same(computed(mh.maximum(x, y)), both)


@pytest.mark.usefixtures("lazy")
def test_nothing_is_computed_before_the_caller_asks() -> None:
    x = da.ones((6, 8), chunks=(2, 3), dtype="float32")
    unknown = x[da.ones(6, chunks=2) > 0]
    node = mh.Input("x", "float32", ("N", 8))

    results = [
        *mh.compile((mh.hardmax(mh.maximum(node, 0.0), 0), mh.hardmax(node, opset=11), node))(x),
        mh.maximum(x, x + 1, 3),
        mh.hardmax(x, 0, opset=11),
        mh.maximum(unknown, 0),
        mh.maximum(unknown, unknown),
        mh.evaluate(mh.maximum(node, 1), {"x": np.ones((2, 8), np.float32)}, "dask"),
    ]

    assert all(isinstance(result, da.Array) for result in results)
    assert all(type(result._meta) is np.ndarray for result in results)
    with pytest.raises(AssertionError, match="something was computed"):
        results[0].compute()


def test_a_constant_does_not_compute() -> None:
    x = da.ones(3, chunks=2)

    with pytest.raises(mh.TypeInferenceError, match=r"(?s)dask array.*Make it an Input"):
        mh.maximum(mh.Input("x"), x)


def ones_where(flags: list[bool], columns: int = 5) -> Any:
    """Rows of ones, in chunks of two rows before some are left out."""
    x = da.from_array(np.arange(4.0 * columns).reshape(4, columns), chunks=(2, columns))
    return x[da.from_array(np.array(flags), chunks=2)]


def test_unknown_sizes_where_they_do_not_matter() -> None:
    x = ones_where([True, False, True, True])
    known = x.compute()

    assert_same(computed(mh.hardmax(x, 1)), mh.hardmax(known, 1))
    assert_same(computed(mh.hardmax(x, 1, opset=11)), mh.hardmax(known, 1, opset=11))
    assert_same(computed(mh.maximum(x, -x, 7.0)), mh.maximum(known, -known, 7.0))
    row = da.full((1, 5), 8.0)
    assert_same(computed(mh.maximum(x, row)), mh.maximum(known, row.compute()))


SIZES_NEEDED: dict[str, Callable[[Any], Any]] = {
    "Hardmax along it": lambda x: mh.hardmax(x, 0),
    "Hardmax-11 over it": lambda x: mh.hardmax(x, 0, opset=11),
    "Max with a known size": lambda x: mh.maximum(x, da.ones((3, 5), chunks=(2, 5))),
    "Max with other chunks": lambda x: mh.maximum(x, da.concatenate([x, x])),
}


@pytest.mark.usefixtures("lazy")
@pytest.mark.parametrize("case", SIZES_NEEDED)
def test_unknown_sizes_where_they_are_needed(case: str) -> None:
    with pytest.raises(mh.ShapeError, match=r"(?s)not known.*compute_chunk_sizes"):
        SIZES_NEEDED[case](ones_where([True, False, True, True]))


def test_chunks_that_turn_out_different_are_no_broadcast() -> None:
    x, y = ones_where([True, False, True, True]), ones_where([True, True, True, False])

    with pytest.raises(mh.ShapeError, match="turned out 1 and 2 long on axis -2"):
        mh.maximum(x, y).compute()


def test_plans_of_unknown_shapes_do_not_pile_up() -> None:
    program = mh.compile(mh.hardmax(mh.Input("x")))

    for _ in range(3):
        program(ones_where([True, False, True, True]))

    assert not program._plans


def test_nan_of_rank_0_keeps_its_bits() -> None:
    nans = [to_array("float64", np.uint64(0x7FF8000000000000 + i)) for i in range(2)]

    first, second = (get("dask").from_numpy(nan) for nan in nans)

    assert first.name != second.name
    for theirs, nan in zip(dask.compute(first, second), nans, strict=True):
        assert bits_of(np.asarray(theirs)) == bits_of(nan)


def test_names_are_the_same_for_the_same_work() -> None:
    x = da.ones((4, 6), chunks=3)

    assert mh.maximum(x, 2.0).name == mh.maximum(x, 2.0).name
    assert mh.hardmax(x, 0).name == mh.hardmax(x, 0).name
    assert mh.hardmax(x, 0).name != mh.hardmax(x, 1).name


def test_results_share_no_memory() -> None:
    source = np.arange(5.0)

    result = mh.maximum(da.from_array(source, chunks=-1)).compute()

    assert not np.shares_memory(source, result)


def test_big_endian() -> None:
    x = da.from_array(np.arange(4, dtype=">f4"), chunks=2)

    assert_same(computed(mh.maximum(x, 2.0)), np.array([2, 2, 2, 3], np.float32))


def test_chunks_of_another_kind_are_refused() -> None:
    masked = da.ma.masked_array(da.ones(3), mask=[0, 1, 0])
    strange = da.ones(3)
    strange._meta = object()

    with pytest.raises(mh.TypeInferenceError, match="MaskedArray"):
        mh.hardmax(masked)
    with pytest.raises(mh.TypeInferenceError, match=r"chunks .* builtins\.object"):
        mh.hardmax(strange)


def test_chunks_of_another_dtype_than_told() -> None:
    x = da.ones(3).map_blocks(lambda chunk: chunk.astype("f4"), dtype="f8", meta=np.empty(0))

    with pytest.raises(mh.TypeInferenceError, match="float32, and its dask array says float64"):
        mh.maximum(x, 0.0).compute()


def tasks(array: Any) -> int:
    return len(dict(array.__dask_graph__()))


def test_graphs_are_linear_in_the_chunks() -> None:
    few, many = (da.ones(n, chunks=1, dtype="float32") for n in (100, 1000))

    assert tasks(mh.maximum(many, many + 1)) <= tasks(da.maximum(many, many + 1)) + 2
    assert tasks(mh.hardmax(many)) <= 11 * tasks(mh.hardmax(few))


def made(block_info: Any = None) -> Array:
    """A chunk of float32 of any bits."""
    rows, columns = (
        np.arange(*ends, dtype=np.uint32) for ends in block_info[None]["array-location"]
    )
    mixed = (rows[:, None] * np.uint32(2654435761)) ^ (columns * np.uint32(40503))
    return (mixed * np.uint32(2246822519)).view(np.float32)


def checksum(chunk: Array) -> Array:
    return np.array([[zlib.crc32(np.ascontiguousarray(chunk).tobytes())]])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of the cluster are not ours
def test_more_data_than_memory() -> None:
    from dask.distributed import Client, LocalCluster

    rows, size, side, columns = 512, 4096, 4096, 5 * 2**15  # 2.5 GiB
    chunks = ((rows,) * (size // rows), (side,) * (columns // side))
    x = da.map_blocks(made, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    hot = mh.hardmax(mh.maximum(x, 0.0), 1)
    sums = hot.map_blocks(checksum, chunks=(1, 1), dtype=np.int64, meta=np.empty((0, 0), np.int64))

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="1GiB", dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        result = sums.compute()

    assert x.nbytes > 2 * 2**30
    for band, start in zip(result, range(0, size, rows), strict=True):
        part = made({None: {"array-location": [(start, start + rows), (0, columns)]}})
        expected = mh.hardmax(mh.maximum(part, 0.0), 1)
        for found, left in zip(band, range(0, columns, side), strict=True):
            assert found == checksum(expected[:, left : left + side])[0, 0]
