"""torch: its own kernels on CPU tensors, and the one lowering everywhere else.

"Everywhere else" is other devices, and tensors without values: meta, fake, and traced ones. There
the lowering, which asks for no value, does what the CPU kernels do.
"""

import sys
from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any

import array_api_compat.torch
import torch
from torch import Tensor
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from ..graph.dtypes import DType
from ..graph.errors import TypeInferenceError
from ..graph.infer import Types
from ..graph.nodes import AnyNode, Input
from ..graph.surrogates import Surrogate
from ..graph.types import Dim, TensorType
from . import lowering, torch_cpu
from .arrays import native, numpy_dtype
from .base import Backend, Function
from .devices import on_one_device
from .execute import interpret
from .torch_autograd import Hardmax, Max
from .torch_tensors import differentiates, has_values, refuse_special

# torch has these dtypes, but no order of them.
_SIGNED = {
    DType.UINT16: torch.int16,
    DType.UINT32: torch.int32,
    DType.UINT64: torch.int64,
}


class TorchBackend(Backend):
    """torch on whatever device its tensors are; also under autograd, `vmap` and `torch.compile`.

    Args:
        device: Where constants and arrays of other libraries are put. None: the caller's default.
    """

    has_view = True

    def __init__(self, device: torch.device | None = None) -> None:
        super().__init__("torch", array_api_compat.torch)
        self.place = device

    def dtype(self, dtype: str) -> Any:
        return getattr(torch, dtype)

    def type_of(self, array: Tensor) -> TensorType:
        refuse_special(array)
        return super().type_of(array)

    def dim(self, size: Any) -> Dim:
        return size if type(size) is int else str(size)

    def prepare(self, array: Tensor) -> Tensor:
        refuse_special(array)
        return array.resolve_neg()

    def from_numpy(self, array: Any) -> Tensor:
        plain = native(array)
        return self._of_bytes(plain.tobytes(), DType.of(plain.dtype), plain.shape)

    def constant(self, data: bytes, type_: TensorType) -> Tensor:
        if sys.byteorder == "little":  # without NumPy, which torch.compile would look into
            return self._of_bytes(data, type_.dtype, type_.shape)
        constant: Tensor = super().constant(data, type_)
        return constant

    def _of_bytes(self, data: bytes, dtype: Any, shape: Any) -> Tensor:
        if not data:
            return torch.empty(shape, dtype=self.dtype(dtype), device=self.place)
        tensor = torch.frombuffer(bytearray(data), dtype=self.dtype(dtype))
        # as torch.tensor does, so that a tracer takes it for a constant
        tensor = torch.ops.aten.lift_fresh(tensor).reshape(shape)
        placed: Tensor = tensor.to(self.place or torch.get_default_device())
        return placed

    def to_numpy(self, array: Tensor) -> Any:
        refuse_special(array)
        if array.requires_grad:
            raise TypeInferenceError(
                "a tensor that requires grad cannot go to another library, which keeps no "
                "gradient.",
                "Run the graph on torch, or pass x.detach().",
            )
        if array.device.type == "meta":
            raise TypeInferenceError("a meta tensor holds no values.", "Run the graph on torch.")
        array = array.resolve_neg().cpu()
        if array.dtype is torch.bfloat16:
            return array.view(torch.int16).numpy().view(numpy_dtype(DType.BFLOAT16))
        return array.numpy()

    def copy(self, array: Tensor) -> Tensor:
        return array.clone(memory_format=torch.contiguous_format)

    def view(self, array: Tensor, dtype: Any) -> Tensor:
        return array.view(dtype)

    def device_of(self, array: Tensor) -> torch.device:
        return array.device

    def beside(self, array: Tensor, other: Tensor) -> Tensor:
        return array.to(other.device)

    def max_(self, arrays: Sequence[Tensor], dtype: DType) -> Tensor:
        if dtype.is_float:
            arrays = torch.broadcast_tensors(*arrays)
            if not differentiates(arrays):  # the detour takes longer than a small Max
                return self.max_values(arrays, dtype)
            shared: Tensor = Max.apply(self, dtype, *arrays)  # type: ignore[no-untyped-call]
            return shared
        if dtype not in _SIGNED:
            return reduce(torch.maximum, arrays)
        least = torch.iinfo(_SIGNED[dtype]).min
        keys = [array.view(_SIGNED[dtype]) ^ least for array in arrays]
        return (reduce(torch.maximum, keys) ^ least).view(self.dtype(dtype))

    def hardmax(
        self, array: Tensor, axis: int, dtype: DType, surrogate: Surrogate | None = None
    ) -> Tensor:
        if not differentiates([array]):
            return self.hardmax_values(array, axis, dtype)
        result: Tensor = Hardmax.apply(self, array, axis, dtype, surrogate)  # type: ignore[no-untyped-call]
        return result

    def max_values(self, arrays: Sequence[Tensor], dtype: DType) -> Tensor:
        """Max of float tensors of one shape, without derivatives."""
        if has_values(arrays) and not torch_cpu.flushes_subnormals(arrays[0].numel()):
            return torch_cpu.max_(arrays, dtype)
        result: Tensor = lowering.max_(self, arrays, dtype)
        return result

    def hardmax_values(self, array: Tensor, axis: int, dtype: DType) -> Tensor:
        """Hardmax without derivatives."""
        if (
            has_values([array])
            and array.numel()
            and not torch_cpu.flushes_subnormals(array.numel())
        ):
            return torch_cpu.hardmax(array, axis)
        result: Tensor = lowering.hardmax(self, array, axis, dtype)
        return result

    def lower(self, inputs: Sequence[Input], outputs: Sequence[AnyNode], types: Types) -> Function:
        def lower_on(device: torch.device | None) -> Function:
            return interpret(TorchBackend(device), inputs, outputs, types)

        run = on_one_device(inputs, lower_on)

        def call(arrays: Sequence[Tensor]) -> list[Tensor]:
            if is_in_torch_dispatch_mode():  # constants made under a tracer die with it
                return on_one_device(inputs, lower_on)(arrays)
            return run(arrays)

        return call

    def differentiated(
        self, inputs: Sequence[Input], run: Function, written: Callable[[], Function]
    ) -> Function:
        slower = cache(written)
        return lambda arrays: slower()(arrays) if differentiates(arrays) else run(arrays)


backend = TorchBackend
