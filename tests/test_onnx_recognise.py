"""ArgMax and a one-hot encoding are one Hardmax where the two are the same, and foreign elsewhere.

`data/exporters` holds what torch 2.13.0, jax2onnx 0.17.1 and ndonnx 0.23.0 write for the usual
ways to say Hardmax; where these are installed, they write it again.
"""

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto

import maxhard as mh
import oracle
from cases import assert_same, bits_of
from models import EXPORTERS, constant, model, node, value

SHAPE = (2, 3, 5)
RECORDED = sorted(EXPORTERS.glob("*.onnx"))
INT64 = TensorProto.INT64


def scores() -> Any:
    """Numbers with many ties."""
    return np.random.default_rng(3).integers(-2, 3, SHAPE).astype("float32")


def read_as_one(proto: Any) -> mh.Hardmax:
    """The Hardmax that a model of one input is read as."""
    graph = mh.from_onnx(proto)
    (hot,) = graph.outputs.values()
    assert isinstance(hot, mh.Hardmax)
    return hot


def assert_right(proto: ModelProto) -> mh.Hardmax:
    """It is one Hardmax, and gives what onnxruntime gives for the model as it is."""
    hot = read_as_one(proto)
    (x,) = mh.Graph(hot).inputs
    for output in proto.graph.output:
        if not output.type.HasField("tensor_type"):
            output.type.tensor_type.elem_type = TensorProto.FLOAT
    data = scores()
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    (expected,) = session.run(None, {x.name: data})
    assert_same(mh.evaluate(hot, {x.name: data}), expected)
    return hot


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_what_exporters_wrote(path: Path) -> None:
    if path.stem.startswith("foreign"):
        with pytest.raises(mh.OnnxError, match="1 x ArgMax"):
            mh.from_onnx(path)
    else:
        hot = assert_right(onnx.load(path))
        assert hot.axis == (1 if "axis_1" in path.stem else 2)
        assert hot.opset >= 13


def arg_max(**attributes: Any) -> Any:
    return node("ArgMax", ["x"], ["i"], **{"axis": 2, "keepdims": 0, **attributes})


def one_hot(
    depth: Any = 5,
    values: Any = (0, 1),
    dtype: str = "float32",
    place: int | None = None,
    **attributes: Any,
) -> list[Any]:
    return [
        arg_max(**attributes),
        constant("depth", depth, "int64"),
        constant("values", values, dtype),
        node("OneHot", ["i", "depth", "values"], ["y"], axis=place),
    ]


def equal(ramp: Any, to: int = TensorProto.FLOAT, **attributes: Any) -> list[Any]:
    return [
        arg_max(**{"keepdims": 1, **attributes}),
        constant("ramp", ramp, "int64"),
        node("Equal", ["ramp", "i"], ["e"]),
        node("Cast", ["e"], ["y"], to=to),
    ]


