"""What kind of tensor this is: with derivatives, with values to look at, or none that is taken."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

from ..graph.errors import BackendError, TypeInferenceError


def differentiates(arrays: Sequence[Tensor]) -> bool:
    """Whether a derivative may be asked for."""
    return torch._C._are_functorch_transforms_active() or any(
        (x.requires_grad and torch.is_grad_enabled())
        or forward_ad.unpack_dual(x).tangent is not None
        for x in arrays
    )


def has_values(arrays: Sequence[Tensor]) -> bool:
    """Whether these are plain CPU tensors, so that a value can be looked at."""
    # It knows no view as integers, and would keep the branch that it sees taken.
    if torch.jit.is_tracing():  # type: ignore[attr-defined,no-untyped-call]
        raise BackendError("torch.jit.trace cannot record maxhard.", "Use torch.compile.")
    return (
        all(type(x) in (Tensor, torch.nn.Parameter) and x.device.type == "cpu" for x in arrays)
        and not torch.compiler.is_compiling()
        and not is_in_torch_dispatch_mode()
    )


def refuse_special(array: Tensor) -> None:
    """Raise for tensors that are no dense array of plain values."""
    if array.is_nested:
        kind, remedy = "nested", "Pass torch.nested.to_padded_tensor(x, padding), or each part."
    elif array.is_quantized:
        kind, remedy = "quantized", "Pass x.dequantize()."
    elif array.layout is not torch.strided:
        kind, remedy = f"sparse ({array.layout})", "Pass x.to_dense()."
    else:
        return
    raise TypeInferenceError(f"a {kind} tensor is not an array of plain values.", remedy)
