"""Programs exported as StableHLO: the same bytes where they are loaded, and clear refusals."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxhard as mh
import oracle
from cases import DTYPES, Array, assert_same, float32, patterns, to_array
from libraries import Library

jax = pytest.importorskip("jax")
pytest.importorskip("flatbuffers")

LIBRARY = Library("jax")


def program() -> mh.Program:
    x = mh.Input("x", "float32", ("batch size", 3))
    y = mh.Input("y", "float32", ("batch size", 1))
    z = mh.Input("z", None, (None, "2*(H//2)"))
    return mh.compile(
        {
            "choice": mh.hardmax(mh.maximum(mh.maximum(x, y), 0.5), surrogate="softmax"),
            "columns": mh.hardmax(mh.maximum(z, mh.Constant([1.0], "float64")), 0),
        }
    )


@pytest.fixture(scope="module")
def data() -> bytes:
    return program().export()


def arrays(rows: int, columns: int) -> dict[str, Array]:
    return {
        "x": to_array("float32", patterns("float32", (rows, 3), "ties")),
        "y": to_array("float32", patterns("float32", (rows, 1), "specials")),
        "z": to_array("float64", patterns("float64", (rows + 1, columns), "sparse NaN")),
    }


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 5), (40, 3)])
def test_the_bytes_are_those_of_the_program(data: bytes, rows: int, columns: int) -> None:
    given = arrays(rows, columns)
    expected = program()(**given)

    loaded = mh.load_exported(data)
    for result in (
        loaded(**given),
        loaded(*given.values()),
        loaded(**{name: LIBRARY.array(x) for name, x in given.items()}),
    ):
        assert result.keys() == expected.keys()
        for name in expected:
            assert_same(LIBRARY.numpy(result[name]), expected[name], name)


@pytest.mark.parametrize("dtype", DTYPES)
def test_max_of_every_dtype(dtype: str) -> None:
    bits = [patterns(dtype, (5,), kind) for kind in ("specials", "ties")]
    inputs = [mh.Input(name, dtype, ("N",)) for name in "xy"]

    loaded = mh.load_exported(mh.compile(mh.maximum(*inputs), "jax").export("cpu"))

    result = loaded(*(to_array(dtype, x) for x in bits))
    assert_same(LIBRARY.numpy(result), to_array(dtype, oracle.maximum(dtype, bits)))


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_hardmax_along_open_dims(axis: int, opset: int) -> None:
    bits = patterns("float32", (3, 2, 4), "ties")
    node = mh.hardmax(mh.Input("x", "float32", ("N", 2, "M")), axis, opset=opset)

    loaded = mh.load_exported(mh.compile(node).export("cpu"))

    expected = to_array("float32", oracle.hardmax("float32", bits, axis, opset))
    assert_same(LIBRARY.numpy(loaded(to_array("float32", bits))), expected)


def test_structures() -> None:
    x, unused = mh.Input("x", "int8", ("N",)), mh.Input("unused", "int8", ("N",))
    one = mh.load_exported(mh.compile(mh.Graph(mh.maximum(x, 1), [unused, x])).export("cpu"))
    constants = [mh.Constant([1, 2], "int8")] * 2
    several = mh.load_exported(mh.compile(constants).export("cpu"))

    assert one(np.zeros(2, np.int8), x=np.array([0, 3], np.int8)).tolist() == [1, 3]
    assert [result.tolist() for result in several()] == [[1, 2], [1, 2]]
    assert isinstance(several(), tuple)


def test_inside_the_callers_jit(data: bytes) -> None:
    given = arrays(4, 3)
    loaded = mh.load_exported(data)
    on_jax = {name: LIBRARY.array(x) for name, x in given.items()}

    result = jax.jit(lambda given: loaded(**given)["columns"])(on_jax)

    assert_same(LIBRARY.numpy(result), program()(**given)["columns"])


def test_another_process_needs_no_graph(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(data)
    script = (
        "import sys, numpy as np, maxhard as mh\n"
        "run = mh.load_exported(open(sys.argv[1], 'rb').read())\n"
        "x, y = np.float32([[1, 2, 2]]), np.float32([[3]])\n"
        "print(run(x, y, np.ones((2, 2)))['choice'].tolist(), run)"
    )

    run = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "program"], capture_output=True, text=True
    )

    assert run.stdout.strip() == (
        "[[1.0, 0.0, 0.0]] <ExportedProgram for cpu, cuda, rocm, tpu: (x: float32[batch size, 3], "
        "y: float32[batch size, 1], z: float64[?, 2*(H//2)])>"
    ), run.stderr


def test_text() -> None:
    text = program().as_text()

    assert text.startswith("module @jit_maxhard")
    assert "tensor<?x3xf32>" in text
    assert "tensor<?x?xf64>" in text
    assert "stablehlo.maximum" in text
    assert "custom_call" not in text


def test_the_artefact_calls_nothing_outside_it(data: bytes) -> None:
    from maxhard.artefact import unpack

    module = jax.export.deserialize(bytearray(unpack(data)[1])).mlir_module()

    assert set(re.findall(r"custom_call @(\w+)", module)) == {"shape_assertion"}


N: Callable[..., mh.Input] = lambda name, *shape: mh.Input(name, "float32", shape)  # noqa: E731
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "two names": (
        lambda: mh.maximum(N("x", "N"), N("y", "M")),
        r"Max-13.*\n  x: float32\[N\].*\n  y: float32\[M\].*\nthe dims N and M meet here",
    ),
    "a name and a size": (
        lambda: mh.maximum(N("x", "N", 3), N("y", 2, 1)),
        r"Max-13.*\n.*\n.*\nthe dims N and 2 meet here, and which of them is 1",
    ),
    "unknown dims": (
        lambda: mh.maximum(N("x", None), N("y", None)),
        r"the dims axis 0 of x and axis 0 of y meet here",
    ),
    "a size of 1 where shapes are equal": (
        lambda: mh.maximum(N("x", "N"), N("y", 1), opset=7),
        r"Max-6 .*\n.*\n.*\nthe dims N and 1 meet here",
    ),
    "no rank": (
        lambda: mh.hardmax(mh.Input("x", "float32")),
        r"Input x: float32.*, made at .*\nx has no shape",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_stablehlo_cannot_express(case: str) -> None:
    build, message = REFUSED[case]
    refused = mh.compile(build())

    for call in (refused.export, refused.as_text):
        with pytest.raises(mh.ExportError, match=message):
            call()


def test_no_dtype() -> None:
    with pytest.raises(mh.TypeInferenceError, match=r"Input x.*\n.*which dtype"):
        mh.compile(mh.hardmax(mh.Input("x", None, (3,)))).export()


@pytest.mark.parametrize("platforms", ["gpu", (), ["cpu", "vulkan"]])
def test_unknown_platforms(platforms: Any) -> None:
    with pytest.raises(mh.ExportError, match=r"not known\. Give some of cpu, cuda, rocm, tpu"):
        program().export(platforms)


def test_a_program_of_another_library() -> None:
    with pytest.raises(mh.ExportError, match=r"compiled for numpy, which lowers to no StableHLO"):
        mh.compile(mh.hardmax(N("x", 3)), "numpy").export()


def test_names_that_are_no_strings() -> None:
    with pytest.raises(mh.ExportError, match=r"output's name is no string"):
        mh.compile({1: mh.hardmax(N("x", 3))}).export()


def test_a_platform_that_is_not_here() -> None:
    loaded = mh.load_exported(mh.compile(mh.hardmax(N("x", 3))).export("tpu"))

    assert loaded.platforms == ("tpu",)
    with pytest.raises(mh.ExportError, match=r"exported for platforms.*tpu.*used on.*cpu"):
        loaded(float32([1, 2, 3]))


WRONG_CALLS: dict[str, tuple[dict[str, Array], type[Exception], str]] = {
    "dtype": ({"y": np.ones((2, 1))}, mh.TypeInferenceError, r"y is float32, .* is float64"),
    "rank": ({"y": float32([1, 2])}, mh.ShapeError, r"y has rank 2, .* has rank 1"),
    "size": ({"y": float32([[1, 2], [3, 4]])}, mh.ShapeError, r"axis 1 of y is declared 1, .* 2"),
    "name": ({"y": float32([[1]])}, mh.ShapeError, r"dim batch size is 2 in .* x and 1 in .* y"),
    "zero": ({"z": np.ones((2, 0))}, mh.ShapeError, r"axis 1 of z is 0, .* stands for 1 or more"),
    "unknown": ({"w": float32([1])}, mh.BindingError, r"no input is named w"),
}


@pytest.mark.parametrize("case", WRONG_CALLS)
def test_promises_are_checked_when_it_is_called(data: bytes, case: str) -> None:
    wrong, kind, message = WRONG_CALLS[case]

    with pytest.raises(kind, match=message):
        mh.load_exported(data)(**arrays(2, 3) | wrong)


def test_missing_inputs_and_mixed_libraries(data: bytes) -> None:
    loaded = mh.load_exported(data)
    given = arrays(2, 3)

    with pytest.raises(mh.BindingError, match=r"inputs are missing: y: .*, z: "):
        loaded(given["x"])
    with pytest.raises(mh.TypeInferenceError, match=r"different libraries in one call: jax and n"):
        loaded(**given | {"x": LIBRARY.array(given["x"])})


BROKEN: dict[str, tuple[Callable[[bytes], Any], str]] = {
    "cut in the program": (lambda data: data[:-9], r"has \d+ of \d+ bytes"),
    "cut in the header": (lambda data: data[:100], r"cut off or damaged"),
    "cut after the format": (lambda data: data[:17], r"cut off or damaged"),
    "empty": (lambda data: b"", r"no exported program"),
    "one byte changed": (lambda data: data[:-1] + bytes([data[-1] ^ 1]), r"checksum differs"),
    "of a later format": (
        lambda data: data.replace(b"export 1", b"export 2", 1),
        r"format 2 .* reads format 1\. Load it with the version that wrote it",
    ),
    "something else": (lambda data: b"PK\x03\x04" + data, r"no exported program"),
    "text": (lambda data: "maxhard export 1", r"str is not bytes"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_bytes(data: bytes, case: str) -> None:
    damage, message = BROKEN[case]

    with pytest.raises(mh.ExportError, match=message):
        mh.load_exported(damage(data))


def test_a_payload_that_this_jax_cannot_read() -> None:
    from maxhard.artefact import pack

    header = {"inputs": [], "outputs": None, "platforms": ["cpu"]}

    with pytest.raises(mh.ExportError, match=r"JAX [\d.]+ cannot read this artefact"):
        mh.load_exported(pack(header, b"another serialisation" * 20))


def test_flatbuffers_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "flatbuffers"]:
        monkeypatch.delitem(sys.modules, name)
    for name in [name for name in sys.modules if "export.serialization" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "flatbuffers", None)

    with pytest.raises(mh.MissingBackendError, match=r"pip install 'maxhard\[export\]'"):
        mh.compile(mh.hardmax(N("x", 3))).export("cpu")
