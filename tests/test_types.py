"""Dtypes as people spell them, dims, and broadcasting of what is not known yet."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import maxhard as mh
from cases import DTYPES, FLOATS, float32, int8, numpy_dtype
from libraries import HALVES, Library

N, M, K = "N", "M", "K"


def shape_of_max(*shapes: Any, opset: int = 13) -> Any:
    return mh.maximum(
        *(mh.Input(f"x{i}", "float32", shape) for i, shape in enumerate(shapes)), opset=opset
    ).shape


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dtype_by_any_name(dtype: str) -> None:
    member = mh.DType(dtype)
    for spelling in (dtype, member, numpy_dtype(dtype), numpy_dtype(dtype).type):
        node = mh.Input("x", spelling)

        assert node.dtype is member
        assert node.dtype == dtype


@HALVES
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dtype_of_any_library(backend: Library, dtype: str) -> None:
    array = backend.array(np.zeros(1, numpy_dtype(dtype)))

    assert mh.Input("x", array.dtype).dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_scalar_type_of_jax(dtype: str) -> None:
    jnp = pytest.importorskip("jax.numpy")

    assert mh.Input("x", getattr(jnp, dtype)).dtype == dtype


def test_there_are_twelve() -> None:
    assert {member.value for member in mh.DType} == {*DTYPES}


ALLOWED = {  # by the schemas of ONNX, each from that opset on
    "Max": {1: {*FLOATS} - {"bfloat16"}, 12: {*DTYPES} - {"bfloat16"}, 13: {*DTYPES}},
    "Hardmax": {1: {*FLOATS} - {"bfloat16"}, 13: {*FLOATS}},
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operator", ALLOWED)
def test_dtypes_of_every_opset(operator: str, dtype: str) -> None:
    x = mh.Input("x", dtype, (2, 2))
    for opset in range(1, 29):
        since = max(start for start in ALLOWED[operator] if start <= opset)
        allowed = dtype in ALLOWED[operator][since]
        node = mh.Max(x, opset=opset) if operator == "Max" else mh.Hardmax(x, opset=opset)

        with nullcontext() if allowed else pytest.raises(mh.TypeInferenceError, match=dtype):
            assert node.type == x.type


@pytest.mark.parametrize(
    "dtype",
    [
        "bool", "complex64", "object", "str", "float", "float8_e4m3fn", "int4", "float128", "",
        bool, complex, object, str, float, int, 3, [], np.dtype("M8[s]"), np.longdouble,
        np.dtype([("a", "f4")]), ml_dtypes.float8_e4m3fn, ml_dtypes.int4,
    ],
    ids=str,
)  # fmt: skip
def test_any_other_dtype_is_refused(dtype: Any) -> None:
    with pytest.raises(mh.TypeInferenceError, match="is not a dtype"):
        mh.Input("x", dtype)


@pytest.mark.parametrize(
    "shape", [(), (0,), (1, 2), ("batch", 3), ("2*(H//2)", None), (None,), None], ids=str
)
def test_a_shape_is_kept_as_it_is(shape: Any) -> None:
    node = mh.Input("x", "float32", shape)

    assert node.shape == shape
    assert node.ndim == (None if shape is None else len(shape))


@pytest.mark.parametrize("sizes", [[2, 3], (np.int64(2), np.uint8(3)), iter((2, 3))], ids=str)
def test_sizes_become_ints(sizes: Any) -> None:
    shape = mh.Input("x", "float32", sizes).shape

    assert shape == (2, 3)
    assert {type(size) for size in shape or ()} == {int}


@pytest.mark.parametrize(
    "shape", [(-1,), (1.0,), ("",), (True,), "batch", 3, (2, ()), (b"N",)], ids=repr
)
def test_what_is_no_dim_is_refused(shape: Any) -> None:
    with pytest.raises(mh.ShapeError, match=r"is not a (dim|shape)"):
        mh.Input("x", "float32", shape)


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ([1, 1], 1),
        ([1, 3], 3),
        ([0, 1], 0),
        ([N, 1], N),
        ([N, N], N),
        ([N, 3], 3),
        ([N, 0], 0),
        ([None, 3], 3),
        ([None, 1], None),
        ([None, None], None),
        ([None, N], None),
        ([N, M], "broadcast(M, N)"),
        ([N, M, 1], "broadcast(M, N)"),
        ([N, M, N], "broadcast(M, N)"),
        ([N, M, K], "broadcast(K, M, N)"),
        ([N, M, 4], 4),
        ([N, M, None], None),
        (["2*(H//2)", "h"], "broadcast(2*(H//2), h)"),
    ],
    ids=str,
)
def test_broadcasting_of_dims(dims: Sequence[Any], expected: Any) -> None:
    assert shape_of_max(*((dim,) for dim in dims)) == (expected,)
    assert shape_of_max(*((dim,) for dim in reversed(dims))) == (expected,)


def test_derived_names_flatten() -> None:
    x, y, z = (mh.Input(name, "float32", (name,)) for name in (N, M, K))

    assert mh.maximum(mh.maximum(x, y), z).shape == ("broadcast(K, M, N)",)
    assert mh.maximum(mh.maximum(x, y), mh.maximum(y, z)).shape == ("broadcast(K, M, N)",)


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([(), ()], ()),
        ([(), (N,)], (N,)),
        ([(2, 1), (3,)], (2, 3)),
        ([(N, 1, 4), (3, 1), (M, 1, 1)], ("broadcast(M, N)", 3, 4)),
        ([None, (3,)], None),
        ([None, None], None),
    ],
    ids=str,
)
def test_broadcasting_of_shapes(shapes: Sequence[Any], expected: Any) -> None:
    assert shape_of_max(*shapes) == expected


@pytest.mark.parametrize("shapes", [((2,), (3,)), ((0,), (3,)), ((2, 3), (2,)), ((2,), None, (3,))])
def test_sizes_that_clash(shapes: Any) -> None:
    with pytest.raises(mh.ShapeError, match="do not broadcast"):
        shape_of_max(*shapes)


@pytest.mark.parametrize(
    ("x", "y"), [((2, 1), (2,)), ((1,), (3,)), ((), (3,)), ((2, 2), (1, 2, 2))]
)
def test_max_6_wants_equal_shapes(x: Any, y: Any) -> None:
    with pytest.raises(mh.ShapeError, match="same shape"):
        shape_of_max(x, y, opset=7)


@pytest.mark.parametrize("shape", [(), (3,), (N, 3), (None, 1)], ids=str)
def test_max_6_of_equal_shapes(shape: Any) -> None:
    assert shape_of_max(shape, shape, opset=6) == shape


def test_max_6_learns_from_every_operand() -> None:
    assert shape_of_max((N, None, 1), (2, 3, None), opset=1) == (2, 3, 1)


def test_tensor_type() -> None:
    type_ = mh.TensorType("float32", ("N", 3))

    assert type_ == mh.Input("x", "float32", ("N", 3)).type
    assert hash(type_) == hash(mh.TensorType(mh.DType("float32"), ("N", 3)))
    assert str(type_) == "float32[N, 3]"
    with pytest.raises(AttributeError):
        type_.dtype = None


def test_an_open_dtype_comes_from_the_others() -> None:
    x, y = mh.Input("x"), mh.Input("y", "int8")
    node = mh.maximum(x, y, 1)

    assert x.dtype is None
    assert node.dtype == "int8"
    assert mh.evaluate(node, {"x": int8([0]), "y": int8([2])}).dtype == np.int8


def test_an_open_dtype_comes_from_beyond() -> None:
    x, y = mh.Input("x"), mh.Input("y", "float64")
    node = mh.maximum(mh.hardmax(x), y)
    program = mh.compile(node)

    with pytest.raises(mh.TypeInferenceError, match="float32"):
        program(float32([1]), np.array([1.0]))
    assert program(np.array([1.0]), np.array([2.0])).dtype == np.float64
