"""Nodes: frozen, compared by identity, printed without fail, and no arrays."""

import copy
import gc
import inspect
import pickle
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import maxhard as mh
from cases import DTYPES, assert_same, float32, int8, numpy_dtype, patterns, to_array
from libraries import HALVES, Library


def one_of_each() -> list[mh.Node]:
    x = mh.Input("x", "float32", ("N", 3))
    return [x, mh.Constant(float32([1, 2, 3])), mh.maximum(x, 0), mh.hardmax(x)]


def broken() -> list[mh.Node]:
    """Nodes of graphs with an error in them."""
    x, y = mh.Input("x", "float32", (2,)), mh.Input("y", "int8", (3,))
    return [
        mh.maximum(x, y),
        mh.hardmax(mh.maximum(x, y)),
        mh.hardmax(y),
        mh.hardmax(x, 7),
        mh.maximum(y, 1000),
        mh.maximum(y, 1.5),
    ]


def chain(length: int, start: Any) -> Any:
    node = start
    for _ in range(length):
        node = mh.maximum(node, start)
    return node


def line() -> int:
    """The line that calls this."""
    frame = inspect.currentframe()
    assert frame
    assert frame.f_back
    return frame.f_back.f_lineno


each_kind = pytest.mark.parametrize("node", one_of_each(), ids=lambda node: type(node).__name__)


@each_kind
def test_the_node_classes(node: mh.Node) -> None:
    assert isinstance(node, mh.Node)
    assert type(node) in (mh.Input, mh.Constant, mh.Max, mh.Hardmax)


def test_match() -> None:
    x, _, top, hot = one_of_each()
    match top:
        case mh.Max(operands):
            assert operands[0] is x
    match hot:
        case mh.Hardmax(operand, axis):
            assert (operand, axis) == (x, -1)


def test_the_node_set_is_closed() -> None:
    assert {type(node) for node in one_of_each()} == set(_leaves(mh.Node))


def _leaves(kind: type) -> list[type]:
    below: list[type] = kind.__subclasses__()
    return [leaf for each in below for leaf in _leaves(each)] if below else [kind]


