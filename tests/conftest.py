"""The matrix: every test that asks for `backend` runs on every library."""

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cases import Array
from libraries import LIBRARIES, Library

ALL_BACKENDS = "MAXHARD_ALL_BACKENDS"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "unsupported(backend, dtypes, reason): the library refuses these dtypes, and says so",
    )


@pytest.fixture(params=LIBRARIES)
def backend(request: pytest.FixtureRequest) -> Library:
    name: str = request.param
    if importlib.util.find_spec(LIBRARIES[name].partition(".")[0]) is None:
        absent = f"{name} is not installed"
        if os.environ.get(ALL_BACKENDS) == "1":
            pytest.fail(f"{absent}, and {ALL_BACKENDS}=1 asks for every backend")
        pytest.skip(absent)
    return Library(name)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Turn `unsupported` into a strict xfail where it applies: the refusal itself is tested."""
    for item in items:
        for mark in item.iter_markers("unsupported"):
            params = getattr(item, "callspec", None) and item.callspec.params  # type: ignore[attr-defined]
            if (
                params
                and params.get("backend") in mark.args
                and _dtypes(params) & {*mark.kwargs["dtypes"]}
            ):
                item.add_marker(_refused(mark.kwargs["reason"]))


def _refused(reason: str) -> pytest.MarkDecorator:
    from maxhard import GraphError

    return pytest.mark.xfail(strict=True, raises=GraphError, reason=reason)


def _dtypes(params: dict[str, Any]) -> set[str]:
    if "case" in params:
        return {tensor["dtype"] for tensor in params["case"]["inputs"]}
    return {params.get("dtype", "")}


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _strided(array: Array) -> Array:
    wide = np.repeat(array, 2, axis=-1)
    return wide[..., ::2]


def _reversed(array: Array) -> Array:
    return np.flip(np.flip(array).copy())


def _swapped(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder(">"))


def _broadcast(array: Array) -> Array:
    return np.broadcast_to(array[:1], array.shape)


HOSTILE: dict[str, Callable[[Array], Array]] = {
    "read-only": _read_only,
    "strided": _strided,
    "negative strides": _reversed,
    "big-endian": _swapped,
    "Fortran order": np.asfortranarray,
    "broadcast view": _broadcast,
}


@pytest.fixture(params=HOSTILE)
def hostile(request: pytest.FixtureRequest) -> Callable[[Array], Array]:
    """Gives an array of rank >= 1 a memory layout that careless code trips over."""
    return HOSTILE[request.param]
