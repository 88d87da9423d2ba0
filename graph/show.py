"""Graphs and nodes as text: one line for a node, a listing for a graph, a paragraph for errors."""

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from .errors import GraphError
from .nodes import AnyNode, Constant, Hardmax, Input, Max
from .scalars import number_text
from .types import TensorType
from .versions import operator_text

_SHOWN_OPERANDS = 8
_SHOWN_NODES = 1000
_EDGE = 20  # of a longer listing, so many nodes of either end


def one_line(node: AnyNode) -> str:
    """What `repr` gives: `<Hardmax-13 axis=-1: float32[N, 3]>`; it never raises.

    >>> Input("x", "float32", ("N", 3))
    <Input x: float32[N, 3]>
    """
    try:
        type_ = str(node.type)
    except GraphError as error:
        type_ = type(error).__name__
    return f"<{_operation(node)}: {type_}>"


def _operation(node: AnyNode) -> str:
    match node:
        case Input():
            return f"Input {node.name}"
        case Constant():
            return (
                "Constant" if isinstance(node.data, bytes) else f"Constant {number_text(node.data)}"
            )
        case Max():
            return f"Max-{node.version} of {len(node.operands)}"
        case Hardmax():
            return f"Hardmax-{node.version} {_attributes(node)}"
        case _:
            assert_never(node)


def _attributes(node: Hardmax) -> str:
    surrogate = f" surrogate={node.surrogate}" if node.surrogate else ""
    return f"axis={node.axis}{surrogate}"


def operation_text(node: AnyNode, operands: Sequence[TensorType]) -> str:
    """A node and its operands with their types and the lines that made them, for errors."""
    nodes: Sequence[AnyNode]
    match node:
        case Input() | Constant():
            return f"{_operation(node)}, made at {node.origin}"
        case Max():
            head, nodes = operator_text("Max", node.opset), node.operands
        case Hardmax():
            head, nodes = operator_text("Hardmax", node.opset), (node.operand,)
        case _:
            assert_never(node)
    lines = [
        (f"{_operand_name(each)}: {type_}, made at {each.origin}")
        for each, type_ in zip(nodes, operands, strict=False)
    ]
    return context(f"{head} at {node.origin}", lines, operands)


def context(head: str, lines: Sequence[str], types: Sequence[object]) -> str:
    """The first part of an error's text; of many operands, the first one of each type."""
    if len(lines) > _SHOWN_OPERANDS:
        first = {type_: line for line, type_ in reversed(list(zip(lines, types, strict=True)))}
        shown = [line for line in lines if line in set(first.values())][:_SHOWN_OPERANDS]
        lines = [*shown, f"... {len(lines) - len(shown)} more operands"]
    return "\n  ".join([head, *lines])


def _operand_name(node: AnyNode) -> str:
    match node:
        case Input():
            return node.name
        case Constant():
            return "constant" if isinstance(node.data, bytes) else number_text(node.data)
        case Max():
            return f"Max-{node.version}"
        case Hardmax():
            return f"Hardmax-{node.version}"
        case _:
            assert_never(node)


def listing(
    order: Sequence[AnyNode],
    outputs: Iterable[tuple[str, AnyNode]],
    types: Mapping[AnyNode, TensorType | str],
) -> str:
    """A graph, one node a line in order of evaluation; long ones without their middle.

    Inputs stand under their names, other nodes under %0, %1, ...; weak numbers in place.
    """
    names = _names(order)
    listed = [node for node in order if not (isinstance(node, Constant) and node.is_weak)]
    hidden = len(listed) - 2 * _EDGE if len(listed) > _SHOWN_NODES else 0
    shown = [*listed[:_EDGE], *listed[-_EDGE:]] if hidden else listed
    rows = [(names[node], _expression(node, names), str(types[node])) for node in shown]
    if hidden:
        rows.insert(_EDGE, ("...", f"{hidden} more nodes", ""))
    widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
    lines = [f"{name:{widths[0]}} = {text:{widths[1]}}  {type_}" for name, text, type_ in rows]
    results = (f"{key}: {names[node]}" if key else names[node] for key, node in outputs)
    return "\n".join([*(line.rstrip() for line in lines), f"return {', '.join(results)}"])


def _names(order: Sequence[AnyNode]) -> dict[AnyNode, str]:
    names: dict[AnyNode, str] = {}
    numbered = 0
    for node in order:
        match node:
            case Input():
                names[node] = node.name
            case Constant() if node.is_weak:
                names[node] = number_text(node.data)  # type: ignore[arg-type]
            case _:
                names[node] = f"%{numbered}"
                numbered += 1
    return names


def _expression(node: AnyNode, names: Mapping[AnyNode, str]) -> str:
    match node:
        case Input():
            return "Input"
        case Constant():
            return "Constant"
        case Max():
            shown = [names[operand] for operand in node.operands[:_SHOWN_OPERANDS]]
            if len(node.operands) > _SHOWN_OPERANDS:
                shown.append(f"... {len(node.operands) - _SHOWN_OPERANDS} more")
            return f"Max-{node.version}({', '.join(shown)})"
        case Hardmax():
            return f"Hardmax-{node.version}({names[node.operand]}, {_attributes(node)})"
        case _:
            assert_never(node)