X = value("x", ("N", 3, 5))
RIGHT: dict[str, list[Any]] = {
    "OneHot": one_hot(),
    "OneHot, depth a vector": one_hot([5]),
    "OneHot at its place from the front": one_hot(place=2),
    "OneHot of another axis": one_hot(3, axis=1, place=1),
    "OneHot of axis 1 from the back": one_hot(3, axis=-2, place=-2),
    "OneHot of ints, cast": [
        *one_hot(dtype="int64")[:3],
        node("OneHot", ["i", "depth", "values"], ["h"]),
        node("Cast", ["h"], ["y"], to=TensorProto.FLOAT),
    ],
    "indices cast to int32 and back": [
        arg_max(),
        node("Cast", ["i"], ["i32"], to=TensorProto.INT32),
        node("Cast", ["i32"], ["i64"], to=INT64),
        *one_hot()[1:3],
        node("OneHot", ["i64", "depth", "values"], ["y"]),
    ],
    "Equal": equal([0, 1, 2, 3, 4]),
    "Equal, range of full rank": equal([[[0, 1, 2, 3, 4]]]),
    "Equal along axis 1": equal([[0], [1], [2]], axis=1),
    "Equal, unsqueezed": [
        arg_max(),
        constant("axes", [2], "int64"),
        node("Unsqueeze", ["i", "axes"], ["k"]),
        constant("ramp", range(5), "int64"),
        node("Equal", ["k", "ramp"], ["e"]),
        node("Cast", ["e"], ["y"], to=TensorProto.FLOAT),
    ],
    "Equal with Range": [
        arg_max(keepdims=1),
        *(constant(f"c{i}", i, "int64") for i in (0, 1, 5)),
        node("Range", ["c0", "c5", "c1"], ["ramp"]),
        node("Equal", ["ramp", "i"], ["e"]),
        node("Cast", ["e"], ["y"], to=TensorProto.FLOAT),
    ],
    "Where": [
        *equal(range(5))[:3],
        constant("one", 1, "float32"),
        constant("zero", [0], "float32"),
        node("Where", ["e", "one", "zero"], ["y"]),
    ],
    "ScatterElements": [
        arg_max(keepdims=1),
        node("Shape", ["x"], ["all"]),
        node("ConstantOfShape", ["all"], ["zeros"]),
        node("Shape", ["i"], ["some"]),
        constant("one", [1], "float32"),
        node("Expand", ["one", "some"], ["ones"]),
        node("ScatterElements", ["zeros", "i", "ones"], ["y"], axis=2),
    ],
}


@pytest.mark.parametrize("nodes", RIGHT.values(), ids=RIGHT)
def test_read_as_hardmax(nodes: list[Any]) -> None:
    assert_right(model(nodes, [X]))


def test_an_axis_left_out_lines_up_where_it_is_the_first() -> None:
    nodes = equal([[[0]], [[1]]], axis=0, keepdims=0)

    assert assert_right(model(nodes, [value("x", (2, "M", 5))])).axis == 0


def test_tf2onnx_style_at_an_old_opset() -> None:
    """Opset 9: axes are attributes, and depth and values are put together from pieces."""
    nodes = [
        node("ArgMax", ["x"], ["i"], axis=2, keepdims=0),
        constant("five", 5, "int64"),
        node("Unsqueeze", ["five"], ["depth"], axes=[0]),
        constant("off", [0], "float32"),
        constant("on", [1], "float32"),
        node("Concat", ["off", "on"], ["values"], axis=0),
        node("OneHot", ["i", "depth", "values"], ["y"], axis=-1),
    ]

    hot = assert_right(model(nodes, [X], opset=9, ir_version=4))

    assert hot.version == 13  # per slice, whatever the opset's own Hardmax means


def test_a_size_from_the_shape_of_the_scores() -> None:
    nodes = [
        arg_max(keepdims=1),
        node("Shape", ["x"], ["s"]),
        constant("two", 2, "int64"),
        node("Gather", ["s", "two"], ["n"]),
        constant("zero", 0, "int64"),
        constant("one", 1, "int64"),
        node("Range", ["zero", "n", "one"], ["ramp"]),
        node("Equal", ["ramp", "i"], ["e"]),
        node("Cast", ["e"], ["y"], to=TensorProto.FLOAT),
    ]

    assert_right(model(nodes, [value("x", ("N", "M", "C"))]))
    assert_right(model(nodes, [value("x", (None, None, None))]))


def test_scores_made_by_other_operators_are_cut_off() -> None:
    nodes = [node("Relu", ["x0"], ["x"]), *one_hot()]

    graph = mh.from_onnx(model(nodes, [value("x0", ("N", 3, 5))]), cut=True)

    assert str(graph) == (
        "x  = Input                  float32[N, 3, 5]\n"
        "%0 = Hardmax-13(x, axis=2)  float32[N, 3, 5]\n"
        "return y: %0"
    )


