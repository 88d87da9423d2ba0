"""The array libraries: found by name, by namespace, or by the arrays passed."""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from ..graph.errors import BackendError, MissingBackendError, TypeInferenceError
from ..graph.snapshot import not_an_operand, refuse_lookalikes
from .base import Backend as Backend

# The library to import, and the extra or package that brings it.
_LIBRARIES = {
    "numpy": ("numpy", "maxhard"),
    "jax": ("jax", "maxhard[jax]"),
    "torch": ("torch", "maxhard[torch]"),
    "dask": ("dask.array", "maxhard[dask]"),
    "cupy": ("cupy", "maxhard[cupy]"),
    "array-api-strict": ("array_api_strict", "array-api-strict"),
}
_NAMESPACES = {library: name for name, (library, _) in _LIBRARIES.items()} | {"jax.numpy": "jax"}
_OWN_MODULES = {name: f".{name}" for name in ("numpy", "jax", "torch", "dask", "cupy")}


def get(backend: Any) -> Backend:
    """The backend of that name, or over that array namespace.

    Raises:
        MissingBackendError: its library is not installed.
        BackendError: the name is not known, or the object is no array namespace.
    """
    if isinstance(backend, Backend):
        return backend
    if isinstance(backend, str):
        return _named(backend)
    name = getattr(backend, "__name__", "").removeprefix("array_api_compat.")
    if name in _NAMESPACES:
        return _named(_NAMESPACES[name])
    if not hasattr(backend, "maximum"):
        raise BackendError(
            f"{backend!r:.60} is neither a backend's name nor an array namespace.",
            f"Known names: {', '.join(_LIBRARIES)}.",
        )
    return _standard(name or repr(backend), backend)


@cache
def _named(name: str) -> Backend:
    if name not in _LIBRARIES:
        raise BackendError(
            f"backend {name!r} is not known.", f"Known names: {', '.join(_LIBRARIES)}."
        )
    library, package = _LIBRARIES[name]
    try:
        if name in _OWN_MODULES:
            backend: Backend = import_module(_OWN_MODULES[name], __name__).backend()
            return backend
        return _standard(name, _compat(import_module(library)))
    except ImportError as error:
        raise MissingBackendError(
            f"backend {name!r} cannot be used: {error}.",
            f"Run: pip install '{package}'.",
        ) from error


def _compat(library: Any) -> Any:
    """The standard's namespace over a library that array-api-compat wraps."""
    wrapper = f"array_api_compat.{library.__name__}"
    try:
        return import_module(wrapper)
    except ModuleNotFoundError:
        return library


@cache
def _standard(name: str, xp: Any) -> Backend:
    from .standard import StandardBackend

    return StandardBackend(name, xp)


_of_kind: dict[type, Backend] = {}


def of(arrays: Sequence[Any]) -> Backend:
    """The backend of the library that `arrays` come from.

    Raises:
        TypeInferenceError: an object is no array, or the arrays come from several libraries.
    """
    found = {}
    for array in arrays:
        kind = type(array)
        if kind not in _of_kind:
            _of_kind[kind] = _of_array(array)
        found[_of_kind[kind]] = kind
    if len(found) > 1:
        names = " and ".join(sorted(backend.name for backend in found))
        raise TypeInferenceError(
            f"arrays of different libraries in one call: {names}.",
            "Convert them to one library, or name one with compile(..., backend=...).",
        )
    if not found:
        return _named("numpy")
    return next(iter(found))


def _of_array(array: Any) -> Backend:
    refuse_lookalikes(array)
    from array_api_compat import array_namespace

    try:
        return get(array_namespace(array))
    except TypeError:
        raise not_an_operand(array) from None


def available() -> dict[str, str]:
    """Each backend's version, or why it cannot be used.

    >>> from maxhard import backends
    >>> "numpy" in backends()
    True
    """
    return {name: _version(library, package) for name, (library, package) in _LIBRARIES.items()}


def _version(library: str, package: str) -> str:
    root = library.partition(".")[0]
    from importlib import metadata, util  # late: they are slow to import

    if util.find_spec(root) is None:
        return f"not installed: pip install '{package}'"
    try:
        return metadata.version(root.replace("_", "-"))
    except metadata.PackageNotFoundError:
        return "installed, version unknown"
