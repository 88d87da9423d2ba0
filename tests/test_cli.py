"""The command `maxhard`: what it prints, what it writes, and its exit status."""

import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

import maxhard as mh
from cases import DATA, DTYPES, INTEGERS, assert_same, bits_of, float32, specials
from maxhard import check, progress
from maxhard.cli import main
from models import model, node, value

Run = Any


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `m.onnx`: best = Max(x, y), vote = Hardmax(best)."""
    monkeypatch.chdir(tmp_path)
    nodes = [node("Max", ["x", "y"], ["best"]), node("Hardmax", ["best"], ["vote"])]
    onnx.save(model(nodes, ["x", value("y", (3,))], ["best", "vote"]), "m.onnx")
    np.save("x.npy", X)
    np.save("y.npy", Y)
    return tmp_path


X, Y = float32([[1, 5, 2], [7, 7, 0]]), float32([3, -1, -1])
BEST, VOTE = float32([[3, 5, 2], [7, 7, 0]]), float32([[0, 1, 0], [1, 0, 0]])


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process: its exit status, and what it printed."""

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            status = main(arguments)
        except SystemExit as error:
            status = int(error.code or 0)
        out, err = capsys.readouterr()
        return status, out, err

    return call


def assert_refused(result: tuple[int, str, str], *phrases: str) -> None:
    """Bad use: exit status 2, and one line on standard error."""
    status, out, err = result
    assert (status, out) == (2, "")
    assert err.startswith("maxhard: error: ")
    assert err.count("\n") == 1
    for phrase in phrases:
        assert phrase in err


class TestShow:
    def test_prints_the_typed_listing(self, folder: Path, run: Run) -> None:
        status, out, err = run("show", "m.onnx")

        assert (status, err) == (0, "")
        assert out == f"{mh.from_onnx('m.onnx')}\n"
        assert "Hardmax-13" in out

    def test_tensors_and_cuts(self, run: Run) -> None:
        path = str(DATA / "resize_tile.onnx")

        assert_refused(run("show", path), "resize_tile.onnx; 1 x Resize", "1 x Tile", "cut=True")
        assert "tile_out = Input" in run("show", path, "--cut")[1]
        status, out, _ = run("show", path, "--cut", "--tensor", "tile_out")
        assert (status, out.splitlines()[-1]) == (0, "return tile_out: tile_out")