WRONG: dict[str, list[Any]] = {
    "the last of the maxima": one_hot(select_last_index=1),
    "a larger depth": one_hot(6),
    "a smaller depth": one_hot(4),
    "other values": one_hot(values=(0, 2)),
    "on and off swapped": one_hot(values=(1, 0)),
    "a negative zero": one_hot(values=(-0.0, 1)),
    "another dtype": one_hot(dtype="float64"),
    "another place": one_hot(5, place=1),
    "kept dims before OneHot": one_hot(keepdims=1),
    "cast to another dtype": equal(range(5), to=TensorProto.DOUBLE),
    "a range from 1": equal(range(1, 6)),
    "a shorter range": equal([0]),
    "a range of the wrong axis": equal([[0], [1], [2]]),
    "the axis left out": equal(range(5), keepdims=0),
    "an axis out of range": one_hot(axis=7),
    "Where the wrong way round": [
        *equal(range(5))[:3],
        constant("one", 1, "float32"),
        constant("zero", 0, "float32"),
        node("Where", ["e", "zero", "one"], ["y"]),
    ],
    "indices that are added to": [
        arg_max(),
        node("Add", ["i", "i"], ["j"]),
        *one_hot()[1:3],
        node("OneHot", ["j", "depth", "values"], ["y"]),
    ],
}


@pytest.mark.parametrize("nodes", WRONG.values(), ids=WRONG)
def test_left_foreign(nodes: list[Any]) -> None:
    with pytest.raises(mh.OnnxError, match=r"1 x ArgMax: node #0"):
        mh.from_onnx(model(nodes, [X]))


def test_scores_that_are_integers_are_left_foreign() -> None:
    nodes = one_hot(dtype="int64")

    with pytest.raises(mh.OnnxError, match="1 x OneHot"):
        mh.from_onnx(model(nodes, [value("x", SHAPE, INT64)]))


@pytest.mark.parametrize(("size", "is_read"), [(128, True), (129, False)])
def test_indices_that_int8_may_not_hold(size: int, is_read: bool) -> None:
    nodes = [
        node("ArgMax", ["x"], ["i"], axis=0),
        node("Cast", ["i"], ["i8"], to=TensorProto.INT8),
        node("Cast", ["i8"], ["i64"], to=INT64),
        constant("ramp", range(size), "int64"),
        node("Equal", ["i64", "ramp"], ["e"]),
        node("Cast", ["e"], ["y"], to=TensorProto.FLOAT),
    ]
    proto = model(nodes, [value("x", (size,))])
    if is_read:
        read_as_one(proto)
    else:
        with pytest.raises(mh.OnnxError, match="1 x ArgMax"):
            mh.from_onnx(proto)


def test_an_empty_axis_is_left_foreign() -> None:
    """ArgMax of nothing is an error, Hardmax of nothing is empty."""
    with pytest.raises(mh.OnnxError, match="1 x ArgMax"):
        mh.from_onnx(model(one_hot(0), [value("x", (2, 3, 0))]))


class TestOwnForms:
    """What `to_onnx` writes around a Hardmax of another version is read as that Hardmax."""

    def test_between_transposes(self) -> None:
        nodes = [
            node("Transpose", ["x"], ["t"], perm=[1, 2, 0]),
            node("Hardmax", ["t"], ["h"], axis=2),
            node("Transpose", ["h"], ["y"], perm=[2, 0, 1]),
        ]

        for opset in (12, 13):
            hot = read_as_one(model(nodes, [X], opset=opset))
            assert (hot.version, hot.axis) == (13, 0)

    def test_between_transposes_along_another_axis(self) -> None:
        nodes = [
            node("Transpose", ["x"], ["t"]),
            node("Hardmax", ["t"], ["h"], axis=1),
            node("Transpose", ["h"], ["y"]),
        ]

        assert read_as_one(model(nodes, [X])).axis == 1
        with pytest.raises(mh.OnnxError, match="2 x Transpose"):  # a matrix of rows: no one axis
            mh.from_onnx(model(nodes, [X], opset=12))

    def test_transposes_that_do_not_undo_each_other(self) -> None:
        nodes = [
            node("Transpose", ["x"], ["t"], perm=[1, 2, 0]),
            node("Hardmax", ["t"], ["h"]),
            node("Transpose", ["h"], ["y"], perm=[1, 2, 0]),
        ]

        with pytest.raises(mh.OnnxError, match="2 x Transpose"):
            mh.from_onnx(model(nodes, [X]))

    @pytest.mark.parametrize("target", [[-1, 3, 5], [0, 3, 5], [2, 3, 5]])
    def test_of_rows(self, target: list[int]) -> None:
        nodes = [
            node("Flatten", ["x"], ["f"]),
            node("Hardmax", ["f"], ["h"]),
            constant("shape", target, "int64"),
            node("Reshape", ["h", "shape"], ["y"]),
        ]
        is_same = target[0] == -1  # of N rows: 0 copies them too, and 2 is another number
        proto = model(nodes, [X])
        if is_same:
            hot = read_as_one(proto)
            assert (hot.version, hot.axis) == (11, 1)
        else:
            with pytest.raises(mh.OnnxError, match="1 x Flatten"):
                mh.from_onnx(proto)

    def test_of_rows_of_bfloat16_is_left_foreign(self) -> None:
        """Hardmax-11 does not take it."""
        nodes = [
            node("Flatten", ["x"], ["f"]),
            node("Hardmax", ["f"], ["h"]),
            constant("shape", SHAPE, "int64"),
            node("Reshape", ["h", "shape"], ["y"]),
        ]

        with pytest.raises(mh.OnnxError, match="1 x Flatten"):
            mh.from_onnx(model(nodes, [value("x", SHAPE, TensorProto.BFLOAT16)]))


