"""Graphs as StableHLO, made ahead of time by `jax.export` for machines that need not be at hand."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.export

from ..graph.errors import ExportError, MissingBackendError
from ..graph.infer import Types
from ..graph.nodes import AnyNode, Input
from . import get
from .execute import interpret
from .jax import x64


def export(
    inputs: Sequence[Input], outputs: Sequence[AnyNode], types: Types, platforms: Sequence[str]
) -> bytes:
    """A serialised `jax.export.Exported`; every dim of `types` is a size or a name."""
    with x64():
        exported = jax.export.export(_jitted(inputs, outputs, types), platforms=platforms)(
            *_arguments(inputs, types)
        )
    try:
        return bytes(exported.serialize())
    except ImportError as error:
        raise MissingBackendError(
            f"the artefact cannot be written: {error}.", "Run: pip install 'maxhard[export]'."
        ) from error


def as_text(inputs: Sequence[Input], outputs: Sequence[AnyNode], types: Types) -> str:
    """The StableHLO of `outputs` for the platform at hand."""
    with x64():
        jitted = _jitted(inputs, outputs, types)
        return str(jitted.trace(*_arguments(inputs, types)).lower().as_text())


def load(payload: bytes) -> Any:
    """A function from JAX arrays to a list of them, out of what `export` gave."""
    try:
        exported = jax.export.deserialize(bytearray(payload))
    except ImportError as error:
        raise MissingBackendError(
            f"the artefact cannot be read: {error}.", "Run: pip install 'maxhard[export]'."
        ) from error
    except Exception as error:  # whatever the format of another JAX runs into
        raise ExportError(
            f"JAX {jax.__version__} cannot read this artefact: {error}",
            "Load it with a JAX no older than the one that wrote it, or export it again.",
        ) from error
    jitted = jax.jit(exported.call)

    def call(*arrays: Any) -> list[Any]:
        try:
            with x64():
                return list(jitted(*arrays))
        except ValueError as error:
            raise ExportError(
                f"the artefact does not run on these arrays: {error}",
                "Move them to a platform that it was exported for.",
            ) from error

    return call


def _jitted(inputs: Sequence[Input], outputs: Sequence[AnyNode], types: Types) -> Any:
    run = interpret(get("jax"), inputs, outputs, types)

    def maxhard(*arrays: Any) -> list[Any]:  # the name that the StableHLO shows
        return run(arrays)

    return jax.jit(maxhard)


def _arguments(inputs: Sequence[Input], types: Types) -> list[Any]:
    """A stand-in for each input; names of dims can be any text, so numbered symbols stand in."""
    shapes: list[Any] = [types[node].shape for node in inputs]
    names = dict.fromkeys(dim for shape in shapes for dim in shape if isinstance(dim, str))
    symbols = jax.export.symbolic_shape(", ".join(f"d{i}" for i in range(len(names))))
    symbol: dict[Any, Any] = dict(zip(names, symbols, strict=True))
    backend = get("jax")
    return [
        jax.ShapeDtypeStruct(  # type: ignore[no-untyped-call]
            tuple(symbol.get(dim, dim) for dim in shape), backend.dtype(types[node].dtype or "")
        )
        for node, shape in zip(inputs, shapes, strict=True)
    ]