class TestRun:
    def test_npy_to_npz(self, folder: Path, run: Run) -> None:
        status, out, err = run("run", "m.onnx", "-i", "x=x.npy", "-i", "y=y.npy", "-o", "out.npz")

        assert (status, out, err) == (0, "", "")
        with np.load("out.npz") as results:
            assert sorted(results) == ["best", "vote"]
            assert_same(results["best"], BEST)
            assert_same(results["vote"], VOTE)
        assert not list(folder.glob("*.part"))

    @pytest.mark.parametrize("backend", ["numpy", "jax"])
    def test_on_a_backend(self, folder: Path, run: Run, backend: str) -> None:
        pytest.importorskip(backend)
        arguments = ["-i", "x.npy", "-i", "y.npy", "--backend", backend]

        assert run("run", "m.onnx", *arguments, "--tensor", "vote", "-o", "vote.npy")[0] == 0
        assert_same(np.load("vote.npy"), VOTE)

    def test_npz_in(self, folder: Path, run: Run) -> None:
        np.savez("both.npz", y=Y, x=X)

        assert run("run", "m.onnx", "-i", "both.npz", "-o", "out.npz")[0] == 0
        assert_same(np.load("out.npz")["vote"], VOTE)

    def test_tensors_of_onnx_in(self, folder: Path, run: Run) -> None:
        Path("x.pb").write_bytes(numpy_helper.from_array(X, "whatever").SerializeToString())
        Path("t.pb").write_bytes(numpy_helper.from_array(Y, "y").SerializeToString())

        assert run("run", "m.onnx", "-i", "t.pb", "-i", "x=x.pb", "-o", "out.npz")[0] == 0
        assert_same(np.load("out.npz")["vote"], VOTE)

    def test_a_folder_of_test_data(self, folder: Path, run: Run) -> None:
        data = folder / "test_data_set_0"
        data.mkdir()
        for number, array in enumerate((X, Y)):
            tensor = numpy_helper.from_array(array)
            (data / f"input_{number}.pb").write_bytes(tensor.SerializeToString())

        assert run("run", "m.onnx", "-i", "test_data_set_0", "-o", "out.npz")[0] == 0
        assert_same(np.load("out.npz")["vote"], VOTE)

    def test_prints_without_a_file(self, folder: Path, run: Run) -> None:
        status, out, _ = run("run", "m.onnx", "-i", "x.npy", "-i", "y.npy", "--tensor", "vote")

        assert (status, out) == (0, f"vote: float32[2, 3]\n{VOTE}\n")

    def test_bfloat16_through_files(self, folder: Path, run: Run) -> None:
        """.npy has no such type, and keeps pairs of bytes."""
        half = np.array([1.5, np.nan, -0.0], ml_dtypes.bfloat16)
        inputs = [value("h", (3,), TensorProto.BFLOAT16)]
        onnx.save(model([node("Max", ["h", "h"], ["m"])], inputs, ["m"]), "h.onnx")
        np.save("h.npy", half)

        assert run("run", "h.onnx", "-i", "h.npy", "-o", "m.npy")[0] == 0
        assert_same(np.load("m.npy").view(ml_dtypes.bfloat16), mh.maximum(half, half))
        assert "m: bfloat16[3]" in run("run", "h.onnx", "-i", "h.npy")[1]

    def test_names_that_are_no_words(self, folder: Path, run: Run) -> None:
        nodes = [node("Max", ["a=b/c:0"], ["file"])]
        onnx.save(model(nodes, [value("a=b/c:0", None)], ["file"]), "odd.onnx")

        assert run("run", "odd.onnx", "-i", "a=b/c:0=x.npy", "-o", "out.npz")[0] == 0
        assert_same(np.load("out.npz")["file"], X)

    def test_bad_use(self, folder: Path, run: Run) -> None:
        np.save("wrong.npy", np.zeros((2, 4), "float32"))
        np.save("objects.npy", np.array([None]), allow_pickle=True)
        np.savez("other.npz", z=X)
        Path("text.npy").write_text("no array")
        Path("text.npz").write_text("no arrays")
        Path("text.pb").write_text("no tensor")
        Path("x.txt").write_text("1 2 3")
        data = Path("x.npy").read_bytes()
        Path("cut.npy").write_bytes(data[:-4])
        Path("huge.npy").write_bytes(data.replace(b"(2, 3)", b"(99**9, 3)"[:6]))
        Path("empty").mkdir()
        both = ["-i", "x=x.npy", "-i", "y=y.npy"]

        assert_refused(run("run", "m.onnx"), "inputs are missing: x: float32[N, 3], y: float32[3]")
        assert_refused(run("run", "m.onnx", "-i", "z=x.npy"), "no input is named 'z'", "x, y")
        assert_refused(run("run", "m.onnx", *both, "-i", "x.npy"), "which is for no free input")
        assert_refused(run("run", "m.onnx", *both, "-i", "x=x.npy"), "which is for no free input")
        assert_refused(run("run", "m.onnx", "-i", "other.npz"), "'z', which is for no free input")
        assert_refused(run("run", "m.onnx", "-i", "x=wrong.npy", "-i", "y=y.npy"), "declared 3")
        for bad in ("objects.npy", "text.npy", "text.npz", "cut.npy", "huge.npy", "absent.npy"):
            assert_refused(run("run", "m.onnx", "-i", f"x={bad}"), bad, "cannot be read")
        assert_refused(run("run", "m.onnx", "-i", "text.pb"), "text.pb")
        assert_refused(run("run", "m.onnx", "-i", "x.txt"), "x.txt is no array")
        assert_refused(run("run", "m.onnx", "-i", "empty"), "empty has no input_0.pb")
        assert_refused(run("run", "m.onnx", *both, "-o", "out.npy"), "cannot hold 2 outputs")
        assert_refused(run("run", "m.onnx", *both, "-o", "out.csv"), "Name a .npz file")
        assert_refused(run("run", "m.onnx", *both, "-o", "no/out.npz"), "No such file")
        assert_refused(run("run", "m.onnx", *both, "--backend", "abacus"), "'abacus' is not known")
        assert_refused(run("run", "absent.onnx"), "absent.onnx", "cannot be read")
        assert_refused(run("run", "x.npy"), "x.npy is not an ONNX model")


