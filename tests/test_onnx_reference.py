"""Any model, with our Max and Hardmax inside ONNX's reference evaluator."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.inliner import inline_local_functions
from onnx.reference import ReferenceEvaluator

import oracle
from cases import DTYPES, FLOATS, assert_same, bits_of, patterns, to_array
from maxhard.onnx import operators
from models import model, node, value


@pytest.fixture(params=["numpy", "jax"])
def ours(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Runs a model with our operators on one library."""
    pytest.importorskip(request.param)

    def run(proto: Any, **arrays: Any) -> Any:
        return ReferenceEvaluator(proto, new_ops=operators(request.param)).run(None, arrays)[0]

    return run


@pytest.mark.parametrize("dtype", DTYPES)
def test_max_gives_the_bytes_of_the_contract(ours: Any, dtype: str) -> None:
    a, b = (patterns(dtype, shape, "specials") for shape in ((7, 33), (33,)))
    number = helper.np_dtype_to_tensor_dtype(to_array(dtype, a).dtype)
    inputs = [value("a", a.shape, number), value("b", b.shape, number)]
    proto = model([node("Max", ["a", "b"], ["y"])], inputs)

    result = ours(proto, a=to_array(dtype, a), b=to_array(dtype, b))

    assert_same(bits_of(result), oracle.maximum(dtype, [a, b]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_hardmax_gives_the_bytes_of_the_contract(ours: Any, dtype: str) -> None:
    x = patterns(dtype, (5, 4, 3), "specials")
    array = to_array(dtype, x)
    number = helper.np_dtype_to_tensor_dtype(array.dtype)
    for axis in (None, 0, 1, -1):
        given = {} if axis is None else {"axis": axis}
        proto = model([node("Hardmax", ["x"], ["y"], **given)], [value("x", x.shape, number)])

        assert_same(bits_of(ours(proto, x=array)), oracle.hardmax(dtype, x, axis))


@pytest.mark.parametrize("opset", [1, 10, 11, 12])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -2])
def test_legacy_hardmax_where_the_reference_itself_is_wrong(
    ours: Any, opset: int, axis: int | None
) -> None:
    x = np.random.default_rng(0).integers(0, 4, (2, 3, 2)).astype("float32")
    given = {} if axis is None else {"axis": axis}
    proto = model([node("Hardmax", ["x"], ["y"], **given)], [value("x", x.shape)], opset=opset)

    assert_same(bits_of(ours(proto, x=x)), oracle.hardmax("float32", bits_of(x), axis, opset))


def test_between_other_operators(ours: Any) -> None:
    nodes = [
        node("Neg", ["x"], ["n"]),
        node("Max", ["n", "x"], ["m"]),
        node("Hardmax", ["m"], ["h"]),
        node("Mul", ["h", "x"], ["y"]),
    ]
    x = np.float32([[1, -3, 2], [-0.0, 0.0, 0.0]])

    assert_same(ours(model(nodes), x=x), np.float32([[0, -3, 0], [-0.0, 0, 0]]))


def test_inside_a_subgraph(ours: Any) -> None:
    x = np.zeros((2, 3, 2), "float32")
    body = helper.make_graph([node("Hardmax", ["x"], ["h"])], "body", [], [value("h", x.shape)])
    nodes = [node("If", ["c"], ["y"], then_branch=body, else_branch=body)]
    proto = model(nodes, [value("c", (), TensorProto.BOOL), value("x", x.shape)], opset=11)

    assert int(ours(proto, c=np.array(True), x=x).sum()) == 2  # and 4 by the reference's own


def test_inside_a_function_of_the_model_that_is_inlined(ours: Any) -> None:
    """The evaluator keeps to its own operators inside functions."""
    hot = node("Hardmax", ["a"], ["b"])
    hot.attribute.add(name="axis", ref_attr_name="place", type=2)
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("local", 1)]
    function = helper.make_function(
        "local", "Pick", ["a"], ["b"], [hot], imports[:1], attributes=["place"]
    )
    proto = model(
        [node("Pick", ["x"], ["y"], domain="local", place=0)],
        opset_imports=imports,
        functions=[function],
    )
    x = np.float32([[1, 5, 2], [4, 0, 2]])

    assert_same(ours(inline_local_functions(proto), x=x), np.float32([[0, 1, 1], [1, 0, 0]]))


def test_operands_are_not_written_to(ours: Any) -> None:
    x = np.float32([[1, np.nan, -0.0]])
    x.flags.writeable = False

    ours(model([node("Max", ["x", "x"], ["y"])]), x=x)
