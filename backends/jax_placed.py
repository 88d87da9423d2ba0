"""JAX with options of the caller's: where arrays are put, and whose memory may be taken over."""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from ..graph.errors import BackendError
from ..graph.infer import Types
from ..graph.nodes import AnyNode, Input
from .arrays import native
from .base import Function
from .execute import interpret
from .jax import JaxBackend, compiled, x64
from .jax_gradients import differentiated

Array = Any


class PlacedJax(JaxBackend):
    """`plain` with the arrays passed put on a device or sharding first, or some of them donated."""

    def __init__(self, plain: JaxBackend, device: Any, donate: tuple[str, ...]) -> None:
        super().__init__()
        if not isinstance(device, jax.Device | jax.sharding.Sharding | None):
            raise BackendError(
                f"{device!r:.60} is no device.", "Give a jax.Device or a jax.sharding.Sharding."
            )
        self.plain = plain
        self.place = device
        self.donate = donate

    def prepare(self, array: Array) -> Array:
        return array if self.place is None else self._put(array)

    def from_numpy(self, array: Any) -> Array:
        # Straight to where it belongs: the whole may not fit on the default device.
        return super().from_numpy(array) if self.place is None else self._put(native(array))

    def _put(self, array: Any) -> Array:
        aliased = None if isinstance(array, jax.Array) else False  # NumPy's memory may change
        try:
            with x64():
                return jax.device_put(array, self.place, may_alias=aliased)
        except (ValueError, RuntimeError) as error:
            raise BackendError(
                f"an array of shape {array.shape} cannot be put on {self.place}: {error}",
                "Use sizes that the mesh divides evenly, or another sharding.",
            ) from error

    def lower(self, inputs: Sequence[Input], outputs: Sequence[AnyNode], types: Types) -> Function:
        # By the plain kernels, which are compiled once, and constants that go where they are used.
        return compiled(inputs, interpret(self.plain, inputs, outputs, types), self.donate)

    def differentiated(
        self, inputs: Sequence[Input], run: Function, written: Callable[[], Function]
    ) -> Function:
        return compiled(inputs, differentiated(run, written), self.donate)
