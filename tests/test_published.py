"""The 23 published ONNX node examples of Max and Hardmax."""

from typing import Any

import pytest

import maxhard as mh
from cases import assert_same, published, recorded_array
from libraries import HALVES, Library

pytestmark = HALVES


def node(case: dict[str, Any], operands: list[Any]) -> Any:
    operator = mh.maximum if case["op"] == "Max" else mh.hardmax
    return operator(*operands, **case["attributes"], opset=case["opset"])


@pytest.mark.parametrize("case", published(), ids=lambda case: case["name"])
def test_published_example(backend: Library, case: dict[str, Any]) -> None:
    expected = recorded_array(case["outputs"][0])
    arrays = [backend.array(recorded_array(tensor)) for tensor in case["inputs"]]
    inputs = [mh.Input(x["name"], x["dtype"], x["shape"]) for x in case["inputs"]]
    program = mh.compile({case["outputs"][0]["name"]: node(case, inputs)}, backend.name)

    (result,) = program(*arrays).values()

    assert_same(backend.numpy(result), expected)
    assert_same(backend.numpy(node(case, arrays)), expected)


@pytest.mark.parametrize("case", published(), ids=lambda case: case["name"])
def test_published_types(case: dict[str, Any]) -> None:
    inputs, (output,) = (
        [
            mh.Input(x["name"], x["dtype"], x.get("symbolic_shape", x["shape"]))
            for x in case[tensors]
        ]
        for tensors in ("inputs", "outputs")
    )

    assert node(case, inputs).type == output.type


def test_all_are_here() -> None:
    assert len(published()) == 23
