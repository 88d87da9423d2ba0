"""Every example in a docstring runs; by module name, for by path the folders are no packages."""

import doctest
import pkgutil
from importlib import import_module

import pytest

PACKAGES = ("maxhard", "maxhard.graph", "maxhard.backends", "maxhard.onnx")
# A module that needs a library which may be absent has it in its name.
OPTIONAL = ("jax", "torch", "dask", "cupy", "onnx")


def modules() -> list[str]:
    found = set(PACKAGES)
    for package in PACKAGES:
        path = import_module(package).__path__
        found.update(f"{package}.{info.name}" for info in pkgutil.iter_modules(path))
    return sorted(name for name in found if not name.endswith("__main__"))


@pytest.mark.parametrize("name", modules())
def test_examples(name: str) -> None:
    for library in OPTIONAL:
        if library in name:
            pytest.importorskip(library)
    module = import_module(name)

    assert module.__doc__, f"{name} does not say what it holds"
    assert doctest.testmod(module).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = {
        name: len(finder.find(import_module(name))) for name in ("maxhard.eager", "maxhard.program")
    }

    assert min(found.values()) >= 2, found
