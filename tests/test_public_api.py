"""The names and signatures that users rely on."""

import inspect
from typing import Any

import numpy as np
import pytest

import maxhard as mh

SIGNATURES = {
    "Input": "(name, dtype=None, shape=None)",
    "Constant": "(value, dtype=None)",
    "maximum": "(*operands, opset=13)",
    "hardmax": "(x, axis=None, *, opset=13, surrogate=None)",
    "Graph": "(outputs, inputs=None)",
    "compile": "(outputs, backend=None, *, device=None, donate=())",
    "evaluate": "(outputs, inputs=None, backend=None)",
    "backends": "()",
    "from_onnx": "(source, outputs=None, *, cut=False)",
    "to_onnx": "(outputs, opset=13)",
}
NODES = ("Node", "Input", "Constant", "Max", "Hardmax")
TYPES = ("DType", "TensorType", "Program", "Graph")
ERRORS: dict[str, tuple[type[Exception], ...]] = {
    "GraphError": (Exception,),
    "TypeInferenceError": (TypeError,),
    "ShapeError": (ValueError,),
    "AxisError": (mh.ShapeError, IndexError),
    "RangeError": (OverflowError,),
    "OpsetError": (ValueError,),
    "BindingError": (TypeError,),
    "BackendError": (ValueError,),
    "OnnxError": (ValueError,),
    "MissingBackendError": (mh.BackendError, ImportError),
}


def plain(function: Any) -> str:
    """The signature without its annotations."""
    signature = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()
    ]
    return str(signature.replace(parameters=parameters, return_annotation=signature.empty))


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name: str) -> None:
    assert plain(getattr(mh, name)) == SIGNATURES[name]


def test_node_signatures() -> None:
    assert plain(mh.Max) == "(*operands, opset=13)"
    assert plain(mh.Hardmax) == "(operand, axis=None, *, opset=13, surrogate=None)"


@pytest.mark.parametrize("name", NODES)
def test_nodes(name: str) -> None:
    assert issubclass(getattr(mh, name), mh.Node)
    for attribute in ("type", "dtype", "shape", "ndim"):
        assert isinstance(getattr(getattr(mh, name), attribute), property)


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    kind = getattr(mh, name)

    assert issubclass(kind, mh.GraphError)
    assert issubclass(kind, ERRORS[name])


def test_every_error_of_ours_is_public() -> None:
    pending, found = [mh.GraphError], set()
    while pending:
        kind = pending.pop()
        found.add(kind.__name__)
        pending += kind.__subclasses__()

    assert [name for name in found if not hasattr(mh, name)] == []


@pytest.mark.parametrize("name", ["outputs", "inputs", "nodes", "simplify"])
def test_graph_attributes(name: str) -> None:
    assert hasattr(mh.Graph, name)


def test_maximum_and_hardmax_give_nodes_of_nodes() -> None:
    x = mh.Input("x", "float32", ("N",))

    assert type(mh.maximum(x, 1)) is mh.Max
    assert type(mh.hardmax(x)) is mh.Hardmax
    assert type(mh.maximum(1, x)) is mh.Max


@pytest.mark.parametrize(
    ("opset", "version"),
    [(1, 1), (5, 1), (6, 6), (7, 6), (8, 8), (11, 8), (12, 12), (13, 13), (21, 13), (28, 13)],
)
def test_opset_picks_the_version_of_max(opset: int, version: int) -> None:
    node = mh.maximum(mh.Input("x"), opset=opset)

    assert (node.opset, node.version) == (opset, version)


@pytest.mark.parametrize(
    ("opset", "version", "axis"),
    [(1, 1, 1), (10, 1, 1), (11, 11, 1), (12, 11, 1), (13, 13, -1), (28, 13, -1)],
)
def test_opset_picks_the_version_of_hardmax(opset: int, version: int, axis: int) -> None:
    node = mh.hardmax(mh.Input("x"), opset=opset)

    assert (node.opset, node.version, node.axis) == (opset, version, axis)


def test_an_axis_is_kept_as_given() -> None:
    axis: Any = np.int64(2)

    assert mh.hardmax(mh.Input("x"), -3).axis == -3
    assert mh.hardmax(mh.Input("x"), 0, opset=11).axis == 0
    assert type(mh.hardmax(mh.Input("x"), axis).axis) is int


def test_backends_tells_what_there_is() -> None:
    found = mh.backends()

    assert next(iter(found)) == "numpy"
    assert set(found) >= {"numpy", "jax", "torch", "dask", "cupy", "array-api-strict"}
    assert all(isinstance(text, str) and text for text in found.values())


def test_public_names_are_documented() -> None:
    public = [name for name in vars(mh) if name[0].isalpha() and name[0] != "_"]
    documented = [
        getattr(mh, name)
        for name in public
        if inspect.isclass(getattr(mh, name)) or inspect.isfunction(getattr(mh, name))
    ]

    assert {*SIGNATURES, *NODES, *TYPES, *ERRORS} <= {*public}
    assert [each.__name__ for each in documented if not each.__doc__] == []


def test_version() -> None:
    from importlib.metadata import version

    assert version("maxhard") == mh.__version__