@each_kind
@pytest.mark.parametrize("name", ["dtype", "type", "opset", "operands", "anything"])
def test_frozen(node: mh.Node, name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(node, name, 1)
    with pytest.raises(AttributeError):
        delattr(node, name)
    assert not hasattr(node, "__dict__")


def test_equality_is_identity() -> None:
    nodes, others = one_of_each(), one_of_each()

    for node, other in zip(nodes, others, strict=True):
        assert node == node
        assert node != other
        assert not (node == other)
    assert len({*nodes, *others, *nodes}) == 8


@each_kind
def test_a_node_is_no_array(node: mh.Node) -> None:
    uses: list[Callable[[Any], object]] = [
        bool,
        np.asarray,
        list,
        len,
        iter,
        float,
        lambda node: np.maximum(node, np.zeros(3)),
        lambda node: np.zeros(3) + node,
        lambda node: 1 if node else 0,
        lambda node: 3 in node,
    ]
    for use in uses:
        with pytest.raises(TypeError, match=r"evaluate|compile"):
            use(node)


def test_comparisons_are_refused_or_identity() -> None:
    x = mh.Input("x")

    assert (x == np.zeros(3)) is False or not np.any(x == np.zeros(3))
    with pytest.raises(TypeError):
        x < 3  # type: ignore[operator]  # noqa: B015


@pytest.mark.parametrize("node", [*one_of_each(), *broken()], ids=range(10))
def test_repr_is_one_line(node: mh.Node) -> None:
    text = repr(node)

    assert "\n" not in text
    assert len(text) < 200
    assert str(node) == text
    assert type(node).__name__ in text


def test_repr_names_what_it_shows() -> None:
    x, _, top, hot = map(repr, one_of_each())

    assert "x" in x
    assert "float32[N, 3]" in x
    assert "Max-13" in top
    assert "Hardmax-13" in hot
    assert "float32[N, 3]" in hot
    assert "Max-6" in repr(mh.maximum(mh.Input("x"), opset=7))


def test_an_int_too_long_to_print() -> None:
    node = mh.maximum(mh.Constant(10**5000), mh.Input("x"))

    assert "bits" in repr(node.operands[0])
    assert "bits" in str(mh.Graph(node))
    assert len(mh.Graph(node).simplify().nodes) == 3
    with pytest.raises(mh.RangeError):
        mh.maximum(int8([1]), 10**5000)


def test_repr_of_a_long_chain() -> None:
    assert "\n" not in repr(chain(5000, mh.Input("x", "float32", (2,))))


def test_origin_is_the_callers_line() -> None:
    here = line()
    x = mh.Input("x", "float32", (2,))
    c = mh.Constant(np.zeros(2, np.float32))
    top = mh.maximum(x, c)
    hot = mh.hardmax(top)
    direct = mh.Max(x), mh.Hardmax(x)

    nodes = [x, c, top, hot, *direct]
    assert [node.origin for node in nodes] == [
        f"{__file__}:{here + offset}" for offset in (1, 2, 3, 4, 5, 5)
    ]


def test_an_error_found_late_tells_where_operands_were_made() -> None:
    first = line() + 1
    x = mh.Input("x", "float32", (2,))
    y = mh.Input("y", "float32", (3,))
    bad = mh.maximum(x, y)
    far = mh.hardmax(bad)

    with pytest.raises(mh.ShapeError) as caught:
        _ = far.type

    lines = [int(number) for number in re.findall(r"test_nodes\.py:(\d+)", str(caught.value))]
    assert {first, first + 1, first + 2} <= {*lines}


def test_every_error_is_found_again() -> None:
    for node in broken():
        for _ in range(2):
            with pytest.raises(mh.GraphError):
                _ = node.type


def test_building_looks_at_no_shape() -> None:
    x, y = mh.Input("x", "float32", (2,)), mh.Input("y", "int8", (3,))

    mh.hardmax(mh.maximum(x, y), 9)


def test_types_are_inferred_once() -> None:
    node = one_of_each()[3]

    assert node.type is node.type
    assert (node.dtype, node.shape, node.ndim) == ("float32", ("N", 3), 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_are_snapshots(dtype: str) -> None:
    array = to_array(dtype, patterns(dtype, (5,), "specials"))
    before = array.copy()
    node = mh.Constant(array)
    operand = mh.maximum(array, mh.Input("x", None, (1,)))

    array[:] = np.zeros(5, numpy_dtype(dtype))

    assert_same(mh.evaluate(node), before)
    assert operand.type == mh.TensorType(dtype, (5,))
    zero = np.array([0], numpy_dtype(dtype))
    assert_same(mh.evaluate(operand, {"x": zero}), mh.maximum(before, zero))


@pytest.mark.unsupported("dask", dtypes=DTYPES, reason="a constant needs values, dask is lazy")
@HALVES
@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_of_any_library(backend: Library, dtype: str) -> None:
    array = to_array(dtype, patterns(dtype, (2, 3), "specials"))

    node = mh.Constant(backend.array(array))

    assert node.type == mh.TensorType(dtype, (2, 3))
    assert_same(backend.numpy(mh.evaluate(node, backend=backend.name)), array)


def test_constants_of_any_layout(hostile: Any) -> None:
    array = hostile(float32([[0, 1, 2], [3, 4, 5]]))

    assert_same(
        mh.evaluate(mh.Constant(array)), np.array(array, np.float32, order="C").reshape(2, 3)
    )


def test_constants_of_lists() -> None:
    assert_same(mh.evaluate(mh.Constant([[1, 2], [3, 4]], "int8")), int8([[1, 2], [3, 4]]))
    with pytest.raises(mh.TypeInferenceError, match="dtype"):
        mh.Constant([1, 2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_take_the_dtype_of_the_others(dtype: str) -> None:
    x = mh.Input("x", dtype)

    assert mh.maximum(x, 1).dtype == dtype
    assert mh.maximum(0, 1, x).dtype == dtype
    assert mh.maximum(mh.Constant(1), x).dtype == dtype


def test_a_numpy_scalar_has_its_own_dtype() -> None:
    x = mh.Input("x", "float32")

    assert mh.maximum(x, np.float32(1)).dtype == "float32"
    with pytest.raises(mh.TypeInferenceError, match="float64"):
        _ = mh.maximum(x, np.float64(1)).type


@pytest.mark.parametrize(
    ("dtype", "number", "bits"),
    [
        ("float32", 2**24 + 1, 0x4B800000),
        ("float32", 16777219.0, 0x4B800002),
        ("float32", 1e39, 0x7F800000),
        ("float32", -1e39, 0xFF800000),
        ("float32", 1e-45, 1),
        ("float32", -0.0, 0x80000000),
        ("float32", float("nan"), 0x7FC00000),
        ("float16", 65519.999, 0x7BFF),
        ("float16", 65520.0, 0x7C00),
        ("bfloat16", 1.00390625, 0x3F80),  # halfway: ties to even
        ("bfloat16", 1.01171875, 0x3F82),
        ("bfloat16", 1.00390625 + 2**-40, 0x3F81),  # would round twice by way of float32
        ("float64", 2**53 + 1, 0x4340000000000000),
        ("uint64", 2**64 - 1, 2**64 - 1),
        ("int64", -(2**63), 2**63),
        ("int8", -1, 0xFF),
    ],
    ids=str,
)
def test_numbers_round_once(dtype: str, number: Any, bits: int) -> None:
    result = mh.evaluate(mh.Constant(number, dtype))

    assert_same(result, to_array(dtype, np.array(bits, np.dtype(f"u{result.dtype.itemsize}"))))


def test_pickle_keeps_the_graph() -> None:
    x = mh.Input("x", "float32", ("N", 3))
    shared = mh.maximum(x, mh.Constant(float32([0, -0.0, np.nan])), 1)
    node = mh.maximum(mh.hardmax(shared, 0, opset=11), shared, opset=12)

    again = pickle.loads(pickle.dumps(node))

    assert again is not node
    assert again.type == node.type
    assert again.origin == node.origin
    assert (again.opset, again.operands[0].opset, again.operands[0].axis) == (12, 11, 0)
    assert again.operands[0].operand is again.operands[1]
    values = {"x": float32([[1, 2, 3], [4, -5, 0]])}
    assert_same(mh.evaluate(again, values), mh.evaluate(node, values))


@pytest.mark.parametrize("node", [*one_of_each(), *broken()], ids=range(10))
def test_pickle_of_any_node(node: mh.Node) -> None:
    assert repr(pickle.loads(pickle.dumps(node))) == repr(node)


def test_copies() -> None:
    node = one_of_each()[3]

    assert copy.copy(node).type == node.type
    assert copy.deepcopy(node).type == node.type


def test_a_chain_of_5000() -> None:
    x = mh.Input("x", "float32", (2,))
    node = chain(5000, x)

    assert sys.getrecursionlimit() < 5000
    again = pickle.loads(pickle.dumps(node))
    assert again.shape == copy.deepcopy(node).shape == (2,)
    assert hash(node) != hash(again)
    assert str(mh.Graph(node)).count("\n") > 10
    assert mh.evaluate(node, {"x": float32([1, -1])}).tolist() == [1, -1]
    del node, again
    gc.collect()


def test_sharing_is_linear() -> None:
    node = x = mh.Input("x", "float32", (2,))
    for _ in range(64):
        node = mh.maximum(node, node)

    graph = pickle.loads(pickle.dumps(mh.Graph(node)))

    assert len(graph.nodes) == 65
    assert len(str(graph)) < 10_000
    assert x.shape == node.shape
    assert mh.compile(node)(float32([1, -1])).tolist() == [1, -1]
