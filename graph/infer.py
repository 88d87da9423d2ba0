"""The type of every node: a table of rules, and the two ways to apply it."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeGuard, assert_never

from .dtypes import DType
from .errors import AxisError, GraphError, TypeInferenceError
from .node import set_field
from .nodes import AnyNode, Constant, Hardmax, Input, Max
from .scalars import encode
from .show import operation_text
from .types import TensorType, broadcast, equal_shape
from .versions import allowed_dtypes, broadcasts
from .walk import operands_of, topological

_UNKNOWN_NUMBER = TensorType(None, ())  # the type of a weak constant

Types = dict[AnyNode, TensorType]
"""Types of nodes, in topological order. A weak constant has no dtype of its own."""


@lru_cache(maxsize=1024)
def max_type(types: tuple[TensorType, ...], version: int) -> TensorType:
    """The type of Max over operands of `types`, an open dtype taken from the others.

    Raises:
        TypeInferenceError: dtypes differ, or are not in the version's list.
        ShapeError: shapes do not broadcast; or differ, below version 8.
    """
    dtypes = dict.fromkeys(type_.dtype for type_ in types if type_.dtype is not None)
    if len(dtypes) > 1:
        raise TypeInferenceError(
            f"all operands must have one dtype, got {' and '.join(dtypes)}.",
            "Convert them to one: nothing is promoted.",
        )
    dtype = next(iter(dtypes), None)
    _check_dtype("Max", dtype, version)
    shapes = [type_.shape for type_ in types]
    return TensorType(dtype, broadcast(shapes) if broadcasts(version) else equal_shape(shapes))


def hardmax_type(operand: TensorType, axis: int, version: int) -> TensorType:
    """The type of Hardmax, which is its operand's.

    Raises:
        TypeInferenceError: the dtype is not in the version's list.
        AxisError: `axis` lies outside [-r, r-1], as every axis does for rank 0.
    """
    _check_dtype("Hardmax", operand.dtype, version)
    if operand.shape is not None:
        normal_axis(axis, len(operand.shape))
    return operand


def normal_axis(axis: int, rank: int) -> int:
    """`axis` in [0, r-1]."""
    if -rank <= axis < rank:
        return axis % rank
    if rank == 0:
        raise AxisError(
            "Hardmax needs rank >= 1, got a rank-0 operand.", "Reshape it to (1,) first."
        )
    raise AxisError(
        f"axis {axis} lies outside [{-rank}, {rank - 1}] for rank {rank}.",
        "Give an axis in that range (the default is 1 below opset 13, then -1).",
    )


def _check_dtype(operator: str, dtype: DType | None, version: int) -> None:
    allowed = allowed_dtypes(operator, version)
    if dtype is None or dtype in allowed:
        return
    newest = allowed_dtypes(operator, 13)
    remedy = "Use a newer opset" if dtype in newest else "Convert the operand"
    raise TypeInferenceError(
        f"{operator}-{version} takes {', '.join(sorted(allowed))}, not {dtype}.",
        f"{remedy}: nothing is cast.",
    )


def rule(node: AnyNode, operands: tuple[TensorType, ...], dtype: DType | None = None) -> TensorType:
    """The type of `node`, given those of its operands; `dtype` where it is known from elsewhere."""
    try:
        match node:
            case Input() | Constant():
                return node.declared
            case Max():
                found = max_type(operands, node.version)
                if found.dtype is None and dtype is not None:
                    found = TensorType(dtype, found.shape)
                    _check_dtype("Max", dtype, node.version)
                if found.dtype is not None and _UNKNOWN_NUMBER in operands:
                    for operand in filter(is_weak, node.operands):
                        encode(operand.number, found.dtype)  # raises where it does not fit
                return found
            case Hardmax():
                return hardmax_type(operands[0], node.axis, node.version)
            case _:
                assert_never(node)
    except GraphError as error:
        raise error.within(operation_text(node, operands)) from None


def infer(node: AnyNode) -> None:
    """Fill in the type of `node` and of every node it depends on."""
    for each in topological([node], is_done=lambda each: each._type is not None):
        set_field(each, "_type", rule(each, tuple([operand.type for operand in operands_of(each)])))


def solve(order: Sequence[AnyNode], given: Mapping[Input, TensorType] = {}) -> Types:
    """The type of every node of `order`, with inputs of the `given` types.

    Dtypes are found from either side: as Max and Hardmax keep the dtype of their operands, nodes
    that hang together have one.
    """
    types: Types = {} if given else {node: node.type for node in order}
    for node in order if given else ():
        known = given.get(node) if isinstance(node, Input) else None
        types[node] = known or rule(node, tuple([types[operand] for operand in operands_of(node)]))
    if any(type_.dtype is None and not is_weak(node) for node, type_ in types.items()):
        _settle(types)
    return types


def _settle(types: Types) -> None:
    """Give each open dtype the one of the nodes it hangs together with."""
    leaders = {node: node for node in types if not is_weak(node)}

    def leader(node: AnyNode) -> AnyNode:
        while leaders[node] is not node:
            leaders[node] = node = leaders[leaders[node]]
        return node

    for node in leaders:
        for operand in operands_of(node):
            if not is_weak(operand):
                leaders[leader(operand)] = leader(node)
    typed: dict[AnyNode, AnyNode] = {}
    for node in leaders:
        dtype = types[node].dtype
        other = typed.setdefault(leader(node), node) if dtype is not None else node
        if dtype != types[other].dtype:
            raise TypeInferenceError(
                f"an operand of open dtype is used both as {types[other].dtype} and as {dtype}.",
                "Give the inputs a dtype each.",
                f"{operation_text(other, [])}\n{operation_text(node, [])}",
            )
    for node in types:
        if not is_weak(node) and leader(node) in typed:
            dtype = types[typed[leader(node)]].dtype
            found = rule(node, tuple([types[operand] for operand in operands_of(node)]), dtype)
            types[node] = TensorType(dtype, types[node].shape or found.shape)


def is_weak(node: AnyNode) -> TypeGuard[Constant]:
    """Whether `node` is a Python number that takes the dtype of the operands beside it."""
    return isinstance(node, Constant) and node.is_weak
