"""Imports run one way, maxhard -> backends -> graph, and load no array library before its use.

Each proof has a test that it can fail.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import maxhard
import maxhard.graph

GRAPH = Path(maxhard.graph.__file__).parent
BACKENDS = Path(import_module("maxhard.backends").__file__ or "").parent
ARRAY_LIBRARIES = ("numpy", "jax", "torch", "dask", "cupy", "array_api_strict", "ml_dtypes")


def imported(source: str, package: str) -> Iterator[str]:
    """The absolute name of every module that `source`, inside `package`, names in an import."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module, names, level):
                base = ".".join(package.split(".")[: -level + 1 or None]) if level else ""
                path = ".".join(filter(None, [base, module]))
                yield from (f"{path}.{alias.name}" for alias in names)


def foreign(folder: Path, package: str, allowed: tuple[str, ...]) -> list[str]:
    """The imports in `folder` from outside the standard library and `allowed`."""
    return [
        f"{path.name} imports {name}"
        for path in sorted(folder.glob("*.py"))
        for name in imported(path.read_text(), package)
        if name.partition(".")[0] not in sys.stdlib_module_names
        and not any(f"{name}.".startswith(f"{prefix}.") for prefix in allowed)
    ]


def loaded_by(code: str, names: tuple[str, ...]) -> set[str]:
    """Which of `names` a fresh interpreter has loaded after `code`."""
    probe = f"import sys\n{code}\nprint(*[name for name in {names!r} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, timeout=60
    )
    return set(run.stdout.split())


def test_graph_imports_the_standard_library_only() -> None:
    assert len(list(GRAPH.glob("*.py"))) > 5
    assert foreign(GRAPH, "maxhard.graph", ("maxhard.graph",)) == []


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np",
        "import onnx.helper",
        "def f():\n    from numpy import zeros",
        "from ..backends import get",
        "from .. import backends",
        "from maxhard import eager",
        "if TYPE_CHECKING:\n    import jax",
    ],
)
def test_that_proof_can_fail(tmp_path: Path, line: str) -> None:
    (tmp_path / "node.py").write_text("import sys\nfrom . import types\nfrom .types import Dim\n")
    assert foreign(tmp_path, "maxhard.graph", ("maxhard.graph",)) == []

    (tmp_path / "walk.py").write_text(line)

    assert len(foreign(tmp_path, "maxhard.graph", ("maxhard.graph",))) == 1


def test_backends_import_graph_and_never_the_face() -> None:
    libraries = (*ARRAY_LIBRARIES, "array_api_compat", "maxhard.graph", "maxhard.backends")

    assert foreign(BACKENDS, "maxhard.backends", libraries) == []


def test_a_backend_imports_its_own_library_only() -> None:
    """At run time; NumPy, which maxhard depends on, carries constants everywhere."""
    shared = ("array_api_compat", "numpy", "ml_dtypes", "maxhard.graph", "maxhard.backends")
    for path in BACKENDS.glob("*.py"):
        source = path.read_text()
        allowed = (*shared, path.stem.partition("_")[0])  # jax_gradients.py is a part of jax.py
        assert [
            name
            for name in imported(source, "maxhard.backends")
            if name.partition(".")[0] in ARRAY_LIBRARIES
            and not any(f"{name}.".startswith(f"{prefix}.") for prefix in allowed)
        ] == [], path.name


def test_import_loads_no_array_library() -> None:
    names = (*ARRAY_LIBRARIES, "array_api_compat", "onnx", "ml_dtypes")

    assert loaded_by("import maxhard", names) == set()


def test_building_and_typing_load_no_array_library() -> None:
    code = """
import maxhard as mh
x = mh.Input("x", "bfloat16", ("N", 3))
node = mh.hardmax(mh.maximum(x, 0, mh.Constant([1, 2, 3], "bfloat16")))
assert str(node.type) == "bfloat16[N, 3]"
str(mh.Graph(node)); mh.backends()
"""
    assert loaded_by(code, ARRAY_LIBRARIES) == set()


def test_that_proof_can_fail_too() -> None:
    assert loaded_by("import maxhard, numpy", ARRAY_LIBRARIES) == {"numpy"}


def test_numpy_arrays_load_no_other_library() -> None:
    code = """
import numpy as np, maxhard as mh
mh.hardmax(mh.maximum(np.ones(3, "f4"), 0))
mh.evaluate(mh.maximum(mh.Input("x"), 1), {"x": np.ones(3)})
"""
    others = ("jax", "torch", "dask", "cupy", "array_api_strict", "onnx")

    assert loaded_by(code, others) == set()


def test_a_library_is_loaded_at_first_use() -> None:
    pytest.importorskip("jax")
    code = "import maxhard as mh; program = mh.compile(mh.Input('x'), 'jax')"

    assert "jax" in loaded_by(code, ("jax",))


def test_every_module_is_in_one_of_the_three() -> None:
    """ONNX, which is part of the face, has a folder in it."""
    face = Path(maxhard.__file__).parent

    def parts(module: ModuleType) -> set[str]:
        return {path.name for path in Path(module.__file__ or "").parent.iterdir() if path.is_dir()}

    assert {path.resolve() for path in (GRAPH, BACKENDS)}.isdisjoint({face.resolve()})
    assert parts(maxhard) - {"__pycache__"} <= {"graph", "backends", "onnx"}
