"""What is shipped: an sdist and a wheel, built, installed and run away from the checkout."""

import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import maxhard

ROOT = Path(__file__).parents[1]
FOLDERS = {
    "maxhard": "maxhard",
    "maxhard.backends": "backends",
    "maxhard.graph": "graph",
    "maxhard.onnx": "maxhard/onnx",
}
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "_build")

SMOKE = """
import sys
before = set(sys.modules)
import maxhard as mh
loaded = {name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names
assert loaded == {"maxhard"}, loaded

import numpy as np
x = mh.Input("x", "float32", ("n", 3))
votes = mh.evaluate(mh.hardmax(mh.maximum(x, 0)), {"x": np.float32([[-1, 2, 2], [-3, -2, -1]])})
assert votes.tobytes() == np.float32([[0, 1, 0], [1, 0, 0]]).tobytes(), votes

try:
    mh.compile(x, backend="jax")
except mh.MissingBackendError as error:
    assert "pip install 'maxhard[jax]'" in str(error), error
else:
    raise AssertionError("JAX is here: the environment is not clean")

try:
    import graph
except ImportError:
    print(mh.__version__, mh.__file__)
"""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an sdist, and the wheel built from it."""
    source = tmp_path_factory.mktemp("source") / "maxhard"
    built = tmp_path_factory.mktemp("dist")
    shutil.copytree(ROOT, source, symlinks=True, ignore=LEFT_OUT)
    run(sys.executable, "-m", "build", "--outdir", built, source)
    return built


def run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def modules(folder: str) -> set[str]:
    return {path.name for path in (ROOT / folder).glob("*.py")}


def test_the_packages_listed_are_those_on_disk() -> None:
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    mapped = setuptools["package-dir"]
    folders = [mapped.get(package, package.replace(".", "/")) for package in FOLDERS]
    on_disk = {
        str(found.parent.relative_to(ROOT))
        for folder in FOLDERS.values()
        for found in (ROOT / folder).rglob("__init__.py")
    }

    assert sorted(setuptools["packages"]) == sorted(FOLDERS)
    assert sorted(folders) == sorted(on_disk) == sorted(FOLDERS.values())


@pytest.mark.slow
def test_the_wheel_holds_one_name_and_every_module(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    information = f"maxhard-{maxhard.__version__}.dist-info"

    assert {name.partition("/")[0] for name in names} == {"maxhard", information}
    assert {name for name in names if not name.startswith(information)} == {
        f"{package.replace('.', '/')}/{module}"
        for package, folder in FOLDERS.items()
        for module in modules(folder)
    } | {"maxhard/py.typed"}


@pytest.mark.slow
def test_the_sdist_holds_the_checkout(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    for folder in ("backends", "graph", "maxhard", "tests"):
        assert {f"{folder}/{module}" for module in modules(folder)} <= names
    assert {"README.md", "LICENSE", "CHANGELOG.md", "docs/contract.md"} <= names


@pytest.mark.slow
def test_the_wheel_runs_in_a_clean_environment(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel)

    version, file = run(python, "-I", "-c", SMOKE, cwd=tmp_path).split(maxsplit=1)

    assert version == maxhard.__version__
    assert Path(file.strip()).is_relative_to(tmp_path)
