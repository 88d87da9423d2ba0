"""The array libraries that the tests run on."""

import importlib
from dataclasses import dataclass
from typing import Any

import pytest

from cases import Array
from maxhard.backends import get

# One line a library: the name that maxhard gives it, and the module to import.
LIBRARIES = {
    "numpy": "numpy",
    "jax": "jax.numpy",
    "torch": "torch",
    "dask": "dask.array",
    "array-api-strict": "array_api_strict",
}

HALVES = pytest.mark.unsupported(
    "array-api-strict", dtypes=("bfloat16", "float16"), reason="not in the standard, so refused"
)


@dataclass(frozen=True)
class Library:
    """Arrays of one library, to and from NumPy."""

    name: str

    @property
    def namespace(self) -> Any:
        return importlib.import_module(LIBRARIES[self.name])

    def array(self, array: Array) -> Any:
        """The same bits in this library; never shares memory with `array`."""
        return get(self.name).from_numpy(array.copy())

    def numpy(self, array: Any) -> Array:
        """`array` in NumPy; asserts that it belongs to this library."""
        own = type(self.namespace.zeros(1))
        assert isinstance(array, own), f"{type(array)} is no {own}"
        return get(self.name).to_numpy(array)
