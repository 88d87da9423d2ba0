"""The value of a Constant node."""

from onnx import AttributeProto, NodeProto, TensorProto

from .errors import OnnxError


def constant_tensor(node: NodeProto, what: str) -> TensorProto | None:
    """The tensor of a Constant node; None for strings and sparse tensors, which are foreign.

    Raises:
        OnnxError: the node has no value, or several.
    """
    if len(node.attribute) != 1:
        raise OnnxError(f"{what} has {len(node.attribute)} attributes.", "Give it one value.")
    value = node.attribute[0]
    match value.name, value.type:
        case "value", AttributeProto.TENSOR:
            tensor: TensorProto = value.t
            return tensor
        case "value_float", AttributeProto.FLOAT:
            return TensorProto(data_type=TensorProto.FLOAT, float_data=[value.f])
        case "value_floats", AttributeProto.FLOATS:
            dims = [len(value.floats)]
            return TensorProto(data_type=TensorProto.FLOAT, dims=dims, float_data=value.floats)
        case "value_int", AttributeProto.INT:
            return TensorProto(data_type=TensorProto.INT64, int64_data=[value.i])
        case "value_ints", AttributeProto.INTS:
            dims = [len(value.ints)]
            return TensorProto(data_type=TensorProto.INT64, dims=dims, int64_data=value.ints)
    return None
