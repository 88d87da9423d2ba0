"""Programs: graphs bound to a backend, lowered once for each signature of their arrays."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from .backends import Backend, get, of
from .bind import check_bound, check_names, input_text, missing_inputs, ordered
from .graph.errors import BackendError, GraphError, TypeInferenceError
from .graph.infer import is_weak, solve
from .graph.nodes import AnyNode, Input
from .graph.show import operation_text
from .graph.types import TensorType
from .graph.walk import topological
from .structure import Graph

Array = Any
Plan = Callable[[Sequence[Array]], Any]


class Program:
    """What `compile` gives: call it with arrays, by position or by name.

    The first call with arrays of a new signature (library, dtypes and shapes) checks them against
    what the graph promises, and lowers it; later calls run at once.
    """

    def __init__(self, graph: Graph, backend: Backend | None = None) -> None:
        solve(graph.nodes)  # an error in the graph is raised now, not at the first call
        self.graph = graph
        self.backend = backend
        self._plans: dict[Any, Plan] = {}

    def __call__(self, /, *arrays: Array, **by_name: Array) -> Any:
        """Run the graph; results come in the structure of its outputs and share no memory.

        Raises:
            BindingError: an input is missing, or one is not known.
            TypeInferenceError: an array's dtype is not the promised one, libraries are mixed, or
                an object is no array.
            ShapeError: ranks, sizes or named dims do not fit.
        """
        if by_name:
            arrays = ordered(self.graph.inputs, arrays, by_name)
        try:
            plan = self._plans[tuple([(type(x), x.dtype, x.shape) for x in arrays])]
        except Exception:  # no plan yet, or an object that cannot say its shape
            plan = self._plan(arrays)
        return plan(arrays)

    def _plan(self, arrays: Sequence[Array]) -> Plan:
        graph = self.graph
        missing_inputs(graph.inputs, arrays)
        source = of(arrays)
        target = self.backend or source
        given = check_bound(graph.inputs, arrays, source.type_of)
        check_dtypes(solve(graph.nodes, given), graph.output_nodes)
        outputs = self.simplified
        run = target.lower(graph.inputs, outputs, solve(topological(outputs), given))
        if outputs != graph.output_nodes:
            run = target.differentiated(
                graph.inputs,
                run,
                lambda: target.lower(graph.inputs, graph.output_nodes, solve(graph.nodes, given)),
            )
        is_own = target.name == source.name
        is_ready = is_own and all(map(target.takes, arrays))

        def prepare(array: Array) -> Array:
            return target.prepare(array) if is_own else target.from_numpy(source.to_numpy(array))

        def plan(arrays: Sequence[Array]) -> Any:
            return graph.pack(run(arrays if is_ready else _prepared(graph.inputs, arrays, prepare)))

        if all(isinstance(dim, int) for type_ in given.values() for dim in type_.shape or ()):
            if len(self._plans) >= 1024:  # a caller whose shapes never repeat
                self._plans.clear()
            self._plans[tuple([(type(x), x.dtype, x.shape) for x in arrays])] = plan
        return plan

    @cached_property
    def simplified(self) -> tuple[AnyNode, ...]:
        """The outputs over fewer nodes."""
        return self.graph.simplify().output_nodes

    def export(self, platforms: Sequence[str] = ("cpu", "cuda", "rocm", "tpu")) -> bytes:
        """This program as StableHLO, for machines that need not be at hand; see `load_exported`.

        Named dims stay open: the exported program takes every size of 1 or more. It carries no
        derivative.

        Raises:
            ExportError: what StableHLO has to know ahead is not known: a rank, or which of two
                dims is 1; or the program is compiled for another library than JAX.
            MissingBackendError: JAX or flatbuffers is not installed.
        """
        from .export import export

        return export(self, platforms)

    def as_text(self) -> str:
        """The StableHLO that JAX hands to the compiler, for the platform at hand.

        Raises:
            ExportError, MissingBackendError: as `export`.
        """
        from .export import as_text

        return as_text(self)

    def __repr__(self) -> str:
        name = self.backend.name if self.backend else "the library of the arrays passed"
        return f"<Program on {name}: {self.graph!r}>"


def compile(
    outputs: Any,
    backend: Any = None,
    *,
    device: Any = None,
    donate: str | Sequence[str] = (),
) -> Program:
    """A program that computes `outputs`.

    Args:
        outputs: A node, a sequence or a mapping of nodes, or a `Graph`.
        backend: "numpy", "jax", "torch", "dask", "cupy", "array-api-strict", or an array
            namespace. None: each call goes to the library of the arrays passed.
        device: On JAX, the `jax.Device` or `jax.sharding.Sharding` that arrays are put on first.
            None: the results lie where the arrays do.
        donate: On JAX, names of inputs whose memory the results may take over. An array passed
            for them is gone afterwards.

    >>> import numpy as np
    >>> from maxhard import Hardmax, Input
    >>> x = Input("x", "float32", ("n", 3))
    >>> compile(Hardmax(x))(np.float32([[1, 3, 3]]))
    array([[0., 1., 0.]], dtype=float32)

    Raises:
        GraphError: the graph has an error in it, or the backend cannot be used.
        BackendError: the backend does not take these options.
        BindingError: no input has the name of a donated one.
    """
    graph = outputs if isinstance(outputs, Graph) else Graph(outputs)
    target = None if backend is None else get(backend)
    donated = (donate,) if isinstance(donate, str) else tuple(donate)
    check_names(graph.inputs, donated)
    if device is not None or donated:
        if target is None:
            raise BackendError(
                "device and donate are options of one backend, and none is named.",
                "Name it: compile(..., 'jax', ...).",
            )
        target = target.configured(device, donated)
    return Program(graph, target)


def evaluate(outputs: Any, inputs: Mapping[str, Array] | None = None, backend: Any = None) -> Any:
    """Compile `outputs` and run them once on `inputs`, a mapping of names to arrays.

    >>> import numpy as np
    >>> from maxhard import Input, Max
    >>> evaluate(Max(Input("x"), 0), {"x": np.int8([-1, 2])})
    array([0, 2], dtype=int8)

    Raises:
        GraphError: as `compile` and the call of a `Program`.
    """
    return compile(outputs, backend)(**(inputs or {}))


def _prepared(
    inputs: Sequence[Input], arrays: Sequence[Array], prepare: Callable[[Array], Array]
) -> list[Array]:
    ready: list[Array] = []
    for node, array in zip(inputs, arrays, strict=True):
        try:
            ready.append(prepare(array))
        except GraphError as error:
            raise error.within(input_text(node)) from None
    return ready


def check_dtypes(types: Mapping[AnyNode, TensorType], outputs: Sequence[AnyNode]) -> None:
    """Raise where nothing says which dtype a node has."""
    for node, type_ in types.items():
        if type_.dtype is None and (node in outputs or not is_weak(node)):
            raise TypeInferenceError(
                "nothing says which dtype this has.",
                "Give one: Constant(value, dtype=...).",
                operation_text(node, ()),
            )
