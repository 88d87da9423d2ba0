"""Rewrites that change no byte, no shape and no error."""

from collections.abc import Callable, Hashable, Sequence
from typing import assert_never

from .dtypes import DType
from .infer import is_weak, normal_axis
from .nodes import AnyNode, Constant, Hardmax, Input, Max
from .scalars import encode
from .types import TensorType, broadcast
from .versions import flattens
from .walk import operands_of, topological

Merge = Callable[[Sequence[Constant]], Constant]
"""Computes Max of two or more constants."""


def simplify(outputs: Sequence[AnyNode], merge: Merge) -> list[AnyNode]:
    """`outputs` over as few nodes as the exact rules give.

    Nested Max of one version become one; constants merge; duplicate operands, one-operand Max and
    Hardmax of Hardmax over the same slices go; equal nodes become one.
    """
    size = 0
    while (order := topological(outputs)) and len(order) != size:
        size = len(order)
        outputs = _Round(order, outputs, merge).outputs
    return list(outputs)


class _Round:
    """One pass from the inputs to the outputs, each node built on rewritten operands."""

    def __init__(self, order: Sequence[AnyNode], outputs: Sequence[AnyNode], merge: Merge) -> None:
        self.merge = merge
        self.absorbed = _absorbed(order, outputs)
        self.interned: dict[Hashable, AnyNode] = {}
        self.rewritten: dict[AnyNode, AnyNode] = {}
        for node in order:
            if node not in self.absorbed:
                self.rewritten[node] = self.rewrite(node)
        self.outputs = [self.rewritten[node] for node in outputs]

    def rewrite(self, node: AnyNode) -> AnyNode:
        match node:
            case Input():
                return node
            case Constant():
                return self.intern(node)
            case Hardmax():
                return self.rewrite_hardmax(node)
            case Max():
                return self.rewrite_max(node)
            case _:
                assert_never(node)

    def rewrite_hardmax(self, node: Hardmax) -> AnyNode:
        operand = self.rewritten[node.operand]
        if isinstance(operand, Hardmax) and slices(operand) == slices(node):
            # The derivatives are multiplied: by the identity, or with a zero.
            if node.surrogate == "identity" or operand.surrogate is None:
                return operand
            if node.surrogate is None:
                operand = operand.operand
        if operand is not node.operand:
            node = Hardmax.of(operand, node.axis, node.opset, node.surrogate, node._origin)
        return self.intern(node)

    def rewrite_max(self, node: Max) -> AnyNode:
        dtype = node.dtype
        tree = self.tree(node)
        operands = [
            self.rewritten[x] for each in tree for x in operands_of(each) if x not in self.absorbed
        ]
        if all(len(operands_of(each)) == 1 for each in tree):
            # With an open dtype it still is a check of the version's dtypes.
            return operands[0] if dtype else self.rebuilt(node, tuple(operands))
        if dtype:
            operands = [_strong(x, dtype) if is_weak(x) else x for x in operands]
        distinct = list(dict.fromkeys(self.merge_constants(operands)))
        if len(distinct) == 1:
            if _is_canonical(distinct[0]):
                return distinct[0]
            distinct *= 2  # keeps turning each NaN into the canonical one
        return self.rebuilt(node, tuple(distinct))

    def tree(self, node: Max) -> list[AnyNode]:
        """`node` and the Max nodes it absorbs, those deepest on the left first."""
        return topological([node], lambda each: each is not node and each not in self.absorbed)

    def rebuilt(self, node: Max, operands: tuple[AnyNode, ...]) -> AnyNode:
        if operands != node.operands:
            node = Max.of(operands, node.opset, node._origin)
        return self.intern(node)

    def merge_constants(self, operands: Sequence[AnyNode]) -> list[AnyNode]:
        constants = [x for x in operands if isinstance(x, Constant) and not x.is_weak]
        others = [x for x in operands if not isinstance(x, Constant) or x.is_weak]
        merged: list[Constant] = []
        for constant in constants:
            # Only where the result is no larger than one of the two: (n, 1) and (1, n) stay apart.
            shapes = [x.declared.shape for x in (*merged[-1:], constant)]
            if merged and broadcast(shapes) in shapes:
                merged[-1] = self.merge([merged[-1], constant])
            else:
                merged.append(constant)
        return [*others, *(self.intern(constant) for constant in merged)]

    def intern(self, node: AnyNode) -> AnyNode:
        return self.interned.setdefault(_key(node), node)


def _absorbed(order: Sequence[AnyNode], outputs: Sequence[AnyNode]) -> set[AnyNode]:
    """The Max nodes that one other Max of their version uses, and nothing else.

    One that others use too is computed anyway: taking it in would cost them twice.
    """
    users: dict[AnyNode, set[AnyNode | None]] = {node: {None} for node in outputs}
    for node in order:
        for operand in operands_of(node):
            users.setdefault(operand, set()).add(node)

    def is_absorbed(node: AnyNode) -> bool:
        user = next(iter(users[node])) if len(users[node]) == 1 else None
        return isinstance(node, Max) and isinstance(user, Max) and user.version == node.version

    return {node for node in order if is_absorbed(node)}


def _strong(number: Constant, dtype: DType) -> Constant:
    data = encode(number.number, dtype)
    return Constant.of_bytes(data, TensorType(dtype, ()), number._origin)


def slices(node: Hardmax) -> Hashable:
    """What two Hardmax nodes share when they put a 1 into the same slices, errors included."""
    rank, dtype = node.ndim, node.dtype
    legacy = flattens(node.version)
    axis = node.axis if rank is None else normal_axis(node.axis, rank)
    if rank is not None and axis == rank - 1:
        legacy = False  # rows of the last axis, in every version
    return axis, rank is None, legacy, None if dtype else node.version


def _key(node: AnyNode) -> Hashable:
    match node:
        case Input():
            return node
        case Constant():
            data = node.data  # repr tells 0.0 from -0.0, 1.0 from 1
            return Constant, node.declared, repr(data) if isinstance(data, float) else data
        case Hardmax():
            return Hardmax, node.operand, slices(node), node.surrogate
        case Max():
            return Max, node.version, frozenset(node.operands), len(node.operands) == 1
        case _:
            assert_never(node)


def _is_canonical(node: AnyNode) -> bool:
    """Whether every NaN that `node` can give is the canonical one."""
    dtype = node.dtype
    match node:
        case Hardmax():
            return True
        case Max() if len(node.operands) > 1:
            return True
        case _:
            return dtype is not None and not dtype.is_float
