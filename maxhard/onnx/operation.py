"""One operator of a model, as the rules that recognise patterns see it."""

from typing import NamedTuple

from onnx import AttributeProto, NodeProto

from ..graph.nodes import AnyNode
from .facts import Fact

Value = AnyNode | Fact | None


class Foreign(Exception):
    """An operator that tells nothing: it is left as it is."""


class Operation(NamedTuple):
    """One operator of the model, with what is known of its operands."""

    proto: NodeProto
    opset: int
    origin: str
    operands: tuple[Value, ...]

    def attribute(self, name: str, kind: int) -> AttributeProto | None:
        found = [each for each in self.proto.attribute if each.name == name]
        if found and (found[0].type != kind or found[0].ref_attr_name):
            raise Foreign
        return found[0] if found else None

    def integer(self, name: str, default: int) -> int:
        found = self.attribute(name, AttributeProto.INT)
        return default if found is None else found.i

    def flag(self, name: str, default: bool) -> bool:
        value = self.integer(name, default)
        if value not in (0, 1):
            raise Foreign  # runtimes do not agree on what else there may be
        return bool(value)

    def integers(self, name: str) -> tuple[int, ...] | None:
        found = self.attribute(name, AttributeProto.INTS)
        return None if found is None else tuple(found.ints)

    def operand(self, index: int) -> Value:
        return self.operands[index] if index < len(self.operands) else None
