"""Graphs on NumPy: steps made once for each signature of the arrays; Hardmax takes in its Max."""

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, assert_never

from ..graph.infer import Types, is_weak, normal_axis
from ..graph.nodes import AnyNode, Constant, Hardmax, Input, Max
from ..graph.versions import flattens
from ..graph.walk import operands_of
from .execute import constant_arrays, number, owned

if TYPE_CHECKING:
    from .numpy import NumPyBackend

Array = Any


def plan(
    backend: "NumPyBackend", inputs: Sequence[Input], outputs: Sequence[AnyNode], types: Types
) -> Callable[[Sequence[Array]], list[Array]]:
    """A function that runs the steps in turn and lets go of values no longer used."""
    constants: list[Array] = []
    slots: dict[Any, int] = {node: i for i, node in enumerate(inputs)}

    def add(key: Any, array: Array) -> None:
        slots[key] = len(inputs) + len(constants)
        constants.append(array)

    for constant, array in constant_arrays(backend, types).items():
        add(constant, array)
    taken_in = _taken_in(outputs, types)
    nodes = [x for x in types if isinstance(x, Max | Hardmax) and x not in taken_in]
    sources: dict[AnyNode, list[Any]] = {}
    for node in nodes:
        operands = operands_of(node)
        if operands[0] in taken_in:
            operands = operands_of(operands[0])
        dtype = types[node].dtype
        assert dtype is not None
        # a Python number becomes one array for each dtype that it is used with
        sources[node] = [(x, dtype) if is_weak(x) else x for x in operands]
        for x, key in zip(operands, sources[node], strict=True):
            if is_weak(x) and key not in slots:
                add(key, number(backend, x.number, dtype))
    slots |= {node: len(slots) + i for i, node in enumerate(nodes)}
    steps = [
        (_step(backend, node, sources[node], types), [slots[x] for x in sources[node]], slots[node])
        for node in nodes
    ]
    last_use = {slot: target for _, used, target in steps for slot in used}
    kept = {slots[x] for x in outputs}
    expiring: dict[int, list[int]] = {target: [] for _, _, target in steps}
    for slot, target in last_use.items():
        if slot >= len(inputs) + len(constants) and slot not in kept:
            expiring[target].append(slot)
    blank = [None] * len(nodes)

    def run(arrays: Sequence[Array]) -> list[Array]:
        values = [*arrays, *constants, *blank]
        for function, used, target in steps:
            values[target] = function(*[values[i] for i in used])
            for slot in expiring[target]:
                values[slot] = None
        return owned(backend, outputs, {node: values[slots[node]] for node in outputs})

    is_single = len(nodes) == 1 and nodes == list(outputs)
    if is_single and sources[nodes[0]] == list(inputs) and _is_computed(nodes[0]):
        only = steps[0][0]
        return lambda arrays: [only(*arrays)]
    return run


def _step(
    backend: "NumPyBackend", node: AnyNode, sources: Sequence[Any], types: Types
) -> Callable[..., Array]:
    """The function that computes `node` from the arrays of `sources`."""
    shape: Any = types[node].shape
    shapes: list[Any] = [() if isinstance(x, tuple) else types[x].shape for x in sources]
    dtype = types[node].dtype
    assert dtype is not None
    match node:
        case Max():
            return backend.max_step(dtype, shapes) if _is_computed(node) else lambda array: array
        case Hardmax():
            axis = normal_axis(node.axis, len(shape))
            if not _is_reshaped(node, types):
                return backend.hardmax_step(dtype, shapes, axis)
            rows = prod(shape[:axis]), prod(shape[axis:])
            of_rows = backend.hardmax_step(dtype, [rows], 1)
            return lambda array: of_rows(array.reshape(rows)).reshape(shape)
        case Input() | Constant():
            raise AssertionError(node)
        case _:
            assert_never(node)


def _taken_in(outputs: Sequence[AnyNode], types: Types) -> set[AnyNode]:
    """The Max nodes that only a Hardmax uses, which can be computed along with it."""
    uses = Counter(outputs)
    for node in types:
        uses.update(operands_of(node))
    return {
        x
        for node in types
        if isinstance(node, Hardmax) and not _is_reshaped(node, types)
        for x in operands_of(node)
        if isinstance(x, Max) and len(x.operands) > 1 and uses[x] == 1
    }


def _is_reshaped(node: Hardmax, types: Types) -> bool:
    """Whether the version looks at the operand as a matrix of another shape."""
    rank = len(types[node].shape or ())
    return flattens(node.version) and normal_axis(node.axis, rank) < rank - 1


def _is_computed(node: AnyNode) -> bool:
    """Whether the value is a new array; Max of one operand passes it on."""
    return not isinstance(node, Max) or len(node.operands) > 1
