"""Names in a model that is written: those of the graph are kept, others are made up."""

from collections import Counter
from collections.abc import Iterable

from ..structure import Graph
from .errors import OnnxError


class Names:
    """Names that nothing else has."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._last: Counter[str] = Counter()

    def fresh(self, name: str) -> str:
        """`name`, or the first of `name_1`, `name_2`, ... that is not taken; taken from now on."""
        found = name
        while found in self._taken:
            self._last[name] += 1
            found = f"{name}_{self._last[name]}"
        self._taken.add(found)
        return found


def output_names(graph: Graph) -> list[str]:
    """The names of a model's outputs: the keys of the graph's, or `output`, or `output_0`, ...

    Raises:
        OnnxError: a key is no name, or the name of an input.
    """
    inputs = {node.name for node in graph.inputs}
    if graph.keys is None:
        names, count = Names(inputs), len(graph.output_nodes)
        is_single = not isinstance(graph.outputs, tuple)
        wanted = ["output"] if is_single else [f"output_{i}" for i in range(count)]
        return [names.fresh(name) for name in wanted]
    for key in graph.keys:
        if not isinstance(key, str) or not key:
            raise OnnxError(f"the output {key!r} has no name.", "Use strings as keys.")
        if key in inputs:
            raise OnnxError(
                f"an output and an input are both named {key!r}.",
                "Name them apart: in ONNX they would be one tensor.",
            )
    return list(graph.keys)