class TestCheck:
    def test_a_table_of_every_backend_that_is_installed(self, folder: Path, run: Run) -> None:
        status, out, _ = run("check", "m.onnx")

        head, *rows = out.splitlines()
        assert status == 0
        assert head.split() == ["backend", "typical", "any", "bits", "edges", "ties", "empty"]
        installed = [n for n, version in mh.backends().items() if "not installed" not in version]
        assert [row.split()[0] for row in rows[: len(installed)]] == installed
        assert rows[0].split()[2:] == ["ok"] * 5

    def test_a_difference_is_told_and_fails(
        self, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def run_on(graph: mh.Graph, name: str, arrays: Any) -> Any:
            vote = VOTE.copy()
            if name == "broken":
                vote[1, 2] = -0.0
            return {"vote": vote}

        monkeypatch.setattr(check, "run_on", run_on)
        monkeypatch.setattr(
            check, "backends", lambda: {"numpy": "2", "broken": "1", "absent": "not installed: pip"}
        )
        status, out, err = run("check", "m.onnx")

        assert status == 1
        assert "broken 1  differs" in out
        assert "absent" not in out
        assert (
            "broken, typical data, vote: 1 of 6 elements, the first at [1, 2]: 0x80000000, not 0x0"
        ) in out
        assert err == ""

    def test_a_refusal_is_told_and_does_not_fail(
        self, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(graph: mh.Graph, name: str, arrays: Any) -> Any:
            raise mh.BackendError("it has no float32.")

        monkeypatch.setattr(check, "run_on", refuse)
        monkeypatch.setattr(check, "backends", lambda: {"small": "1"})

        status, out, _ = run("check", "m.onnx")

        assert status == 0
        assert out.splitlines()[1:] == [
            "small 1  refused  refused   refused  refused  refused",
            "small refused: it has no float32.",
        ]

    def test_a_model_without_open_dims_has_no_empty_data(self, folder: Path, run: Run) -> None:
        onnx.save(model([node("Max", ["x"], ["y"])], [value("x", (2, 3))]), "fixed.onnx")

        assert "empty" not in run("check", "fixed.onnx")[1]

    @pytest.mark.parametrize("kind", [kind for kind in check.KINDS if kind != "empty"])
    def test_sizes_are_found_that_fit(self, kind: str) -> None:
        a = mh.Input("a", "float16", ("N", 7))
        b = mh.Input("b", None, ("N", "M", 1))
        c = mh.Input("c", None, None)
        d = mh.Input("d", None, ("K",))
        graph = mh.Graph({"y": mh.maximum(a, b, mh.hardmax(c), mh.maximum(d, a, opset=12))})

        arrays = check.data(graph, kind)

        assert arrays is not None
        assert {array.dtype for array in arrays.values()} == {np.dtype("float16")}
        assert mh.evaluate(graph, arrays)["y"].size

    def test_empty_data_are_empty(self) -> None:
        a, c = mh.Input("a", "int8", ("N", 7)), mh.Input("c", "int8", None)
        graph = mh.Graph({"y": mh.maximum(a, c)})

        arrays = check.data(graph, "empty")

        assert arrays is not None
        assert arrays["a"].shape == (0, 7)
        assert mh.evaluate(graph, arrays)["y"].size == 0

    def test_no_sizes_fit(self) -> None:
        a = mh.Input("a", "float32", ("N", 7))
        b = mh.Input("b", "float32", ("N", 8))

        with pytest.raises(mh.GraphError):
            check.data(mh.Graph({"y": mh.maximum(a, b)}), "typical")

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_data_have_every_edge_of_their_dtype(self, dtype: str) -> None:
        arrays = check.data(mh.Graph({"y": mh.Input("x", dtype, (4000,))}), "edges")

        assert arrays is not None
        found = {*bits_of(arrays["x"]).tolist()}
        assert found >= {*specials(dtype)} - ({2} if dtype in INTEGERS else set())

    def test_what_is_too_large(self, folder: Path, run: Run) -> None:
        onnx.save(model([node("Max", ["x"], ["y"])], [value("x", (2**40,))]), "huge.onnx")

        assert_refused(run("check", "huge.onnx"), "float32[1099511627776] has more than")


class TestConvert:
    @pytest.mark.parametrize("opset", [7, 13, 18])
    def test_keeps_the_meaning(self, folder: Path, run: Run, opset: int) -> None:
        cube = np.random.default_rng(1).integers(0, 3, (2, 3, 2)).astype("float32")
        nodes = [node("Hardmax", ["x"], ["y"])]
        onnx.save(model(nodes, [value("x", ("N", 3, 2))], opset=11), "old.onnx")

        status, out, err = run("convert", "old.onnx", "new.onnx", "--opset", str(opset))

        assert (status, out, err) == (0, "", "")
        new = onnx.load("new.onnx")
        onnx.checker.check_model(new, full_check=True)
        assert [each.version for each in new.opset_import] == [opset]
        assert_same(mh.evaluate(mh.from_onnx(new), {"x": cube})["y"], mh.hardmax(cube, 1, opset=11))

    def test_what_an_opset_cannot_say(self, folder: Path, run: Run) -> None:
        result = run("convert", "m.onnx", "new.onnx", "--opset", "7")

        assert_refused(result, "Max-13 (opset 13) at m.onnx, node #0 (Max); x: float32[N, 3]")
        assert_refused(result, "Max-6 does not broadcast")
        assert not Path("new.onnx").exists()

    def test_bad_use(self, folder: Path, run: Run) -> None:
        assert_refused(run("convert", "m.onnx", "new.onnx", "--opset", "99"), "opset 99")
        assert_refused(run("convert", "m.onnx", "no/new.onnx"), "No such file")


def test_backends_are_those_of_the_library(run: Run) -> None:
    status, out, _ = run("backends")

    assert status == 0
    assert [tuple(line.split(maxsplit=1)) for line in out.splitlines()] == [*mh.backends().items()]


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("show",), ("convert", "m.onnx")])
def test_bad_use_is_explained(run: Run, arguments: tuple[str, ...]) -> None:
    status, out, err = run(*arguments)

    assert (status, out) == (2, "")
    assert "usage: maxhard" in err


