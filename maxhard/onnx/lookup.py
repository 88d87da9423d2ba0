"""What each tensor of a model is: a node of ours, a fact, a constant, or a foreign result."""

from functools import cached_property

from onnx import TensorProto, TypeProto

from ..graph.errors import GraphError
from ..graph.nodes import AnyNode, Constant, Input
from ..graph.types import TensorType
from .errors import OnnxError
from .facts import Fact, known_constant
from .operation import Value
from .order import producers
from .source import Source
from .tensors import checked_count, decode, element_type
from .values import inferred, tensor_type

_LARGEST_FACT = 2**20  # elements of a constant that a pattern is looked for in


class Lookup:
    """The tensors of one model, by name; nodes are made when they are asked for."""

    def __init__(self, source: Source, cut: bool) -> None:
        self.source, self.cut = source, cut
        self.proto = source.model.graph
        self.makers = producers(self.proto)
        self.nodes: dict[str, AnyNode] = {}
        self.facts: dict[str, Fact] = {}
        self.constants: dict[str, TensorProto] = {t.name: t for t in self.proto.initializer}
        self.inputs = {
            value.name: value for value in self.proto.input if value.name not in self.constants
        }
        self.cuts: dict[str, Input] = {}
        self.aliases: dict[str, str] = {}

    def ours(self, name: str) -> AnyNode | None:
        """The node of a tensor, unless it stands for a foreign result or was not asked for."""
        name = self.aliases.get(name, name)
        return None if name in self.cuts else self.nodes.get(name)

    def value(self, name: str) -> Value:
        """What is known of a tensor for the sake of a pattern; None for nothing."""
        if not name:
            return None
        name = self.aliases.get(name, name)
        if name in self.facts:
            return self.facts[name]
        try:
            if name not in self.constants:
                return self.node(name)
            tensor, what = self.constants[name], f"constant {name!r}"
            dtype = element_type(tensor.data_type, what)
            if checked_count(tensor.dims, dtype, what) > _LARGEST_FACT:
                return None
            return known_constant(*decode(tensor, what, self.source.folder))
        except GraphError:
            return None

    def constant_node(self, name: str) -> AnyNode | None:
        """The node of a constant of the model; None for any other tensor, or a broken one."""
        try:
            return self.node(name) if self.aliases.get(name, name) in self.constants else None
        except GraphError:
            return None

    def node(self, name: str) -> AnyNode:
        """The node of a tensor; one made by a foreign operator becomes an input."""
        name = self.aliases.get(name, name)
        if name not in self.nodes:
            self.nodes[name] = self._new_node(name)
        return self.nodes[name]

    def _new_node(self, name: str) -> AnyNode:
        if name in self.constants:
            data, type_ = decode(self.constants[name], f"constant {name!r}", self.source.folder)
            return Constant.of_bytes(data, type_, self.source.name)
        if name in self.inputs:
            return self.input(name)
        if self.makers[name] < 0:
            raise OnnxError(f"{name!r} is a sparse initializer.", "Make it dense.")
        type_ = TensorType()
        if self.cut:
            type_ = tensor_type(self.types.get(name, TypeProto()), f"tensor {name!r}")
        self.cuts[name] = Input.of(name, type_, self.source.name)
        return self.cuts[name]

    def input(self, name: str) -> Input:
        """The node of an input of the model."""
        known = self.nodes.get(name)
        if isinstance(known, Input):
            return known
        type_ = tensor_type(self.inputs[name].type, f"input {name!r}")
        return Input.of(name, type_, self.source.name)

    @cached_property
    def types(self) -> dict[str, TypeProto]:
        """What ONNX's shape inference finds."""
        return inferred(self.source.model)
