"""to_onnx: few nodes, the same meaning at every opset, or a refusal that says why."""

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import maxhard as mh
import oracle
from cases import DTYPES, assert_same, bits_of, patterns, to_array

X = mh.Input("x", "float32", ("batch", 3))
Y = mh.Input("y", "float32", ("batch", 3))
OPSETS = range(1, min(28, onnx.defs.onnx_opset_version()) + 1)
NEWEST = OPSETS[-1]


def kinds(outputs: Any, opset: int = 13) -> list[str]:
    """The operators of the model, which the checker has to accept."""
    proto = mh.to_onnx(outputs, opset)
    onnx.checker.check_model(proto, full_check=True)
    assert not {value.name for value in proto.graph.input} & {
        value.name for value in proto.graph.output
    }
    return [node.op_type for node in proto.graph.node]


@pytest.mark.parametrize("opset", OPSETS)
def test_two_nodes_for_hardmax_of_max(opset: int) -> None:
    assert kinds(mh.hardmax(mh.maximum(X, Y)), opset) == ["Max", "Hardmax"]


@pytest.mark.parametrize("opset", [1, 7, 12, 13, 14, NEWEST])
def test_as_few_nodes_as_can_be(opset: int) -> None:
    cube = mh.Input("x", "float32", (2, 3, 4))
    flat = mh.Input("f", "float32", (2, 1, 4))
    before, since = opset < 13, opset >= 13
    expected = {
        mh.hardmax(cube, 2, opset=13): ["Hardmax"],
        mh.hardmax(cube, 2, opset=11): ["Hardmax"],
        mh.hardmax(flat, 1, opset=11): ["Hardmax"],  # one axis that is wider than 1
        mh.hardmax(mh.Input("x", "float32", (2, 3, 1)), 1): ["Hardmax"],
        mh.hardmax(cube, 1, opset=11): ["Hardmax"] if before else ["Flatten", "Hardmax", "Reshape"],
        mh.hardmax(cube, 1): ["Hardmax"] if since else ["Transpose", "Hardmax", "Transpose"],
        mh.hardmax(mh.hardmax(cube)): ["Hardmax"],
        mh.maximum(mh.maximum(cube, flat) if since else cube, cube): ["Max"],
    }

    assert {node: kinds(node, opset) for node in expected} == expected


def test_a_reshape_to_several_open_dims_takes_the_shape() -> None:
    open_ = mh.Input("x", "float32", ("N", "M", 4))

    assert kinds(mh.hardmax(open_, 1, opset=11)) == ["Flatten", "Hardmax", "Shape", "Reshape"]


def test_names_and_dims_are_kept() -> None:
    inputs = [mh.Input("b/c:0", "int8", ("2*(H//2)", None, 3)), mh.Input("ä", "int8", ())]
    graph = mh.Graph({"the result": mh.maximum(*inputs)}, [*inputs, mh.Input("unused", "int8", ())])

    proto = mh.to_onnx(graph)
    onnx.checker.check_model(proto, full_check=True)

    assert [value.name for value in proto.graph.input] == ["b/c:0", "ä", "unused"]
    assert [value.name for value in proto.graph.output] == ["the result"]
    assert mh.from_onnx(proto).inputs[0].shape == ("2*(H//2)", None, 3)
    dims = proto.graph.output[0].type.tensor_type.shape.dim
    assert [dim.dim_param or dim.dim_value for dim in dims] == ["2*(H//2)", 0, 3]


def test_names_of_outputs_without_keys() -> None:
    taken = mh.Input("output", "float32", (3,))

    def names(outputs: Any) -> list[str]:
        return [value.name for value in mh.to_onnx(outputs).graph.output]

    assert names(mh.hardmax(X)) == ["output"]
    assert names([mh.hardmax(X), mh.maximum(X, Y)]) == ["output_0", "output_1"]
    assert names(mh.hardmax(taken)) == ["output_1"]


