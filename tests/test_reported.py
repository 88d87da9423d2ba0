"""The 91 cases that other projects' users reported: values, types and errors."""

from collections.abc import Sequence
from typing import Any

import onnx
import pytest

import maxhard as mh
from cases import assert_same, recorded_array, reported
from libraries import HALVES, Library

SHAPE, DTYPE, AXIS = mh.ShapeError, mh.TypeInferenceError, mh.AxisError

# The kind of each error, and what its text has to say.
ERRORS: dict[str, tuple[type[Exception], tuple[str, ...]]] = {
    "hardmax13-axis-too-small": (AXIS, ("Hardmax-13", "axis -4", "[-3, 2]", "rank 3")),
    "hardmax13-axis-huge": (AXIS, ("Hardmax-13", "axis 33554432", "[-2, 1]", "rank 2")),
    "hardmax1-rank1-default": (AXIS, ("Hardmax-1 ", "axis 1", "rank 1")),
    "hardmax11-rank0": (AXIS, ("Hardmax-11", "rank >= 1")),
    "hardmax11-bf16-type": (DTYPE, ("Hardmax-11", "bfloat16", "float16, float32, float64")),
    "hardmax13-int-type": (DTYPE, ("Hardmax-13", "int32", "float32")),
    "hardmax13-rank0": (AXIS, ("Hardmax-13", "rank >= 1")),
    "max13-zero-inputs": (mh.GraphError, ("Max", "at least one")),
    "max6-no-broadcast": (SHAPE, ("Max-6", "same shape", "[2, 1]", "[2]")),
    "max-opset7-is-6": (SHAPE, ("Max-6", "opset 7", "same shape")),
    "max12-bf16-type": (DTYPE, ("Max-12", "bfloat16", "opset")),
    "max13-bool-type": (DTYPE, ("bool",)),
    "max13-mixed-float32-int64": (DTYPE, ("Max-13", "one dtype", "float32", "int64")),
    "max13-mixed-int64-uint64": (DTYPE, ("Max-13", "one dtype", "int64", "uint64")),
    "max13-mixed-float16-bfloat16": (DTYPE, ("Max-13", "one dtype", "float16", "bfloat16")),
    "max13-mixed-int8-uint8": (DTYPE, ("Max-13", "one dtype", "int8", "uint8")),
    "max13-bcast-mismatch": (SHAPE, ("Max-13", "[2, 3]", "[2]", "axis -1", "2 and 3")),
    "max13-empty-mismatch": (SHAPE, ("Max-13", "[0]", "[3]", "do not broadcast")),
    "sym-same-name-bad": (SHAPE, ("N", "1", "3", "x0", "x1")),
    "sym-unknown-rank-axis": (AXIS, ("Hardmax-13", "axis 2", "[-2, 1]", "rank 2")),
}
BINDING = ("sym-same-name-bad", "sym-unknown-rank-axis")  # seen only once arrays are bound
UNSORTED = "graph-unsorted"  # cannot be built from nodes, only from a file

VALUES = [case for case in reported() if "error" not in case["expected"]]
REFUSED = [case for case in reported() if case["id"] in ERRORS and case["id"] not in BINDING]
WITH_SHAPES = [case for case in reported() if "inferred_shape" in case]


def by_id(cases: Sequence[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case["id"])


def inputs_of(case: dict[str, Any]) -> list[mh.Input]:
    shapes = case.get("declared_shapes", [x["shape"] for x in case["inputs"]])
    return [
        mh.Input(f"x{i}", x["dtype"], shape)
        for i, (x, shape) in enumerate(zip(case["inputs"], shapes, strict=True))
    ]


def apply(operator: str, operands: list[Any], attributes: dict[str, Any], opset: int) -> Any:
    if operator == "Max":
        return mh.maximum(*operands, opset=opset)
    return mh.hardmax(*operands, **attributes, opset=opset)


def build(case: dict[str, Any], inputs: Sequence[Any]) -> Any:
    """The case's graph over nodes; over arrays, its value."""
    opset = case["opset"]
    if case["op"] != "graph":
        return apply(case["op"], list(inputs), case["attrs"], opset)
    values = {f"x{i}": node for i, node in enumerate(inputs)}
    for step in case["graph"]["nodes"]:
        current = values.get(step.get("start", ""))
        for _ in range(step.get("repeat", 1)):
            operands = [current if name == "prev" else values[name] for name in step["in"]]
            current = apply(step["op"], operands, step["attrs"], opset)
        values[step["out"]] = current
    return values[case["graph"]["output"]]


@by_id(VALUES)
@HALVES
def test_value(backend: Library, case: dict[str, Any]) -> None:
    arrays = [backend.array(recorded_array(x)) for x in case["inputs"]]
    expected = recorded_array(case["expected"])

    program = mh.compile(build(case, inputs_of(case)), backend.name)

    assert_same(backend.numpy(program(*arrays)), expected)


@by_id([case for case in VALUES if case["id"] != "graph-chain-5000"])
@HALVES
def test_value_at_once(backend: Library, case: dict[str, Any]) -> None:
    arrays = [backend.array(recorded_array(x)) for x in case["inputs"]]

    assert_same(backend.numpy(build(case, arrays)), recorded_array(case["expected"]))


@by_id(WITH_SHAPES)
def test_inferred_shape(case: dict[str, Any]) -> None:
    shape = case["inferred_shape"]

    assert build(case, inputs_of(case)).shape == (None if shape is None else tuple(shape))


@by_id(REFUSED)
def test_refused_before_it_runs(case: dict[str, Any]) -> None:
    kind, phrases = ERRORS[case["id"]]

    with pytest.raises(kind) as caught:
        mh.compile(build(case, inputs_of(case)))

    assert isinstance(caught.value, mh.GraphError)
    assert [phrase for phrase in phrases if phrase not in str(caught.value)] == []


@by_id([case for case in REFUSED if case["inputs"]])
def test_refused_at_once(case: dict[str, Any]) -> None:
    kind, phrases = ERRORS[case["id"]]

    with pytest.raises(kind) as caught:
        build(case, [recorded_array(x) for x in case["inputs"]])

    assert isinstance(caught.value, mh.GraphError)
    assert [phrase for phrase in phrases if phrase not in str(caught.value)] == []


@by_id([case for case in reported() if case["id"] in BINDING])
def test_refused_when_bound(backend: Library, case: dict[str, Any]) -> None:
    kind, phrases = ERRORS[case["id"]]
    program = mh.compile(build(case, inputs_of(case)), backend.name)

    with pytest.raises(kind) as caught:
        program(*(backend.array(recorded_array(x)) for x in case["inputs"]))

    assert isinstance(caught.value, mh.GraphError)
    assert [phrase for phrase in phrases if phrase not in str(caught.value)] == []


def test_unsorted_model_is_refused() -> None:
    (case,) = (case for case in reported() if case["id"] == UNSORTED)
    value = onnx.helper.make_tensor_value_info
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            [
                onnx.helper.make_node(step["op"], step["in"], [step["out"]])
                for step in case["graph"]["nodes"]
            ],
            "unsorted",
            [value("x0", onnx.TensorProto.FLOAT, [2])],
            [value("y", onnx.TensorProto.FLOAT, [2])],
        ),
        opset_imports=[onnx.helper.make_opsetid("", case["opset"])],
    )

    with pytest.raises(mh.GraphError, match="'v'"):
        mh.from_onnx(model)


def test_all_are_here() -> None:
    assert len(reported()) == 91
    assert {case["id"] for case in reported() if "error" in case["expected"]} == {
        *ERRORS,
        UNSORTED,
    }
