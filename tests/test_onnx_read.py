"""from_onnx: what a model says becomes a graph that says the same."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import maxhard as mh
import oracle
from cases import DATA, assert_same, bits_of, float32, published, recorded_array, reported
from models import array, constant, model, node, value

MAX = [node("Max", ["x", "x"], ["y"])]


def run(proto: Any, **arrays: Any) -> Any:
    graph = mh.from_onnx(proto)
    return mh.evaluate(graph, arrays)[next(iter(graph.outputs))]


@pytest.mark.parametrize("opset", range(1, 29))
def test_operators_bind_to_the_version_of_the_opset(opset: int) -> None:
    nodes = [node("Max", ["x", "x"], ["m"]), node("Hardmax", ["m"], ["y"])]

    graph = mh.from_onnx(model(nodes, opset=opset))

    hot = graph.outputs["y"]
    assert isinstance(hot, mh.Hardmax)
    assert isinstance(hot.operand, mh.Max)
    assert (hot.opset, hot.operand.opset) == (opset, opset)
    assert hot.axis == (1 if opset < 13 else -1)


def test_the_three_kinds_of_source_give_one_graph(tmp_path: Path) -> None:
    proto = model(MAX)
    path = tmp_path / "a model.onnx"
    onnx.save(proto, path)

    texts = {
        str(mh.from_onnx(source))
        for source in (
            proto,
            proto.SerializeToString(),
            path,
            str(path),
            bytearray(path.read_bytes()),
        )
    }

    assert texts == {
        "x  = Input         float32[N, 3]\n%0 = Max-13(x, x)  float32[N, 3]\nreturn y: %0"
    }


def test_a_model_is_not_changed() -> None:
    proto = model([node("Flatten", ["x"], ["f"]), node("Max", ["f", "f"], ["y"])])
    before = proto.SerializeToString()

    mh.from_onnx(proto, cut=True)

    assert proto.SerializeToString() == before


def test_inputs_keep_order_names_types_and_dims() -> None:
    inputs = [
        value("late", ("batch", None, 3)),
        value("early", ("2*(H//2)", 1, 1)),
        value("unused", (), TensorProto.INT8),
        value("any rank", None),
    ]
    nodes = [node("Max", ["early", "late", "any rank"], ["y"])]

    graph = mh.from_onnx(model(nodes, inputs))

    assert [(x.name, x.declared) for x in graph.inputs] == [
        ("late", mh.TensorType("float32", ("batch", None, 3))),
        ("early", mh.TensorType("float32", ("2*(H//2)", 1, 1))),
        ("unused", mh.TensorType("int8", ())),
        ("any rank", mh.TensorType("float32", None)),
    ]


def test_a_negative_size_is_unknown() -> None:
    declared = value("x", (-1, 3))

    assert mh.from_onnx(model(MAX, [declared])).inputs[0].shape == (None, 3)


def test_outputs_are_a_mapping_by_name_in_order() -> None:
    nodes = [node("Max", ["x", "x"], ["a:0"]), node("Hardmax", ["a:0"], ["b/c"])]

    assert list(mh.from_onnx(model(nodes, outputs=["b/c", "a:0"])).outputs) == ["b/c", "a:0"]
    assert list(mh.from_onnx(model(nodes, outputs=["b/c"]), ["a:0"]).outputs) == ["a:0"]
    assert list(mh.from_onnx(model(nodes, outputs=["b/c"]), "x").outputs) == ["x"]


def test_only_the_inputs_that_the_named_outputs_need() -> None:
    nodes = [node("Max", ["x", "x"], ["a"]), node("Max", ["a", "z"], ["b"])]
    proto = model(nodes, ["z", "x"], ["b"])

    assert [x.name for x in mh.from_onnx(proto).inputs] == ["z", "x"]
    assert [x.name for x in mh.from_onnx(proto, ["a"]).inputs] == ["x"]


def test_one_operand_is_given_back_bit_for_bit() -> None:
    odd_nan = np.uint32([[0xFFC00001] * 3]).view(np.float32)

    assert_same(run(model([node("Max", ["x"], ["y"])]), x=odd_nan), odd_nan)


def test_identity_is_looked_through() -> None:
    nodes = [
        constant("c", [1.0], "float32"),
        node("Identity", ["c"], ["c2"]),
        node("Identity", ["x"], ["x2"]),
        node("Max", ["x2", "c2"], ["m"]),
        node("Identity", ["m"], ["y"]),
    ]

    graph = mh.from_onnx(model(nodes))

    assert [type(each) for each in graph.nodes] == [mh.Input, mh.Constant, mh.Max]


def test_an_output_may_be_an_input() -> None:
    x = float32([[1, 2, 3]])

    assert_same(run(model([], outputs=["x"]), x=x), x)


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ({"value": array([[5]], "int64")}, np.full((1, 1), 5, "int64")),
        ({"value_int": 5}, np.array(5, "int64")),
        ({"value_ints": [5, 6]}, np.array([5, 6], "int64")),
        ({"value_float": 1.5}, np.array(1.5, "float32")),
        ({"value_floats": [1.5]}, np.array([1.5], "float32")),
    ],
)
def test_every_form_of_constant(attribute: dict[str, Any], expected: Any) -> None:
    nodes = [node("Constant", [], ["c"], **attribute), node("Max", ["c"], ["y"])]

    assert_same(run(model(nodes, [])), expected)


TYPED = {  # element type: the field, what it holds, and the array that this means
    TensorProto.FLOAT: ("float_data", [1.5, -0.0], np.float32([1.5, -0.0])),
    TensorProto.DOUBLE: ("double_data", [1.5, -0.0], np.float64([1.5, -0.0])),
    TensorProto.FLOAT16: ("int32_data", [0x3E00, 0xFC01], np.uint16([0x3E00, 0xFC01]).view("f2")),
    TensorProto.BFLOAT16: (
        "int32_data",
        [0x3FC0, 0x8000],
        np.uint16([0x3FC0, 0x8000]).view(ml_dtypes.bfloat16),
    ),
    TensorProto.INT8: ("int32_data", [-128, 127], np.int8([-128, 127])),
    TensorProto.INT16: ("int32_data", [-(2**15), 5], np.int16([-(2**15), 5])),
    TensorProto.INT32: ("int32_data", [-(2**31), 5], np.int32([-(2**31), 5])),
    TensorProto.INT64: ("int64_data", [-(2**63), 5], np.int64([-(2**63), 5])),
    TensorProto.UINT8: ("int32_data", [255, 5], np.uint8([255, 5])),
    TensorProto.UINT16: ("int32_data", [65535, 5], np.uint16([65535, 5])),
    TensorProto.UINT32: ("uint64_data", [2**32 - 1, 5], np.uint32([2**32 - 1, 5])),
    TensorProto.UINT64: ("uint64_data", [2**64 - 1, 5], np.uint64([2**64 - 1, 5])),
}


@pytest.mark.parametrize("number", TYPED, ids=TensorProto.DataType.Name)
def test_data_in_the_field_of_its_type(number: int) -> None:
    field, elements, expected = TYPED[number]
    tensor = TensorProto(name="c", data_type=number, dims=[2], **{field: elements})

    assert_same(run(model([node("Max", ["c"], ["y"])], [], initializers=[tensor])), expected)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1)])
def test_initializers_of_odd_shapes(shape: tuple[int, ...]) -> None:
    expected = np.zeros(shape, "float32")
    proto = model([node("Max", ["c"], ["y"])], [], initializers={"c": expected})

    assert_same(run(proto), expected)


def test_an_initializer_that_is_an_input_too_is_its_value() -> None:
    proto = model(MAX, ["x"], initializers={"x": float32([[1, 2, 3]])}, ir_version=3)

    assert mh.from_onnx(proto).inputs == ()


def test_a_model_before_opset_imports_has_opset_1() -> None:
    proto = model(MAX, ir_version=2)
    del proto.opset_import[:]

    assert mh.from_onnx(proto).outputs["y"].opset == 1


def test_the_domain_may_be_written_out() -> None:
    proto = model(
        [node("Max", ["x", "x"], ["y"], domain="ai.onnx")],
        opset_imports=[helper.make_opsetid("ai.onnx", 12), helper.make_opsetid("ai.onnx.ml", 3)],
    )

    assert mh.from_onnx(proto).outputs["y"].opset == 12


def test_max_1_may_have_consumed_inputs() -> None:
    proto = model([node("Max", ["x", "x"], ["y"], consumed_inputs=[0, 0])], opset=1)

    assert mh.from_onnx(proto).outputs["y"].version == 1


@pytest.mark.parametrize("case", published(), ids=lambda case: case["name"])
def test_published_cases(case: dict[str, Any]) -> None:
    inputs = {each["name"]: recorded_array(each) for each in case["inputs"]}
    dtypes = {name: helper.np_dtype_to_tensor_dtype(x.dtype) for name, x in inputs.items()}
    proto = model(
        [node(case["op"], list(inputs), ["out"], **case["attributes"])],
        [value(name, x.shape, dtypes[name]) for name, x in inputs.items()],
        ["out"],
        opset=case["opset"],
    )

    assert_same(run(proto, **inputs), recorded_array(case["outputs"][0]))


ONE_HARDMAX = [
    case for case in reported() if case["op"] == "Hardmax" and "declared_shapes" not in case
]


@pytest.mark.parametrize("case", ONE_HARDMAX, ids=lambda case: case["id"])
def test_reported_cases_of_hardmax(case: dict[str, Any]) -> None:
    x = recorded_array(case["inputs"][0])
    dtype = helper.np_dtype_to_tensor_dtype(x.dtype)
    proto = model(
        [node("Hardmax", ["x"], ["y"], **case["attrs"])],
        [value("x", x.shape, dtype)],
        opset=case["opset"],
    )
    if "error" in case["expected"]:
        with pytest.raises(mh.GraphError):
            mh.from_onnx(proto)
    else:
        assert_same(run(proto, x=x), recorded_array(case["expected"]))


class TestCut:
    """`cut=True`: what other operators make becomes an input."""

    def test_resize_tile(self) -> None:
        """The published model: Resize, Tile, Max; its dims are expressions."""
        case = next(each for each in published() if each["name"].endswith("resize_tile"))

        graph = mh.from_onnx(DATA / "resize_tile.onnx", cut=True)

        assert [(x.name, str(x.type)) for x in graph.inputs] == [
            ("tile_out", "float32[2*(H//2), 2*h]")
        ]
        result = mh.evaluate(graph, {"tile_out": recorded_array(case["inputs"][0])})
        assert_same(result["output"], recorded_array(case["outputs"][0]))

    def test_regions_end_where_something_else_uses_them(self) -> None:
        nodes = [
            node("Max", ["x", "x"], ["inner"]),
            node("Max", ["inner", "x"], ["used"]),
            node("Relu", ["used"], ["r"]),
            node("Hardmax", ["r"], ["hot"]),
            node("Max", ["x"], ["unused"]),
            node("Identity", ["hot"], ["y"]),
        ]

        graph = mh.from_onnx(model(nodes), cut=True)

        assert list(graph.outputs) == ["used", "y"]
        assert [(x.name, str(x.type)) for x in graph.inputs] == [
            ("x", "float32[N, 3]"),
            ("r", "float32[N, 3]"),
        ]

    def test_a_subgraph_is_a_user(self) -> None:
        body = helper.make_graph([node("Relu", ["m"], ["inner"])], "body", [], [value("inner")])
        nodes = [
            node("Max", ["x", "x"], ["m"]),
            node("If", ["c"], ["y"], then_branch=body, else_branch=body),
        ]
        proto = model(nodes, ["x", value("c", (), TensorProto.BOOL)])

        assert list(mh.from_onnx(proto, cut=True).outputs) == ["m"]

    def test_without_types_the_inputs_are_open(self) -> None:
        nodes = [node("Mystery", ["x"], ["m"], domain="com.example"), *MAX]
        nodes[1].input[0] = "m"
        imports = [helper.make_opsetid("", 13), helper.make_opsetid("com.example", 1)]

        graph = mh.from_onnx(model(nodes, opset_imports=imports), cut=True)

        assert str(graph.outputs["y"].operands[0].type) == "?[...]"

    def test_a_named_output_of_a_foreign_operator_is_its_input(self) -> None:
        graph = mh.from_onnx(model([node("Relu", ["x"], ["y"])]), ["y"], cut=True)

        assert graph.outputs["y"] is graph.inputs[0]

    def test_a_model_without_max_and_hardmax(self) -> None:
        with pytest.raises(mh.OnnxError, match="has no Max and no Hardmax"):
            mh.from_onnx(model([node("Relu", ["x"], ["y"])]), cut=True)


def test_errors_of_the_graph_name_node_and_file(tmp_path: Path) -> None:
    path = tmp_path / "corrupt.onnx"
    onnx.save(model([node("Hardmax", ["x"], ["y"], name="pick", axis=33554432)]), path)

    with pytest.raises(mh.AxisError) as caught:
        mh.from_onnx(path)

    assert str(caught.value) == (
        "Hardmax-13 (opset 13) at corrupt.onnx, node pick (Hardmax)\n"
        "  x: float32[N, 3], made at corrupt.onnx\n"
        "axis 33554432 lies outside [-2, 1] for rank 2. "
        "Give an axis in that range (the default is 1 below opset 13, then -1)."
    )


def test_a_deep_model_costs_no_recursion() -> None:
    count = 5000
    names = ["x", *(f"m{i}" for i in range(count))]
    nodes = [node("Max", [names[i], "x"], [names[i + 1]]) for i in range(count)]

    graph = mh.from_onnx(model(nodes, outputs=[names[-1]]))

    assert len(graph.nodes) == count + 1


def test_legacy_hardmax_keeps_its_meaning() -> None:
    x = np.zeros((2, 3, 2), "float32")
    proto = model([node("Hardmax", ["x"], ["y"])], [value("x", x.shape)], opset=12)

    assert_same(bits_of(run(proto, x=x)), oracle.hardmax("float32", bits_of(x), 1, 12))