def test_outputs_that_are_inputs_constants_or_twice_the_same_are_copies() -> None:
    best = mh.maximum(X, Y)
    outputs = {"a": X, "b": best, "c": best, "d": mh.Constant([1], "int8")}

    assert sorted(kinds(outputs)) == ["Identity"] * 3 + ["Max"]
    assert kinds(mh.from_onnx(mh.to_onnx(outputs)).outputs) == kinds(outputs)


def test_one_constant_is_written_once() -> None:
    proto = mh.to_onnx([mh.maximum(X, 0.0), mh.maximum(Y, 0)])

    assert len(proto.graph.initializer) == 1
    assert proto.graph.initializer[0].data_type == onnx.TensorProto.FLOAT


def test_a_number_takes_the_dtype_beside_it() -> None:
    half = mh.Input("half", "float16", (3,))

    proto = mh.to_onnx([mh.maximum(X, 1), mh.maximum(half, 1)])

    assert [onnx.numpy_helper.to_array(each).dtype for each in proto.graph.initializer] == [
        np.float32,
        np.float16,
    ]


def test_an_open_dtype_is_found_from_the_other_side() -> None:
    proto = mh.to_onnx(
        mh.maximum(mh.maximum(mh.Input("open", None, ()), 2), mh.Constant(1, "int8"))
    )

    assert proto.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.INT8


def test_a_constant_is_spread_where_max_does_not_broadcast() -> None:
    fixed = mh.Input("x", "float32", (2, 3))

    assert kinds(mh.maximum(fixed, 0.0, mh.Constant([1, 2, 3], "float32")), 6) == ["Max"]


def test_equal_shapes_that_an_old_max_has_promised() -> None:
    a, b = mh.Input("a", "float32", ("N", None)), mh.Input("b", "float32", (None, 3))

    assert kinds(mh.maximum(a, b, opset=6), 1) == ["Max"]
    with pytest.raises(mh.OnnxError, match="does not broadcast"):
        mh.to_onnx(mh.maximum(a, b, opset=8), 1)


REFUSED = {
    "Max-6 of other shapes": (
        mh.maximum(X, mh.Input("z", "float32", (3,))),
        7,
        ["Max-13 (opset 13) at", "x: float32[batch, 3]", "Max-6 does not broadcast", "opset 8"],
    ),
    "Max-6 of open dims": (
        mh.maximum(mh.Input("a", "float32", (None,)), mh.Input("b", "float32", (None,))),
        7,
        ["[?] are not known to be equal"],
    ),
    "Max-1 of a number": (mh.maximum(X, 0.0), 1, ["[batch, 3] and []"]),
    "Max-8 of ints": (
        mh.maximum(mh.Input("i", "int8", (3,)), 0),
        11,
        ["Max-8 takes float16, float32, float64, not int8", "newer opset"],
    ),
    "Max-12 of bfloat16": (mh.maximum(mh.Input("h", "bfloat16", (3,)), 0), 12, ["not bfloat16"]),
    "Hardmax-11 of bfloat16": (
        mh.hardmax(mh.Input("h", "bfloat16", (3,))),
        12,
        ["Hardmax-13 (opset 13) at", "Hardmax-11 takes", "not bfloat16"],
    ),
    "bfloat16 as it is": (mh.Input("h", "bfloat16", (3,)), 12, ["is bfloat16", "opset 13"]),
    "no dtype": (mh.maximum(mh.Input("a", None, ()), 1), 13, ["nothing says which dtype"]),
    "no rank": (mh.maximum(mh.Input("a", "int8"), 1), 13, ["the rank of 'a' is not known"]),
    "an output named as an input": ({"x": mh.hardmax(X)}, 13, ["both named 'x'"]),
    "an output without a name": ({1: mh.hardmax(X)}, 13, ["the output 1 has no name"]),
    "a constant that would be huge": (
        mh.maximum(mh.Input("a", "float64", (2**20, 2**20)), 0),
        7,
        ["Max-6 does not broadcast"],
    ),
}


