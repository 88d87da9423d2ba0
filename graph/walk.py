"""Walks over a graph: with a stack, so that depth costs no recursion."""

from collections.abc import Callable, Iterable
from typing import assert_never

from .nodes import AnyNode, Constant, Hardmax, Input, Max


def operands_of(node: AnyNode) -> tuple[AnyNode, ...]:
    """The nodes that `node` is computed from, left to right."""
    match node:
        case Max():
            return node.operands
        case Hardmax():
            return (node.operand,)
        case Input() | Constant():
            return ()
        case _:
            assert_never(node)


def topological(
    outputs: Iterable[AnyNode], is_done: Callable[[AnyNode], bool] | None = None
) -> list[AnyNode]:
    """Every node that `outputs` depend on, each once, operands first and left to right.

    Nodes for which `is_done` holds are left out, and so are the ones only they depend on.
    """
    order: list[AnyNode] = []
    seen: set[AnyNode] = set()
    # A node is pushed twice: to be opened, and (below None) to be emitted after its operands.
    stack: list[AnyNode | None] = [*outputs]
    stack.reverse()
    while stack:
        node = stack.pop()
        if node is None:
            emitted = stack.pop()
            assert emitted is not None
            order.append(emitted)
        elif node not in seen and not (is_done and is_done(node)):
            seen.add(node)
            stack += (node, None, *operands_of(node)[::-1])
    return order
