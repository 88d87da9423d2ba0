"""Inference on random graphs, against running them, `jax.eval_shape` and onnx's own inference."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import maxhard as mh
from cases import assert_same, to_array
from graphs import Description, descriptions

OPSETS = (1, 7, 8, 11, 12, 13, 21)


def inputs_of(graph: Description) -> list[mh.Input]:
    return [mh.Input(f"x{i}", graph.dtype, shape) for i, shape in enumerate(graph.declared)]


def build(graph: Description, inputs: list[Any]) -> Any:
    return graph.build(mh.maximum, mh.hardmax, inputs)


def arrays_of(graph: Description) -> list[Any]:
    return [to_array(graph.dtype, bits) for bits in graph.bits()]


def operators(graph: mh.Graph) -> int:
    return sum(isinstance(node, mh.Max | mh.Hardmax) for node in graph.nodes)


def expected(graph: Description) -> Any:
    """The array that the graph gives, or None where it is an error."""
    try:
        return to_array(graph.dtype, graph.expected())
    except (ValueError, IndexError):
        return None


def sizes_of(graph: Description) -> dict[str, int]:
    return {
        dim: size
        for shape, sizes in zip(graph.declared, graph.sizes, strict=True)
        for dim, size in zip(shape or (), sizes if shape is not None else (), strict=True)
        if isinstance(dim, str)
    }


def fits(dim: Any, size: int, names: dict[str, int]) -> bool:
    """Whether a dim may turn out to be `size` where names have these sizes."""
    if dim is None:
        return True
    if isinstance(dim, str):
        parts = dim.removeprefix("broadcast(").removesuffix(")").split(", ")
        among = {names[part] for part in parts} - {1}
        return {size} == (among or {1})
    return bool(dim == size)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(descriptions(opsets=OPSETS))
def test_inference_is_sound(graph: Description) -> None:
    """What is inferred is what running gives; an error is raised where running has one, only."""
    inputs = inputs_of(graph)
    output = build(graph, inputs)
    array = expected(graph)
    try:
        inferred = output.type
        result = mh.compile(mh.Graph(output, inputs), "numpy")(*arrays_of(graph))
    except mh.ShapeError:
        assert array is None
        return
    assert array is not None, "no error, where the oracle has one"
    assert_same(result, array)
    assert inferred.dtype == graph.dtype
    if inferred.shape is not None:
        names = sizes_of(graph)
        assert len(inferred.shape) == array.ndim
        for dim, size in zip(inferred.shape, array.shape, strict=True):
            assert fits(dim, size, names), f"{inferred} for {array.shape}, {names}"


@settings(max_examples=150, deadline=None, derandomize=True)
@given(descriptions(opsets=OPSETS, symbolic=False))
def test_inference_is_complete_where_all_is_known(graph: Description) -> None:
    output = build(graph, inputs_of(graph))
    array = expected(graph)
    if array is None:
        with pytest.raises(mh.ShapeError):
            _ = output.type
    else:
        assert output.type == mh.TensorType(graph.dtype, array.shape)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(descriptions(opsets=OPSETS, constants=True, most_steps=10))
def test_rewrites_change_nothing(graph: Description) -> None:
    """No byte and no error, with constants of every sort of NaN and zero in the graph."""
    inputs: list[Any] = list(inputs_of(graph))
    arrays = dict(zip([node.name for node in inputs], arrays_of(graph), strict=True))
    for i in graph.constants:
        inputs[i] = mh.Constant(arrays.pop(f"x{i}"))
    output = build(graph, inputs)
    ordered = [node for node in inputs if isinstance(node, mh.Input)]
    array = expected(graph)
    try:
        simple = mh.Graph(output, ordered).simplify()
        results = [
            mh.compile(whole, "numpy")(**arrays) for whole in (mh.Graph(output, ordered), simple)
        ]
    except mh.ShapeError:
        assert array is None
        return
    assert array is not None, "no error, where the oracle has one"
    for result in results:
        assert_same(result, array)
    assert operators(simple) <= operators(mh.Graph(output, ordered))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(descriptions(opsets=OPSETS, symbolic=False, most_steps=4))
def test_jax_agrees(graph: Description) -> None:
    jax = pytest.importorskip("jax")
    shapes = [jax.ShapeDtypeStruct(size, graph.dtype) for size in graph.sizes]
    try:
        inferred = build(graph, inputs_of(graph)).type
    except mh.ShapeError:
        with pytest.raises(mh.ShapeError):
            jax.eval_shape(lambda *arrays: build(graph, list(arrays)), *shapes)
        return

    found = jax.eval_shape(lambda *arrays: build(graph, list(arrays)), *shapes)

    assert (found.dtype.name, found.shape) == (inferred.dtype, inferred.shape)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(descriptions())
def test_onnx_agrees(graph: Description) -> None:
    """onnx leaves more open (derived dims, rank), and says nothing that we do not say."""
    onnx = pytest.importorskip("onnx")
    try:
        inferred = build(graph, inputs_of(graph)).type
    except mh.ShapeError:
        inferred = None

    try:
        model = onnx.shape_inference.infer_shapes(onnx_model(onnx, graph), strict_mode=True)
    except onnx.shape_inference.InferenceError:
        assert inferred is None
        return

    found = model.graph.output[0].type.tensor_type
    if inferred is None:
        return  # an unknown rank beside sizes that clash: onnx does not look
    assert found.elem_type == onnx.TensorProto.FLOAT
    if not found.HasField("shape"):
        return
    assert inferred.shape is not None
    assert len(found.shape.dim) == len(inferred.shape)
    for theirs, ours in zip(found.shape.dim, inferred.shape, strict=True):
        if theirs.HasField("dim_value"):
            assert ours == theirs.dim_value
        elif theirs.dim_param and not theirs.dim_param.startswith("unk__"):
            assert ours == theirs.dim_param


def onnx_model(onnx: Any, graph: Description) -> Any:
    """The graph as an ONNX model, made without maxhard."""
    helper, element = onnx.helper, onnx.TensorProto.FLOAT
    count = len(graph.declared)
    nodes = [
        helper.make_node(
            "Max" if step.axis is None else "Hardmax",
            [f"v{i}" for i in step.operands],
            [f"v{count + index}"],
            **({} if step.axis is None else {"axis": step.axis}),
        )
        for index, step in enumerate(graph.steps)
        if count + index in graph.live
    ]
    inputs = [
        helper.make_tensor_value_info(f"v{i}", element, None if shape is None else list(shape))
        for i, shape in enumerate(graph.declared)
    ]
    output = helper.make_tensor_value_info(f"v{count + len(graph.steps) - 1}", element, None)
    return helper.make_model(
        helper.make_graph(nodes, "random", inputs, [output]),
        opset_imports=[helper.make_opsetid("", 13)],
    )


def test_hypothesis_meets_every_outcome() -> None:
    """The random graphs would prove nothing if all of them were errors, or none."""
    seen: dict[str, int] = {"array": 0, "error": 0}

    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(descriptions(opsets=OPSETS))
    def look(graph: Description) -> None:
        seen["error" if expected(graph) is None else "array"] += 1

    look()

    assert min(seen.values()) > 20, seen


def test_expressions_are_kept_verbatim() -> None:
    x = mh.Input("x", "float32", ("2*(H//2)", "2*h"))

    assert mh.hardmax(mh.maximum(x, np.float32(0))).shape == ("2*(H//2)", "2*h")
