"""JAX: the lowering inside `jax.jit`, with 64-bit types enabled in scope."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np

from ..graph.dtypes import DType
from ..graph.errors import BackendError
from ..graph.infer import Types
from ..graph.nodes import AnyNode, Input
from ..graph.surrogates import Surrogate
from ..graph.types import Dim
from . import jax_hardmax, lowering
from .arrays import native
from .base import Backend, Function
from .execute import interpret
from .jax_gradients import differentiated, shared, straight_through

Array = Any


def x64() -> Any:
    """A context in which JAX keeps 64-bit types; the caller's own setting is untouched."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return jax.experimental.enable_x64(True)  # type: ignore[attr-defined]  # before JAX 0.8


class JaxBackend(Backend):
    """JAX on whatever device its arrays are; also inside the caller's jit, vmap and grad."""

    has_view = True

    def __init__(self) -> None:
        super().__init__("jax", jnp)

    def dim(self, size: Any) -> Dim:
        return size if isinstance(size, int) else str(size)

    def from_numpy(self, array: Any) -> Array:
        with x64():
            return jnp.array(native(array))  # a copy: asarray may alias NumPy's memory

    def to_numpy(self, array: Array) -> Any:
        return np.asarray(array)

    def copy(self, array: Array) -> Array:
        return array  # JAX arrays never change

    def view(self, array: Array, dtype: Any) -> Array:
        return jax.lax.bitcast_convert_type(array, dtype)

    def max_(self, arrays: Sequence[Array], dtype: DType) -> Array:
        with x64():
            return _kernel_max(self, dtype)(*arrays)

    def hardmax(
        self, array: Array, axis: int, dtype: DType, surrogate: Surrogate | None = None
    ) -> Array:
        with x64():
            return _kernel_hardmax(self, (axis,), dtype, surrogate)(array)

    def hardmax_of_rows(
        self, array: Array, axis: int, dtype: DType, surrogate: Surrogate | None = None
    ) -> Array:
        if not all(isinstance(size, int) for size in array.shape):
            return super().hardmax_of_rows(array, axis, dtype, surrogate)
        # Not by a reshape, which would gather an operand that is sharded along a later axis.
        with x64():
            axes = tuple(range(axis, array.ndim))
            return _kernel_hardmax(self, axes, dtype, surrogate)(array)

    def lower(self, inputs: Sequence[Input], outputs: Sequence[AnyNode], types: Types) -> Function:
        return compiled(inputs, interpret(self, inputs, outputs, types))

    def differentiated(
        self, inputs: Sequence[Input], run: Function, written: Callable[[], Function]
    ) -> Function:
        return compiled(inputs, differentiated(run, cache(written)))

    def configured(self, device: Any, donate: tuple[str, ...]) -> Backend:
        from .jax_placed import PlacedJax

        return PlacedJax(self, device, donate)


def compiled(inputs: Sequence[Input], run: Function, donate: Sequence[str] = ()) -> Function:
    """`run` as one XLA program, which takes over the memory of the inputs named in `donate`."""
    names = [node.name for node in inputs]

    def run_strongly_typed(*arrays: Array) -> list[Array]:
        return [jax.lax.convert_element_type(x, x.dtype) if x.weak_type else x for x in run(arrays)]

    donated = [i for i, name in enumerate(names) if name in donate]
    jitted = jax.jit(run_strongly_typed, donate_argnums=donated)

    def call(arrays: Sequence[Array]) -> list[Array]:
        try:
            with x64():
                return list(jitted(*arrays))
        except (ValueError, RuntimeError):
            refused = _refusal(dict(zip(names, arrays, strict=True)))
            if refused is None:
                raise
        raise refused

    return call


def _refusal(arrays: dict[str, Array]) -> BackendError | None:
    """Why JAX cannot run on `arrays`, if it is one of the reasons that an array can have."""
    real = {name: x for name, x in arrays.items() if not isinstance(x, jax.core.Tracer)}
    gone = [name for name, x in real.items() if x.is_deleted()]
    if gone:
        return BackendError(
            f"{', '.join(gone)}: this array is gone, donated to another call or deleted.",
            "Pass a copy where an array is to be used again.",
        )
    committed = {name: x.devices() for name, x in real.items() if x.committed}
    if len(set(map(frozenset, committed.values()))) < 2:
        return None
    places = "; ".join(
        f"{name} on {', '.join(sorted(map(str, devices)))}" for name, devices in committed.items()
    )
    return BackendError(
        f"the arrays are committed to different devices: {places}.",
        "Move them to one place: jax.device_put(x, device).",
    )


@cache
def _kernel_max(backend: JaxBackend, dtype: DType) -> Any:
    def max_(*arrays: Array) -> Array:
        return lowering.max_(backend, arrays, dtype)

    def key(array: Array) -> Array:
        return lowering.total_order(backend, array, dtype)

    return jax.jit(shared(max_, key, x64) if dtype.is_float else max_)


@cache
def _kernel_hardmax(
    backend: JaxBackend, axes: tuple[int, ...], dtype: DType, surrogate: Surrogate | None
) -> Any:
    def hardmax(array: Array) -> Array:
        return jax_hardmax.hardmax(backend, array, axes, dtype)

    return jax.jit(straight_through(hardmax, axes, surrogate, x64) if surrogate else hardmax)


backend = JaxBackend