@pytest.mark.parametrize("command", ["", "show", "run", "check", "convert", "backends"])
def test_help(run: Run, command: str) -> None:
    status, out, err = run(*filter(None, [command, "--help"]))

    assert (status, err) == (0, "")
    assert out.startswith(f"usage: maxhard {command}".rstrip())
    if not command:
        assert "exit status:" in out
        assert "maxhard run model.onnx -i x=x.npy" in out


def test_the_version(run: Run) -> None:
    assert run("--version")[1] == f"maxhard {mh.__version__}\n"


def test_a_key_that_stops_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*args: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("maxhard.cli.from_onnx", stop)

    assert run("show", "m.onnx") == (130, "", "maxhard: error: stopped\n")


class TestProgress:
    def test_nothing_within_a_second(self, capsys: pytest.CaptureFixture[str]) -> None:
        with progress.Progress("at work") as work:
            work.step("still at work")

        assert capsys.readouterr() == ("", "")

    def test_lines_after_it(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(progress, "_PATIENCE", 0.01)
        with progress.Progress("at work") as work:
            time.sleep(0.2)
            work.step("still at work")

        assert capsys.readouterr().err == "maxhard: at work ...\nmaxhard: still at work ...\n"

    def test_one_line_on_a_terminal(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(progress, "_PATIENCE", 0.01)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        with progress.Progress("at work"):
            time.sleep(0.2)

        assert capsys.readouterr().err == "\r\033[Kmaxhard: at work ...\r\033[K"


def command(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "maxhard", *arguments], capture_output=True, text=True, **options
    )


def test_as_a_module(folder: Path) -> None:
    done = command("show", "m.onnx")

    assert done.returncode == 0
    assert done.stdout == f"{mh.from_onnx('m.onnx')}\n"
    assert command("show", "absent.onnx").returncode == 2


def test_as_an_installed_command() -> None:
    root = Path(__file__).parents[1]
    scripts = tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]

    assert scripts == {"maxhard": "maxhard.cli:main"}


@pytest.mark.skipif(os.name != "posix", reason="there is a head to pipe into")
def test_a_reader_that_has_had_enough(folder: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m maxhard show m.onnx | head -c 0; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
    )

    assert not re.search("Traceback|BrokenPipe", done.stderr)
    assert done.stdout.strip() == "0"


def test_without_onnx_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['onnx'] = None; from maxhard.cli import main; "
        "sys.exit(main(['show', 'm']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.returncode == 2
    assert done.stderr == (
        "maxhard: error: onnx cannot be imported: import of onnx halted; None in sys.modules. "
        "Run: pip install 'maxhard[onnx]'.\n"
    )
