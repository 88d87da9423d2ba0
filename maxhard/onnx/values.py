"""What a model says of its tensors' types: declared, or found by ONNX's shape inference."""

from collections.abc import Iterable

import onnx
from onnx import GraphProto, ModelProto, TensorProto, TypeProto, ValueInfoProto

from ..graph.types import Dim, TensorType
from .errors import OnnxError
from .tensors import element_type

_SMALL = 1024  # bytes; larger initializers matter to no shape, and are kept out of the inference


def tensor_type(proto: TypeProto, what: str) -> TensorType:
    """A dtype and a shape, each open where the model leaves it so.

    Raises:
        OnnxError: this is no tensor, or one of a dtype that Max and Hardmax do not take.
    """
    kind = proto.WhichOneof("value")
    if kind not in (None, "tensor_type"):
        raise OnnxError(
            f"{what} is a {kind.removesuffix('_type').replace('_', ' ')}, not a tensor.",
            "Max and Hardmax take tensors.",
        )
    tensor = proto.tensor_type
    dtype = element_type(tensor.elem_type, what) if tensor.elem_type else None
    shape = None
    if tensor.HasField("shape"):
        shape = tuple(_dim(each) for each in tensor.shape.dim)
    return TensorType(dtype, shape)


def _dim(dim: "onnx.TensorShapeProto.Dimension") -> Dim:
    if dim.HasField("dim_value") and dim.dim_value >= 0:  # some exporters write -1 for unknown
        return dim.dim_value
    return dim.dim_param or None


def check_declared(value: ValueInfoProto, found: TensorType) -> None:
    """Raise if an output is declared to be of another type than it is.

    Raises:
        OnnxError: dtype, rank or a size differs.
    """
    what = f"output {value.name!r}"
    wanted = tensor_type(value.type, what)
    shapes_differ = (
        wanted.shape is not None
        and found.shape is not None
        and (
            len(wanted.shape) != len(found.shape)
            or any(
                isinstance(one, int) and isinstance(other, int) and one != other
                for one, other in zip(wanted.shape, found.shape, strict=True)
            )
        )
    )
    if wanted.dtype not in (None, found.dtype) or shapes_differ:
        raise OnnxError(f"{what} is declared {wanted}, and is {found}.", "Correct the model.")


def declared(graph: GraphProto) -> dict[str, TypeProto]:
    """The types that the model writes down."""
    every: Iterable[ValueInfoProto] = [*graph.value_info, *graph.output, *graph.input]
    return {value.name: value.type for value in every if value.HasField("type")}


def inferred(model: ModelProto) -> dict[str, TypeProto]:
    """The same, with those that ONNX's shape inference finds."""
    light = ModelProto(ir_version=model.ir_version, opset_import=model.opset_import)
    light.functions.extend(model.functions)
    graph = light.graph
    graph.CopyFrom(
        GraphProto(
            name="types",
            node=model.graph.node,
            input=model.graph.input,
            output=model.graph.output,
            value_info=model.graph.value_info,
        )
    )
    known = {value.name for value in graph.input}
    for tensor in model.graph.initializer:
        if tensor.ByteSize() <= _SMALL and tensor.data_location != TensorProto.EXTERNAL:
            graph.initializer.append(tensor)
        elif tensor.name not in known:
            graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    try:
        found = onnx.shape_inference.infer_shapes(light, data_prop=True)
    except Exception:  # it checks what it meets: then the declared types have to do
        return declared(model.graph)
    return declared(found.graph)
