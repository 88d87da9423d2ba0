"""Derivatives of Max and Hardmax in torch, backward and forward, and what `torch.vmap` does.

Max gives operands that tie an equal share, 1/k each; an operand that is NaN ties with the other
NaNs, and +0 does not tie with -0. The shares are constants to a second derivative.
"""

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..graph.dtypes import DType
from .lowering import FORMATS

if TYPE_CHECKING:
    from .torch import TorchBackend


class Max(torch.autograd.Function):
    """Max of float tensors of one shape."""

    @staticmethod
    def forward(backend: "TorchBackend", dtype: DType, *arrays: Tensor) -> Tensor:
        return backend.max_values(arrays, dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.integer = getattr(torch, FORMATS[inputs[1]].integer)
        ctx.save_for_backward(output, *inputs[2:])
        ctx.save_for_forward(output, *inputs[2:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        wins, share = _shares(ctx)
        return None, None, *[_where(win, gradient * share) for win in wins]

    @staticmethod
    def jvp(ctx: Any, _: None, __: None, *tangents: Tensor) -> Tensor:
        wins, share = _shares(ctx)
        return reduce(torch.add, map(_where, wins, tangents)) * share

    @staticmethod
    def vmap(info: Any, axes: Sequence[Any], backend: Any, dtype: Any, *arrays: Tensor) -> Any:
        moved = [
            array.expand(info.batch_size, *array.shape) if axis is None else array.movedim(axis, 0)
            for array, axis in zip(arrays, axes[2:], strict=True)
        ]
        return Max.apply(backend, dtype, *moved), 0  # type: ignore[no-untyped-call]


def _shares(ctx: Any) -> tuple[list[Tensor], Tensor]:
    """Which operands have the maximum, and one share of the derivative."""
    output, *arrays = [x.detach() for x in ctx.saved_tensors]
    bits = output.view(ctx.integer)
    wins = [(x.view(ctx.integer) == bits) | x.isnan() for x in arrays]
    ties = reduce(torch.add, [win.to(_wide(output)) for win in wins])  # 16 bits do not count far
    return wins, ties.reciprocal().to(output.dtype)


def _wide(array: Tensor) -> torch.dtype:
    return torch.float64 if array.dtype is torch.float64 else torch.float32


def _where(win: Tensor, values: Tensor) -> Tensor:
    return torch.where(win, values, torch.zeros_like(values))


class Hardmax(torch.autograd.Function):
    """Hardmax, with the derivative of its surrogate: of softmax, of the identity, or zero."""

    @staticmethod
    def forward(
        backend: "TorchBackend", array: Tensor, axis: int, dtype: DType, surrogate: str | None
    ) -> Tensor:
        return backend.hardmax_values(array, axis, dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, array, ctx.axis, _, ctx.surrogate = inputs
        kept = [array] if ctx.surrogate == "softmax" else []
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        return None, _by_surrogate(ctx, gradient), None, None, None

    @staticmethod
    def jvp(ctx: Any, _: None, tangent: Tensor, *__: None) -> Tensor:
        return _by_surrogate(ctx, tangent)

    @staticmethod
    def vmap(
        info: Any, axes: Sequence[Any], backend: Any, array: Tensor, axis: int, *rest: Any
    ) -> Any:
        moved = array.movedim(axes[1], 0)
        return Hardmax.apply(backend, moved, axis + 1, *rest), 0  # type: ignore[no-untyped-call]


def _by_surrogate(ctx: Any, change: Tensor) -> Tensor:
    """The Jacobian times `change`, from either side: all three Jacobians are symmetric."""
    if ctx.surrogate == "softmax":
        (array,) = ctx.saved_tensors
        weights = array.to(_wide(array)).softmax(ctx.axis)
        weighted = weights * change.to(weights.dtype)
        total = weighted.sum(ctx.axis, keepdim=True)
        result: Tensor = (weighted - weights * total).to(array.dtype)
        return result
    return change if ctx.surrogate == "identity" else torch.zeros_like(change)