def test_nan_and_ties_follow_the_contract() -> None:
    x = np.array([[np.nan, 9, np.nan], [-np.inf] * 3, [-0.0, 0.0, 0.0]], "float32")
    nodes = [
        node("ArgMax", ["x"], ["i"], axis=1, keepdims=0),
        constant("depth", 3, "int64"),
        constant("values", [0, 1], "float32"),
        node("OneHot", ["i", "depth", "values"], ["y"]),
    ]
    hot = read_as_one(model(nodes))

    assert_same(bits_of(mh.evaluate(hot, {"x": x})), oracle.hardmax("float32", bits_of(x)))


def torch_models() -> list[ModelProto]:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")

    class OneHot(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return torch.nn.functional.one_hot(x.argmax(-1), x.shape[-1]).to(x.dtype)

    class Scatter(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return torch.zeros_like(x).scatter_(-1, x.max(-1, keepdim=True)[1], 1.0)

    found = []
    for module in (OneHot(), Scatter()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the exporter's own
            program = torch.onnx.export(module, (torch.ones(SHAPE),), dynamo=True, verbose=False)
            buffer = io.BytesIO()
            program.save(buffer)
        found.append(onnx.load_from_string(buffer.getvalue()))
    return found


def jax_models() -> list[ModelProto]:
    jax2onnx = pytest.importorskip("jax2onnx")
    import jax
    import jax.numpy as jnp

    def one_hot(x: Any) -> Any:
        return jax.nn.one_hot(jnp.argmax(x, -1), x.shape[-1], dtype=x.dtype)

    def equal(x: Any) -> Any:
        return (jnp.arange(x.shape[-1]) == jnp.argmax(x, -1, keepdims=True)).astype(x.dtype)

    return [jax2onnx.to_onnx(each, [("B", *SHAPE[1:])]) for each in (one_hot, equal)]


def ndonnx_models() -> list[ModelProto]:
    ndx = pytest.importorskip("ndonnx")
    x = ndx.argument(shape=("N", *SHAPE[1:]), dtype=ndx.float32)
    hot = ndx.astype(ndx.argmax(x, axis=-1, keepdims=True) == ndx.arange(5), ndx.float32)
    return [ndx.build({"x": x}, {"y": hot})]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of libraries that are not ours
@pytest.mark.parametrize("export", [torch_models, jax_models, ndonnx_models])
def test_what_exporters_write_now(export: Callable[[], list[ModelProto]]) -> None:
    for proto in export():
        assert assert_right(proto).axis == 2


def test_the_test_data_has_every_exporter() -> None:
    assert {path.stem.partition("_")[0] for path in RECORDED} == {
        "foreign",
        "jax2onnx",
        "ndonnx",
        "torch",
        "torchscript",
    }
