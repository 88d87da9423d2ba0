"""Names in a model: each tensor is made once, before it is used."""

from collections.abc import Iterable, Iterator

from onnx import AttributeProto, GraphProto, NodeProto

from .errors import OnnxError


def producers(graph: GraphProto) -> dict[str, int]:
    """The number of the node that makes each tensor; -1 for inputs and initializers.

    Raises:
        OnnxError: a tensor is made twice, never, or after its use.
    """
    made: dict[str, int] = {}
    for kind, names in (
        ("inputs", [value.name for value in graph.input]),
        ("initializers", [tensor.name for tensor in graph.initializer]),
        ("sparse initializers", [tensor.values.name for tensor in graph.sparse_initializer]),
    ):
        if len({*names}) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise OnnxError(f"two {kind} are named {twice!r}.", "Name them apart.")
        made.update(dict.fromkeys(names, -1))
    later = {name for node in graph.node for name in node.output}
    for number, node in enumerate(graph.node):
        for name in used_by(node):
            if name not in made:
                raise _unmade(name, node_text(node, number), name in later, graph)
        for name in filter(None, node.output):
            if name in made:
                raise OnnxError(
                    f"tensor {name!r} is made twice, by {node_text(node, number)} the second time.",
                    "Each tensor has one maker: name them apart.",
                )
            made[name] = number
    for value in graph.output:
        if value.name not in made:
            raise _unmade(value.name, "the model's outputs", False, graph)
    return made


def node_text(node: NodeProto, number: int) -> str:
    """A node in errors: its name, or its number where it has none."""
    return f"node {node.name or f'#{number}'} ({operator_name(node)})"


def operator_name(node: NodeProto) -> str:
    """`Max`, or `com.example.Max` for another domain than ONNX's own."""
    domain = node.domain if node.domain not in ("", "ai.onnx") else ""
    return f"{domain}.{node.op_type}" if domain else node.op_type


def used_by(node: NodeProto) -> Iterator[str]:
    """The tensors that a node reads, those that its subgraphs take from outside included."""
    yield from filter(None, node.input)
    for graph in _subgraphs(node):
        yield from _captured(graph)


def _captured(graph: GraphProto) -> Iterator[str]:
    """What a subgraph takes from outside, in any depth (protobuf itself limits that to 100)."""
    inner = {value.name for value in graph.input}
    inner.update(tensor.name for tensor in graph.initializer)
    inner.update(tensor.values.name for tensor in graph.sparse_initializer)
    inner.update(name for node in graph.node for name in node.output)
    for node in graph.node:
        yield from (name for name in used_by(node) if name not in inner)
    yield from (value.name for value in graph.output if value.name not in inner)


def _subgraphs(node: NodeProto) -> Iterable[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def _unmade(name: str, user: str, is_later: bool, graph: GraphProto) -> OnnxError:
    if not is_later:
        return OnnxError(f"tensor {name!r} is never made, and {user} uses it.", "Correct its name.")
    if _depends_on_itself(name, graph):
        return OnnxError(f"tensor {name!r}, which {user} uses, is part of a cycle.", "Break it.")
    return OnnxError(
        f"{user} uses {name!r} before it is made: nodes must be in topological order.",
        "Sort them, each node after those it uses.",
    )


def _depends_on_itself(name: str, graph: GraphProto) -> bool:
    maker = {output: node for node in graph.node for output in node.output}
    pending, seen = list(used_by(maker[name])), set()
    while pending:
        each = pending.pop()
        if each == name:
            return True
        if each in maker and each not in seen:
            seen.add(each)
            pending += used_by(maker[each])
    return False
