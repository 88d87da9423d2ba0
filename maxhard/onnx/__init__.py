"""ONNX in and out: models become graphs and graphs become models, at every opset."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..structure import Graph
from .errors import OnnxError as OnnxError, require_onnx

if TYPE_CHECKING:
    from onnx import ModelProto
    from onnx.backend.base import Backend
    from onnx.reference.op_run import OpRun


def from_onnx(source: Any, outputs: Iterable[str] | None = None, *, cut: bool = False) -> Graph:
    """The Max and Hardmax of an ONNX model, at any opset, as a graph.

    Each operator keeps the version that the model's opset gives it. ArgMax followed by a one-hot
    encoding, as exporters write it, is read as Hardmax where the two are the same.

    Args:
        source: A path, the bytes of a model, or an `onnx.ModelProto`. Nothing in it is changed.
        outputs: Names of tensors. None: the model's outputs; with `cut`, each result of Max or
            Hardmax that something else in the model uses.
        cut: Take tensors that other operators make as inputs, under their names and with the
            types that ONNX's shape inference gives them.

    Returns:
        A graph whose outputs are a mapping by ONNX names, and whose inputs have the model's order.

    Raises:
        OnnxError: this is no valid model, or operators other than Max and Hardmax are in the way.
        OpsetError: the model's opset is not known.
        GraphError: a node breaks a rule of its operator version.
        MissingBackendError: onnx is not installed.

    >>> from maxhard import Input, hardmax
    >>> print(from_onnx(to_onnx({"y": hardmax(Input("x", "float32", ("N", 3)))})))
    x  = Input                   float32[N, 3]
    %0 = Hardmax-13(x, axis=-1)  float32[N, 3]
    return y: %0
    """
    require_onnx()
    from .read import read

    return read(source, outputs, cut)


def to_onnx(outputs: Any, opset: int = 13) -> "ModelProto":
    """`outputs` as an ONNX model of any opset, with the same meaning.

    Operators of another version than the opset's are written in a form that means the same, as
    far as there is one: Hardmax from below opset 13 goes through Flatten and Reshape, and
    Hardmax-13 goes below through Transpose. The graph is simplified first.

    Args:
        outputs: A node, a sequence or a mapping of nodes, or a `Graph`. Keys of a mapping become
            the names of the model's outputs, which otherwise are `output` or `output_0`, ...
        opset: From 1 to the newest that the installed onnx knows.

    Raises:
        OnnxError: this opset cannot express the graph.
        OpsetError: the opset is not known.
        MissingBackendError: onnx is not installed.

    >>> from maxhard import Input, hardmax, maximum
    >>> x = Input("x", "float32", ("N", 3))
    >>> [node.op_type for node in to_onnx(hardmax(maximum(x, 0.0))).graph.node]
    ['Max', 'Hardmax']
    """
    require_onnx()
    from .write import write

    return write(outputs, opset)


def backend_class(backend: Any = "numpy") -> "type[Backend]":
    """An `onnx.backend.base.Backend` that runs models on an array library.

    >>> import numpy as np
    >>> from maxhard import Input, maximum
    >>> model = to_onnx(maximum(Input("x", "float32", (2,)), 0.0))
    >>> backend_class("numpy").run_model(model, [np.float32([-1, 1])])
    (array([0., 1.], dtype=float32),)

    Raises:
        MissingBackendError: onnx or the array library is not installed.
        BackendError: the backend is not known.
    """
    require_onnx()
    from .backend import backend_class

    return backend_class(backend)


def operators(backend: Any = "numpy") -> "list[type[OpRun]]":
    """Max and Hardmax for `onnx.reference.ReferenceEvaluator(model, new_ops=operators())`.

    Any model then runs with these two computed by maxhard, on the array library of choice. The
    evaluator keeps to its own operators inside functions of a model: inline those first, by
    `onnx.inliner.inline_local_functions`.

    Raises:
        MissingBackendError: onnx or the array library is not installed.
        BackendError: the backend is not known.
    """
    require_onnx()
    from .reference import operators

    return operators(backend)
