"""CuPy: the one lowering, over integer views, on the device that the arrays are on."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import array_api_compat.cupy
import cupy

from ..graph.infer import Types
from ..graph.nodes import AnyNode, Input
from .arrays import native
from .base import Backend, Function
from .devices import on_one_device
from .execute import interpret

Array = Any


class CuPyBackend(Backend):
    """CuPy arrays. It has no bfloat16, which is refused."""

    has_view = True

    def __init__(self) -> None:
        super().__init__("cupy", array_api_compat.cupy)

    def from_numpy(self, array: Any) -> Array:
        plain = native(array)
        self.dtype(plain.dtype.name)
        return cupy.array(plain)

    def to_numpy(self, array: Array) -> Any:
        return cupy.asnumpy(array)

    def copy(self, array: Array) -> Array:
        return array.copy()

    def view(self, array: Array, dtype: Any) -> Array:
        return array.view(dtype)

    def beside(self, array: Array, other: Array) -> Array:
        with other.device:
            return cupy.array(array)

    def lower(self, inputs: Sequence[Input], outputs: Sequence[AnyNode], types: Types) -> Function:
        def lower_on(device: Any) -> Function:
            def run(arrays: Sequence[Array]) -> list[Array]:
                with device or nullcontext():  # CuPy works on the current device only
                    return lowered(arrays)

            with device or nullcontext():
                lowered = interpret(self, inputs, outputs, types)
            return run

        return on_one_device(inputs, lower_on)


backend = CuPyBackend
