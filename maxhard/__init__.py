"""Max and Hardmax: one definition of the two ONNX operators, with the same bytes everywhere."""

from .backends import available as backends
from .eager import hardmax, maximum
from .export import ExportedProgram, load_exported
from .graph.dtypes import DType
from .graph.errors import (
    AxisError,
    BackendError,
    BindingError,
    ExportError,
    FrozenError,
    GraphError,
    LazyError,
    MissingBackendError,
    OpsetError,
    RangeError,
    ShapeError,
    SurrogateError,
    TypeInferenceError,
)
from .graph.node import Node
from .graph.nodes import Constant, Hardmax, Input, Max
from .graph.types import TensorType
from .onnx import OnnxError, from_onnx, to_onnx
from .program import Program, compile, evaluate
from .structure import Graph

__version__ = "0.1.0"

__all__ = [
    "AxisError",
    "BackendError",
    "BindingError",
    "Constant",
    "DType",
    "ExportError",
    "ExportedProgram",
    "FrozenError",
    "Graph",
    "GraphError",
    "Hardmax",
    "Input",
    "LazyError",
    "Max",
    "MissingBackendError",
    "Node",
    "OnnxError",
    "OpsetError",
    "Program",
    "RangeError",
    "ShapeError",
    "SurrogateError",
    "TensorType",
    "TypeInferenceError",
    "backends",
    "compile",
    "evaluate",
    "from_onnx",
    "hardmax",
    "load_exported",
    "maximum",
    "to_onnx",
]
