"""Attributes of Max and Hardmax nodes."""

from onnx import AttributeProto, NodeProto

from .errors import OnnxError


def axis_of(node: NodeProto, what: str) -> int | None:
    """The axis of a Hardmax node; None where the version's default holds.

    Raises:
        OnnxError: `axis` is not one int, or there is an attribute that Hardmax does not have.
    """
    check_attributes(node, ("axis",), what)
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            raise OnnxError(f"axis of {what} refers to an attribute of a function.", "Inline it.")
        if attribute.type != AttributeProto.INT or not attribute.HasField("i"):
            kind = AttributeProto.AttributeType.Name(attribute.type).lower()
            raise OnnxError(f"axis of {what} is of type {kind}, not int.", "Give one int.")
        axis: int = attribute.i
        return axis
    return None


def check_attributes(node: NodeProto, allowed: tuple[str, ...], what: str) -> None:
    """Raise for an attribute that the operator does not have, or has twice."""
    seen = set()
    for attribute in node.attribute:
        name = attribute.name
        if name not in allowed:
            raise OnnxError(
                f"{what} has the attribute {name!r}, which is none of its.", "Remove it."
            )
        if name in seen:
            raise OnnxError(f"{what} has the attribute {name!r} twice.", "Remove one.")
        seen.add(name)
