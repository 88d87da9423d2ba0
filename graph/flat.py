"""A graph as a flat list, so that pickling it costs no recursion."""

from collections.abc import Sequence
from typing import Any, assert_never

from .nodes import AnyNode, Constant, Hardmax, Input, Max
from .types import TensorType
from .walk import topological

Flat = tuple[list[tuple[Any, ...]], list[int]]
"""One row for each node, operands by number; and the numbers of the outputs."""


def flatten(outputs: Sequence[AnyNode]) -> Flat:
    """`outputs` and all they depend on, as plain values."""
    order = topological(outputs)
    number = {node: i for i, node in enumerate(order)}
    rows: list[tuple[Any, ...]] = []
    for node in order:
        match node:
            case Input():
                rows.append(("Input", node.origin, node.name, node.declared))
            case Constant():
                rows.append(("Constant", node.origin, node.data, node.declared))
            case Max():
                operands = [number[operand] for operand in node.operands]
                rows.append(("Max", node.origin, operands, node.opset))
            case Hardmax():
                attributes = node.axis, node.opset, node.surrogate
                rows.append(("Hardmax", node.origin, number[node.operand], *attributes))
            case _:
                assert_never(node)
    return rows, [number[node] for node in outputs]


def restore(flat: Flat) -> list[AnyNode]:
    """New nodes for a flat list; the outputs."""
    rows, outputs = flat
    nodes: list[AnyNode] = []
    for row in rows:
        match row:
            case ("Input", origin, name, TensorType() as declared):
                nodes.append(Input.of(name, declared, origin))
            case ("Constant", origin, data, TensorType() as declared):
                nodes.append(Constant.of_bytes(data, declared, origin))
            case ("Max", origin, operands, opset):
                nodes.append(Max.of(tuple(nodes[i] for i in operands), opset, origin))
            case ("Hardmax", origin, operand, axis, opset, surrogate):
                nodes.append(Hardmax.of(nodes[operand], axis, opset, surrogate, origin))
            case _:
                raise ValueError(f"not a node: {row!r}")
    return [nodes[i] for i in outputs]


def restore_one(flat: Flat) -> AnyNode:
    """The single output of a flat list."""
    return restore(flat)[0]
