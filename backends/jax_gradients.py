"""Derivatives under JAX: the kernels work on integers, which have none, so they are given here.

`docs/gradients.md` states the rules.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

import jax
import jax.numpy as jnp

from ..graph.dtypes import DType
from ..graph.surrogates import Surrogate

Array = Any
Kernel = Callable[..., Array]

MANY = 32
"""Above so many operands, those of one shape are stacked: XLA takes a minute to compile the shares
of 128 operands one by one."""


def shared(max_: Kernel, key: Kernel, scope: Callable[[], Any]) -> Kernel:
    """`max_` with the derivative that goes to tied operands in equal shares.

    `key` gives integers that are equal where operands tie. The rule may be traced long after the
    call, inside a transformation of the caller's, so it enters `scope` by itself.
    """
    differentiable = jax.custom_jvp(max_)

    @differentiable.defjvp
    def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
        with scope():
            result = differentiable(*primals)
            keys = [key(stack) for stack in _stacks(primals, result.ndim)]
            # Not key(result): XLA would work out the result anew for the share of each operand.
            best = reduce(jnp.maximum, [stack.max(0) for stack in keys])
            wins = [stack == best for stack in keys]
            wide = _wide(result.dtype)  # 16 bits do not count far
            ties = reduce(add, [win.sum(0, dtype=wide) for win in wins])
            share = jax.lax.reciprocal(ties).astype(result.dtype)
            moved = [
                jnp.where(win, stack, jnp.zeros_like(stack)).sum(0)
                for win, stack in zip(wins, _stacks(tangents, result.ndim), strict=True)
            ]
            return result, reduce(add, moved) * share

    return differentiable


def _stacks(arrays: Sequence[Array], rank: int) -> list[Array]:
    """Each array with an axis in front; of many, those of one shape together."""
    stacks: dict[Any, list[Array]] = {}
    for i, array in enumerate(arrays):
        aligned = array.reshape((1,) * (rank - array.ndim) + array.shape)
        stacks.setdefault(aligned.shape if len(arrays) > MANY else i, []).append(aligned)
    return [jnp.stack(stack) for stack in stacks.values()]


def differentiated(run: Kernel, written: Callable[[], Kernel]) -> Kernel:
    """`run` with the derivative of `written()`; both take a list of arrays and give one."""
    differentiable = jax.custom_jvp(lambda *arrays: run(arrays))

    @differentiable.defjvp
    def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> Any:
        return jax.jvp(lambda *arrays: written()(arrays), primals, tangents)

    return lambda arrays: differentiable(*arrays)


def straight_through(
    hardmax: Kernel, axes: tuple[int, ...], surrogate: Surrogate, scope: Callable[[], Any]
) -> Kernel:
    """`hardmax` with the derivative, of every order, of its surrogate."""
    differentiable = jax.custom_jvp(hardmax)

    @differentiable.defjvp
    def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        (array,), (tangent,) = primals, tangents
        with scope():
            result = differentiable(array)
            if surrogate == "softmax" and array.size:
                tangent = jax.jvp(lambda x: _softmax(x, axes), primals, tangents)[1]
            return result, tangent

    return differentiable


def _softmax(array: Array, axes: tuple[int, ...]) -> Array:
    """Softmax, 16-bit floats by way of float32."""
    wide = array.astype(_wide(array.dtype))
    top = jnp.max(jax.lax.stop_gradient(wide), axis=axes, keepdims=True)
    weights = jnp.exp(wide - top)
    return (weights / jnp.sum(weights, axis=axes, keepdims=True)).astype(array.dtype)


def _wide(dtype: Any) -> str:
    return DType.FLOAT64 if dtype == DType.FLOAT64 else DType.FLOAT32
