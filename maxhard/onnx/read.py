"""A model as a graph: its Max and Hardmax nodes, in the order in which the model has them."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from onnx import NodeProto, TensorProto, TypeProto

from ..graph.errors import GraphError
from ..graph.infer import solve
from ..graph.nodes import AnyNode, Constant, Hardmax, Input, Max
from ..graph.types import TensorType
from ..graph.versions import default_axis, flattens, hardmax_version, max_version
from ..graph.walk import topological
from ..structure import Graph
from .attributes import axis_of, check_attributes
from .constants import constant_tensor
from .errors import OnnxError
from .facts import Fact, known_constant
from .foreign import in_the_way, used_outside
from .operation import Operation, Value
from .order import node_text, operator_name, producers, used_by
from .recognise import RULES, hardmax_of, recognise
from .source import DEFAULT_DOMAINS, Source, load
from .tensors import decode
from .values import check_declared, inferred, tensor_type

_LARGEST_FACT = 2**20  # elements of a constant that a pattern is looked for in


def read(source: Any, outputs: Iterable[str] | None, cut: bool) -> Graph:
    """See `maxhard.from_onnx`."""
    return _Reader(load(source), cut).graph(outputs)


class _Reader:
    """One model, read from its inputs to the outputs asked for."""

    def __init__(self, source: Source, cut: bool) -> None:
        self.source, self.cut = source, cut
        self.proto = source.model.graph
        self.makers = producers(self.proto)
        self.functions = {(f.domain, f.name) for f in source.model.functions}
        self.nodes: dict[str, AnyNode] = {}
        self.facts: dict[str, Fact] = {}
        self.constants: dict[str, TensorProto] = {t.name: t for t in self.proto.initializer}
        self.inputs = {
            value.name: value for value in self.proto.input if value.name not in self.constants
        }
        self.cuts: dict[str, Input] = {}

    def graph(self, outputs: Iterable[str] | None) -> Graph:
        names = self.asked_for(outputs)
        for number in self.ancestors(names):
            self.visit(self.proto.node[number], number)
        if outputs is None and self.cut:
            names = self.borders()
        found = {name: self.node(name) for name in names}
        order = topological(found.values())
        needed = {x.name: x for x in order if isinstance(x, Input)}
        self.check_foreign([name for name in needed if name in self.cuts])
        types = solve(order)
        if outputs is None and not self.cut:  # the whole model, with inputs that nothing uses
            for value in self.proto.output:
                check_declared(value, types[found[value.name]])
            needed |= {name: self.input(name) for name in self.inputs}
        ordered = [needed[name] for name in self.inputs if name in needed]
        return Graph(found, dict.fromkeys([*ordered, *needed.values()]))

    def asked_for(self, outputs: Iterable[str] | None) -> list[str]:
        """The names of the tensors that are wanted, each of which the model has."""
        if outputs is None:
            names = [value.name for value in self.proto.output]
            if not names:
                raise OnnxError(f"{self.source.name} has no outputs.", "Name some: outputs=[...].")
            return names
        names = [outputs] if isinstance(outputs, str) else list(outputs)
        for name in names:
            if not isinstance(name, str) or name not in self.makers:
                raise OnnxError(
                    f"{self.source.name} has no tensor {name!r}.",
                    f"Its outputs are {', '.join(value.name for value in self.proto.output)}.",
                )
        return names

    def ancestors(self, names: Iterable[str]) -> list[int]:
        """The numbers of the nodes that `names` depend on."""
        pending, found = list(names), set()
        while pending:
            number = self.makers[pending.pop()]
            if number >= 0 and number not in found:
                found.add(number)
                pending += used_by(self.proto.node[number])
        return sorted(found)

    def visit(self, node: NodeProto, number: int) -> None:
        """Make what `node` gives a node of ours, or a fact."""
        what = node_text(node, number)
        kind = operator_name(node) if self.is_standard(node) else ""
        if kind in ("Max", "Hardmax", "Identity", "Constant"):
            self.check_arity(node, what)
        match kind:
            case "Max":
                check_attributes(node, ("consumed_inputs",) if self.max_version == 1 else (), what)
                operands = tuple([self.node(name) for name in node.input])
                self.nodes[node.output[0]] = Max.of(operands, self.source.opset, self.origin(what))
            case "Hardmax":
                self.visit_hardmax(node, what)
            case "Identity":
                self.visit_identity(node.input[0], node.output[0])
            case "Constant":
                tensor = constant_tensor(node, what)
                if tensor is not None:
                    self.constants[node.output[0]] = tensor
            case "":
                pass
            case _:
                self.visit_foreign(node, what)

    def visit_hardmax(self, node: NodeProto, what: str) -> None:
        opset = self.source.opset
        version = hardmax_version(opset)
        axis = axis_of(node, what)
        axis = default_axis(version) if axis is None else axis
        operation = self.operation(node, what)
        fact = hardmax_of(operation.operand(0), axis, flattens(version), operation)
        if fact is not None:
            self.facts[node.output[0]] = fact
        operand = self.node(node.input[0])
        self.nodes[node.output[0]] = Hardmax.of(operand, axis, opset, None, self.origin(what))

    def visit_identity(self, given: str, name: str) -> None:
        if given in self.facts:
            self.facts[name] = self.facts[given]
        if given in self.constants:
            self.constants[name] = self.constants[given]
        elif given in self.nodes or given in self.inputs:
            self.nodes[name] = self.node(given)

    def visit_foreign(self, node: NodeProto, what: str) -> None:
        if node.op_type not in RULES or len(node.output) != 1 or not node.output[0]:
            return
        found = recognise(self.operation(node, what))
        if isinstance(found, Input | Constant | Max | Hardmax):
            self.nodes[node.output[0]] = found
        elif found is not None:
            self.facts[node.output[0]] = found

    def operation(self, node: NodeProto, what: str) -> Operation:
        operands = tuple([self.value(name) for name in node.input])
        return Operation(node, self.source.opset, self.origin(what), operands)

    def value(self, name: str) -> Value:
        """What is known of a tensor for the sake of a pattern; None for nothing."""
        if not name:
            return None
        if name in self.facts:
            return self.facts[name]
        try:
            if name in self.constants:
                tensor = self.constants[name]
                size = 1
                for dim in tensor.dims:
                    size *= dim
                if size > _LARGEST_FACT:
                    return None
                return known_constant(*decode(tensor, f"constant {name!r}", self.source.folder))
            return self.node(name)
        except GraphError:
            return None

    def node(self, name: str) -> AnyNode:
        """The node of a tensor; one made by a foreign operator becomes an input."""
        if not name:
            raise OnnxError("an operand has no name.", "Max and Hardmax have no optional operands.")
        if name not in self.nodes:
            self.nodes[name] = self.new_node(name)
        return self.nodes[name]

    def new_node(self, name: str) -> AnyNode:
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
        known = self.nodes.get(name)
        if isinstance(known, Input):
            return known
        type_ = tensor_type(self.inputs[name].type, f"input {name!r}")
        return Input.of(name, type_, self.source.name)

    @cached_property
    def types(self) -> dict[str, TypeProto]:
        return inferred(self.source.model)

    @cached_property
    def max_version(self) -> int:
        return max_version(self.source.opset)

    def is_standard(self, node: NodeProto) -> bool:
        """Whether this is an operator of ONNX's own, and no function of the model."""
        return node.domain in DEFAULT_DOMAINS and (node.domain, node.op_type) not in self.functions

    def origin(self, what: str) -> str:
        return f"{self.source.name}, {what}"

    def check_arity(self, node: NodeProto, what: str) -> None:
        counts = {"Max": range(1, 2**31), "Constant": range(1)}.get(node.op_type, range(1, 2))
        if len(node.input) not in counts or len(node.output) != 1 or not node.output[0]:
            raise OnnxError(
                f"{what} has {len(node.input)} operands and {len(node.output)} results.",
                "The operator takes one operand (Max: one or more) and gives one result.",
            )
        if not all(node.input):
            raise OnnxError(
                f"{what} has an empty operand name.",
                "That means an absent optional operand, of which the operator has none.",
            )

    def check_foreign(self, cuts: Sequence[str]) -> None:
        """Raise if inputs were made of foreign results that nobody asked to cut at."""
        if not cuts or self.cut:
            return
        ours = {*self.nodes, *self.constants} - {*self.cuts}
        nodes = [(number, self.proto.node[number]) for number in self.ancestors(cuts)]
        foreign = [(i, node) for i, node in nodes if ours.isdisjoint(node.output)]
        raise in_the_way(foreign, self.functions, self.source.name)

    def borders(self) -> list[str]:
        """Results of Max and Hardmax that something else uses."""
        seen: set[AnyNode] = set()

        def below(name: str) -> list[str] | None:
            if name not in self.nodes or name in self.cuts:
                return None
            new = topological([self.nodes[name]], lambda node: node in seen)
            seen.update(new)
            return [node.name for node in new if isinstance(node, Input)]

        used = used_outside(self.proto, self.makers, below)
        found = [
            name
            for name in self.makers
            if name in used and isinstance(self.nodes.get(name), Max | Hardmax)
        ]
        if not found:
            raise OnnxError(
                f"{self.source.name} has no Max and no Hardmax.", "Name tensors: outputs=[...]."
            )
        return found
