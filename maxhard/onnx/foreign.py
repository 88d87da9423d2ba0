"""Operators other than Max and Hardmax: what an error says of them, and where they begin."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping

from onnx import AttributeProto, GraphProto, NodeProto

from .errors import OnnxError
from .order import operator_name, used_by

Functions = Container[tuple[str, str]]


def in_the_way(
    nodes: Iterable[tuple[int, NodeProto]], functions: Functions, name: str
) -> OnnxError:
    """The error that lists foreign nodes, each kind with its count and the name of one node."""
    counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for number, node in nodes:
        label = _label(node, functions)
        counts[label] += 1
        first.setdefault(label, node.name or f"#{number}")
    lines = [f"  {count} x {label}: node {first[label]}" for label, count in counts.items()]
    return OnnxError(
        "operators other than Max and Hardmax are in the way.",
        "Use cut=True to take the tensors that they make as inputs, or name other outputs.",
        "\n".join([name, *lines]),
    )


def _label(node: NodeProto, functions: Functions) -> str:
    name = operator_name(node) or "an operator without a name"
    if (node.domain, node.op_type) in functions:
        return f"{name}, a function of the model"
    if any(a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS) for a in node.attribute):
        return f"{name}, which has a subgraph"
    return name


def used_outside(
    graph: GraphProto,
    makers: Mapping[str, int],
    below: Callable[[str], Iterable[str] | None],
) -> set[str]:
    """The tensors that foreign operators need, as far as the outputs depend on these.

    `below` gives the inputs of the region that a tensor is a result of, or None if of none.
    """
    found = {value.name for value in graph.output}
    pending, seen = list(found), set(found)
    while pending:
        name = pending.pop()
        inputs = below(name)
        if inputs is None:
            inputs = used_by(graph.node[makers[name]]) if makers[name] >= 0 else ()
            inputs = list(inputs)
            found.update(inputs)
        pending += set(inputs) - seen
        seen.update(inputs)
    return found