@pytest.mark.parametrize(("outputs", "opset", "phrases"), REFUSED.values(), ids=REFUSED)
def test_refused(outputs: Any, opset: int, phrases: list[str]) -> None:
    with pytest.raises(mh.OnnxError) as caught:
        mh.to_onnx(outputs, opset)

    for phrase in phrases:
        assert phrase in str(caught.value)


@pytest.mark.parametrize("opset", [0, 29, True, "13", None])
def test_opsets_that_are_not_known(opset: Any) -> None:
    with pytest.raises(mh.OpsetError, match="is not known"):
        mh.to_onnx(X, opset)


def test_an_opset_newer_than_the_installed_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx.defs, "onnx_opset_version", lambda: 20)

    with pytest.raises(mh.OpsetError, match="knows opsets up to 20, not 21"):
        mh.to_onnx(X, 21)


def run(proto: onnx.ModelProto, **arrays: Any) -> Any:
    """What onnxruntime gives."""
    onnxruntime.set_default_logger_severity(3)
    return onnxruntime.InferenceSession(proto.SerializeToString()).run(None, arrays)[0]


@pytest.mark.parametrize("shape", [(2, 3, 2), ("N", 3, 2), ("N", "M", 2), (2, 3, 1), (4,)])
@pytest.mark.parametrize("opset", [7, 11, 12, 13, 14, 21])
@pytest.mark.parametrize("source", [1, 11, 13])
def test_other_runtimes_read_the_same_meaning(
    shape: tuple[int | str, ...], opset: int, source: int
) -> None:
    """Across the boundary at 13, where version converters change the result."""
    sizes = [dim if isinstance(dim, int) else 2 + (dim == "M") for dim in shape]
    x = np.random.default_rng(1).integers(-2, 3, sizes).astype("float32")
    for axis in range(len(shape)):
        hot = mh.hardmax(mh.Input("x", "float32", shape), axis, opset=source)

        expected = oracle.hardmax("float32", bits_of(x), axis, source)
        assert_same(bits_of(run(mh.to_onnx(hot, opset), x=x)), expected)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3), (2, 3, 0), (0,)])
@pytest.mark.parametrize("opset", [12, 13, 14])
def test_of_nothing_at_all(shape: tuple[int, ...], opset: int) -> None:
    for source, axis in ((11, 0), (13, 0)):
        hot = mh.hardmax(mh.Input("x", "float32", shape), axis, opset=source)

        assert run(mh.to_onnx(hot, opset), x=np.zeros(shape, "float32")).shape == shape


@pytest.mark.parametrize("dtype", [each for each in DTYPES if each not in {"bfloat16"}])
def test_constants_in_other_runtimes(dtype: str) -> None:
    constant = to_array(dtype, patterns(dtype, (2, 3), "specials"))

    found = run(mh.to_onnx({"c": mh.Constant(constant)}, 13))

    assert_same(bits_of(found), bits_of(constant))


def test_a_surrogate_gradient_has_no_place_in_onnx() -> None:
    """Values do not depend on it, so it is left out."""
    assert kinds(mh.hardmax(X, surrogate="softmax")) == ["Hardmax"]


def test_a_deep_graph_costs_no_recursion() -> None:
    node: Any = X
    for _ in range(3000):
        node = mh.hardmax(mh.maximum(node, Y))

    assert len(mh.to_onnx(node).graph.node) == 6000


def test_many_names_are_found_fast() -> None:
    inputs = [mh.Input(f"max_{i}", "float32", (1,)) for i in range(2000)]
    hot = [mh.maximum(x, x) for x in inputs]

    proto = mh.to_onnx([mh.hardmax(node) for node in hot])

    names = [name for node in proto.graph.node for name in node.output]
    assert len({*names, *(x.name for x in inputs)}) == 6000
