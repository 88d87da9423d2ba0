"""Programs compiled ahead of time: exported as bytes, loaded where they run."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from .backends import get, of
from .bind import check_bound, missing_inputs, ordered
from .graph.errors import ExportError, ShapeError
from .graph.infer import Types, solve
from .graph.nodes import Input, Max
from .graph.show import operation_text
from .graph.types import Dim, TensorType
from .graph.versions import broadcasts
from .graph.walk import operands_of, topological
from .program import Program, check_dtypes

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
Array = Any


def export(program: Program, platforms: Sequence[str]) -> bytes:
    """What `Program.export` gives."""
    platforms = (platforms,) if isinstance(platforms, str) else tuple(platforms)
    if not platforms or not set(platforms) <= set(PLATFORMS):
        raise ExportError(
            f"platforms {platforms!r} are not known.", f"Give some of {', '.join(PLATFORMS)}."
        )
    graph = program.graph
    if graph.keys is not None and not all(isinstance(key, str) for key in graph.keys):
        raise ExportError("an output's name is no string.", "Name the outputs by strings.")
    outputs, types = _lowerable(program)
    from .artefact import pack
    from .backends import jax_export

    names: Any = graph.keys or (None if graph.outputs is graph.output_nodes[0] else len(outputs))
    header = {
        "inputs": [
            {"name": x.name, "dtype": types[x].dtype, "shape": x.declared.shape}
            for x in graph.inputs
        ],
        "outputs": names,
        "platforms": platforms,
    }
    return pack(header, jax_export.export(graph.inputs, outputs, types, platforms))


def as_text(program: Program) -> str:
    """What `Program.as_text` gives."""
    outputs, types = _lowerable(program)
    from .backends import jax_export

    return jax_export.as_text(program.graph.inputs, outputs, types)


class ExportedProgram:
    """What `load_exported` gives: call it as the program that was exported.

    Attributes:
        inputs: The inputs it takes, with the types that were promised.
        platforms: What it was exported for.
    """

    def __init__(self, data: bytes) -> None:
        from .artefact import unpack

        header, payload = unpack(data)
        self.inputs = tuple(
            Input.of(x["name"], TensorType(x["dtype"], x["shape"]), "the exported program")
            for x in header["inputs"]
        )
        self.platforms = tuple(header["platforms"])
        self._outputs = header["outputs"]
        self._backend = get("jax")
        from .backends import jax_export

        self._run = jax_export.load(payload)
        self._checked: set[Any] = set()

    def __call__(self, /, *arrays: Array, **by_name: Array) -> Any:
        """Run it on arrays of JAX, or of another library, which are moved; results are JAX arrays.

        Raises:
            BindingError, TypeInferenceError, ShapeError: as the call of a `Program`.
            ExportError: it was not exported for the platform that the arrays are on.
        """
        if by_name:
            arrays = ordered(self.inputs, arrays, by_name)
        missing_inputs(self.inputs, arrays)
        source = of(arrays)
        signature = tuple([(type(x), x.dtype, x.shape) for x in arrays])
        if signature not in self._checked:
            for node, type_ in check_bound(self.inputs, arrays, source.type_of).items():
                _check_sizes(node, type_)
            self._checked.add(signature)
        if source is not self._backend:
            arrays = tuple([self._backend.from_numpy(source.to_numpy(x)) for x in arrays])
        results = self._run(*arrays)
        if self._outputs is None:
            return results[0]
        names = self._outputs
        return tuple(results) if isinstance(names, int) else dict(zip(names, results, strict=True))

    def __repr__(self) -> str:
        inputs = ", ".join(f"{x.name}: {x.declared}" for x in self.inputs)
        return f"<ExportedProgram for {', '.join(self.platforms)}: ({inputs})>"


def load_exported(data: bytes) -> ExportedProgram:
    """The program in the bytes that `Program.export` gave.

    It needs JAX, but neither the graph nor the code that built it.

    Raises:
        ExportError: the bytes are cut off, damaged, no exported program, or of another version.
        MissingBackendError: JAX or flatbuffers is not installed.
    """
    return ExportedProgram(data)


def _lowerable(program: Program) -> tuple[Sequence[Any], Types]:
    """The outputs to lower, and types whose every dim is a size or a name."""
    graph, backend = program.graph, program.backend
    if backend is not None and backend.name != "jax":
        raise ExportError(
            f"this program is compiled for {backend.name}, which lowers to no StableHLO.",
            "Use compile(..., 'jax'), or compile(...) for any library.",
        )
    given = {node: _closed(node) for node in graph.inputs}
    types = solve(graph.nodes, given)
    check_dtypes(given | types, graph.output_nodes)
    for node in graph.nodes:
        if isinstance(node, Max):
            _check_broadcast(node, [types[x] for x in operands_of(node)])
    outputs = program.simplified
    return outputs, given | solve(topological(outputs), given)


def _closed(node: Input) -> TensorType:
    """The type of an input, with a name of its own for each dim that is unknown."""
    if node.declared.shape is None:
        raise ExportError(
            f"{node.name} has no shape, and a program exported needs the rank of each input.",
            "Declare one; names and None may stand for sizes.",
            f"Input {node.name}: {node.declared}, made at {node.origin}",
        )
    dims = enumerate(node.declared.shape)
    shape = [f"axis {i} of {node.name}" if dim is None else dim for i, dim in dims]
    return TensorType(node.declared.dtype, shape)


def _check_broadcast(node: Max, operands: Sequence[TensorType]) -> None:
    """Raise where dims meet of which one may turn out to be 1: StableHLO decides that ahead."""
    shapes: list[Any] = [type_.shape for type_ in operands]
    for dims in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        met: dict[Dim, None] = dict.fromkeys(dims)
        if broadcasts(node.version):
            met.pop(1, None)
        if len(met) > 1:
            raise ExportError(
                f"the dims {' and '.join(map(str, met))} meet here, and which of them is 1 has to "
                "be known when a program is exported.",
                "Give both one name, or their sizes.",
                operation_text(node, operands),
            )


def _check_sizes(node: Input, bound: TensorType) -> None:
    for axis, (dim, size) in enumerate(
        zip(node.declared.shape or (), bound.shape or (), strict=True)
    ):
        if size == 0 and not isinstance(dim, int):
            raise ShapeError(
                f"axis {axis} of {node.name} is 0, and a dim that is open in an exported program "
                "stands for 1 or more.",
                "Declare the size 0 itself, or run the program that was exported.",
                f"Input {node.name}: {node.declared}",
            )
