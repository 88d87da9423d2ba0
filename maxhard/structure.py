"""The graph as users hold it: outputs in their structure, inputs in their order."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .backends import fold
from .graph.errors import BindingError, GraphError, TypeInferenceError
from .graph.flat import Flat, flatten, restore
from .graph.infer import solve
from .graph.node import Node
from .graph.nodes import AnyNode, Input
from .graph.rewrite import simplify
from .graph.show import listing
from .graph.types import TensorType
from .graph.walk import topological


class Graph:
    """One or more outputs and all that they depend on.

    Args:
        outputs: A node, a sequence of nodes, or a mapping of names to nodes. Programs give their
            results in the same structure.
        inputs: The order in which programs take them; every input that `outputs` depend on has to
            be among them. None: the order of first appearance, operands left to right.

    >>> x = Input("x", "float32", ("batch", 3))
    >>> print(Graph({"y": x}))
    x = Input  float32[batch, 3]
    return y: x

    Raises:
        BindingError: no outputs, two inputs of one name, or an input left out of `inputs`.
        TypeInferenceError: an output is no node.
    """

    __slots__ = ("_outputs", "inputs", "keys", "nodes")
    inputs: tuple[Input, ...]
    """In the order in which programs take them."""
    nodes: tuple[AnyNode, ...]
    """Every node, each once, operands first."""
    keys: tuple[Any, ...] | None
    """The names of the outputs; None for a single node or a sequence."""

    def __init__(self, outputs: Any, inputs: Iterable[Input] | None = None) -> None:
        self._outputs = outputs if isinstance(outputs, Node) else _frozen(outputs)
        self.keys = tuple(self._outputs) if isinstance(self._outputs, dict) else None
        self.nodes = tuple(topological(self.output_nodes))
        found = [node for node in self.nodes if isinstance(node, Input)]
        self.inputs = tuple(found if inputs is None else inputs)
        for node in self.inputs:
            if not isinstance(node, Input):
                raise TypeInferenceError(f"{node!r} is not an Input.", "List Input nodes.")
        missing = set(found) - set(self.inputs)
        if missing:
            raise BindingError(
                f"the outputs depend on {', '.join(sorted(x.name for x in missing))}, "
                "which `inputs` leaves out.",
                "List every input, or give inputs=None.",
            )
        _check_names(self.inputs)

    @property
    def outputs(self) -> Any:
        """The node, the tuple or the dict of nodes that was given."""
        return dict(self._outputs) if isinstance(self._outputs, dict) else self._outputs

    @property
    def output_nodes(self) -> tuple[AnyNode, ...]:
        """The outputs without their structure."""
        return _leaves(self._outputs)

    def pack(self, values: Sequence[Any]) -> Any:
        """One value for each output, in the structure of the outputs."""
        if isinstance(self._outputs, Node):
            return values[0]
        return tuple(values) if self.keys is None else dict(zip(self.keys, values, strict=True))

    def simplify(self) -> "Graph":
        """The same function over fewer nodes; no byte, shape or error differs.

        Raises:
            GraphError: the graph has an error in it.
        """
        solve(self.nodes)
        return Graph(self.pack(simplify(self.output_nodes, fold.merge)), self.inputs)

    def __repr__(self) -> str:
        names = ", ".join(node.name for node in self.inputs)
        return f"<Graph of {len(self.nodes)} nodes: ({names}) -> {len(self.output_nodes)} outputs>"

    def __str__(self) -> str:
        keys = self.keys or ("",) * len(self.output_nodes)
        named = zip(map(str, keys), self.output_nodes, strict=True)
        return listing(self.nodes, named, _types_or_errors(self.nodes))

    def __reduce__(self) -> tuple[Any, ...]:
        flat = flatten((*self.output_nodes, *self.inputs))
        return _restore, (flat, len(self.output_nodes), self.keys, isinstance(self._outputs, Node))


def _frozen(outputs: Any) -> dict[Any, AnyNode] | tuple[AnyNode, ...]:
    if isinstance(outputs, Mapping):
        frozen: Any = dict(outputs)
    elif isinstance(outputs, Iterable) and not isinstance(outputs, str | bytes):
        frozen = tuple(outputs)
    else:
        raise TypeInferenceError(
            f"{type(outputs).__name__} is neither a node nor a structure of nodes.",
            "Give a node, a sequence of nodes, or a mapping of names to nodes.",
        )
    if not frozen:
        raise BindingError("the graph has no outputs.", "Give at least one node.")
    for leaf in _leaves(frozen):
        if not isinstance(leaf, Node):
            raise TypeInferenceError(
                f"an output is a {type(leaf).__name__}, not a node.",
                "Make outputs of Input, Constant, maximum(...) and hardmax(...).",
            )
    return frozen  # type: ignore[no-any-return]


def _leaves(outputs: Any) -> tuple[AnyNode, ...]:
    if isinstance(outputs, Node):
        return (outputs,)  # type: ignore[return-value]
    return tuple(outputs.values() if isinstance(outputs, dict) else outputs)


def _types_or_errors(nodes: Sequence[AnyNode]) -> Mapping[AnyNode, TensorType | str]:
    try:
        return solve(nodes)
    except GraphError:
        return {node: _type_or_error(node) for node in nodes}


def _type_or_error(node: AnyNode) -> TensorType | str:
    try:
        return node.type
    except GraphError as error:
        return type(error).__name__


def _check_names(inputs: Sequence[Input]) -> None:
    first: dict[str, Input] = {}
    for node in inputs:
        other = first.setdefault(node.name, node)
        if other is not node:
            raise BindingError(
                f"two inputs are named {node.name!r}, made at {other.origin} and {node.origin}.",
                "Use one of the nodes in both places, or name them apart.",
            )
    if len(first) < len(inputs):
        raise BindingError("`inputs` lists a node twice.", "List each input once.")


def _restore(flat: Flat, count: int, keys: tuple[Any, ...] | None, single: bool) -> Graph:
    nodes = restore(flat)
    outputs: Any = nodes[:count] if keys is None else dict(zip(keys, nodes[:count], strict=True))
    return Graph(outputs[0] if single else outputs, nodes[count:])  # type: ignore[arg-type]
