"""ONNX models for tests, written out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

EXPORTERS = Path(__file__).parent / "data" / "exporters"
FLOAT = TensorProto.FLOAT
Shape = Sequence[int | str | None] | None

node = helper.make_node


def value(name: str, shape: Shape = ("N", 3), dtype: int = FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def array(values: Any, dtype: str, name: str = "") -> TensorProto:
    return numpy_helper.from_array(np.array(values, dtype), name)


def constant(name: str, values: Any, dtype: str) -> NodeProto:
    return node("Constant", [], [name], value=array(values, dtype))


def model(
    nodes: Sequence[NodeProto],
    inputs: Sequence[str | ValueInfoProto] = ("x",),
    outputs: Sequence[str] = ("y",),
    *,
    initializers: Mapping[str, Any] | Sequence[TensorProto] = (),
    opset: int = 13,
    **options: Any,
) -> ModelProto:
    """A model of float32[N, 3] inputs, where no other value is given; outputs have no type."""
    if isinstance(initializers, Mapping):
        initializers = [
            numpy_helper.from_array(np.asarray(array), name) for name, array in initializers.items()
        ]
    graph = helper.make_graph(
        nodes,
        "test",
        [value(each) if isinstance(each, str) else each for each in inputs],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        initializers,
    )
    options.setdefault("ir_version", 8)
    imports = options.pop("opset_imports", [helper.make_opsetid("", opset)])
    return helper.make_model(graph, opset_imports=imports, **options)
