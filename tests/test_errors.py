"""Bad input: the kind of each error, and what its text says (never its exact words)."""

import re
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import maxhard as mh
from libraries import Library

HERE = r"test_errors\.py:\d+"
F2, F3 = np.zeros(2, np.float32), np.zeros(3, np.float32)
I2 = np.zeros(2, np.int8)

Refusal = tuple[Callable[[], Any], type[mh.GraphError], type[Exception], tuple[str, ...]]


def x(dtype: Any = "float32", shape: Any = (2,), name: str = "x") -> mh.Input:
    return mh.Input(name, dtype, shape)


def y(dtype: Any = "float32", shape: Any = (2,)) -> mh.Input:
    return mh.Input("y", dtype, shape)


def typed(node: mh.Node) -> Any:
    return node.type


def check(refusal: Refusal) -> str:
    """The error's text, after checking its kinds and that it says each phrase (a pattern)."""
    act, ours, builtin, phrases = refusal
    with pytest.raises(ours) as caught:
        act()
    assert type(caught.value).__module__.startswith("maxhard")
    assert isinstance(caught.value, mh.GraphError)
    assert isinstance(caught.value, builtin)
    text = str(caught.value)
    missing = [phrase for phrase in phrases if not re.search(phrase, text)]
    assert not missing, f"{missing} not in:\n{text}"
    return text


def table(rows: dict[str, Refusal]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("refusal", rows.values(), ids=rows)


DTYPE, SHAPE, AXIS = mh.TypeInferenceError, mh.ShapeError, mh.AxisError

OPERANDS: dict[str, Refusal] = {
    "no operands": (lambda: mh.maximum(), DTYPE, TypeError, ("Max", "at least one", HERE)),
    "numbers only": (lambda: mh.maximum(1, 2.0), DTYPE, TypeError, ("array", "node", HERE)),
    "hardmax of a number": (lambda: mh.hardmax(1.0), DTYPE, TypeError, ("Hardmax", HERE)),
    "None": (lambda: mh.maximum(x(), None), DTYPE, TypeError, ("None", HERE)),
    "bool": (lambda: mh.maximum(x(), True), DTYPE, TypeError, ("bool", HERE)),
    "complex": (lambda: mh.maximum(x(), 1j), DTYPE, TypeError, ("complex", HERE)),
    "str": (lambda: mh.maximum(x(), "1"), DTYPE, TypeError, ("str", HERE)),
    "list": (lambda: mh.maximum(x(), [1, 2]), DTYPE, TypeError, ("list", "dtype", HERE)),
    "dict": (lambda: mh.maximum(x(), {}), DTYPE, TypeError, ("dict", HERE)),
    "list of nodes": (lambda: mh.maximum([x(), y()]), DTYPE, TypeError, ("list", HERE)),
    "bool at once": (lambda: mh.maximum(F2, True), DTYPE, TypeError, ("bool", HERE)),
    "list at once": (lambda: mh.maximum(F2, [1, 2]), DTYPE, TypeError, ("list", HERE)),
    "None at once": (lambda: mh.hardmax(None), DTYPE, TypeError, ("None", HERE)),
    "str at once": (lambda: mh.maximum("ab", F2), DTYPE, TypeError, ("str", HERE)),
}

DTYPES: dict[str, Refusal] = {
    "mixed": (
        lambda: typed(mh.maximum(x("float32"), y("float64"))), DTYPE, TypeError,
        ("Max-13", HERE, r"x: float32\[2\], made at .*" + HERE, r"y: float64\[2\]", "one dtype"),
    ),
    "mixed, third": (
        lambda: typed(mh.maximum(x(), x(), y("int8"))), DTYPE, TypeError,
        ("Max-13", "float32", "int8", r"y: int8\[2\]"),
    ),
    "mixed, 0-d": (
        lambda: typed(mh.maximum(x(), np.float64(1))), DTYPE, TypeError,
        ("Max-13", "float32", r"float64\[\]"),
    ),
    "mixed at once": (
        lambda: mh.maximum(F2, I2), DTYPE, TypeError,
        ("Max-13", HERE, r"float32\[2\]", r"int8\[2\]", "one dtype"),
    ),
    "mixed at once, 0-d": (
        lambda: mh.maximum(F2, np.array(1.0)), DTYPE, TypeError, ("Max-13", r"float64\[\]"),
    ),
    "hardmax of integers": (
        lambda: typed(mh.hardmax(x("int32"))), DTYPE, TypeError,
        ("Hardmax-13", HERE, r"x: int32\[2\]", "float32", "int32"),
    ),
    "hardmax of integers at once": (
        lambda: mh.hardmax(I2), DTYPE, TypeError, ("Hardmax-13", "int8", HERE),
    ),
    "bfloat16 in Max-12": (
        lambda: typed(mh.maximum(x("bfloat16"), opset=12)), DTYPE, TypeError,
        ("Max-12", "opset 12", "bfloat16", "newer opset|opset 13"),
    ),
    "integers in Max-8": (
        lambda: typed(mh.maximum(x("int8"), opset=11)), DTYPE, TypeError,
        ("Max-8", "opset 11", "int8", "newer opset|opset 12"),
    ),
    "bfloat16 in Hardmax-11": (
        lambda: typed(mh.hardmax(x("bfloat16"), 0, opset=12)), DTYPE, TypeError,
        ("Hardmax-11", "bfloat16", "newer opset|opset 13"),
    ),
    "int too large": (
        lambda: typed(mh.maximum(x("int8"), 128)), mh.RangeError, OverflowError,
        ("Max-13", HERE, "128", "int8", "range"),
    ),
    "int below 0": (
        lambda: typed(mh.maximum(x("uint64"), -1)), mh.RangeError, OverflowError, ("-1", "uint64"),
    ),
    "int beyond float": (
        lambda: typed(mh.maximum(x(), 10**39)), mh.RangeError, OverflowError, ("float32", "range"),
    ),
    "huge int": (
        lambda: typed(mh.maximum(x("float64"), 10**5000)), mh.RangeError, OverflowError,
        ("float64", "range"),
    ),
    "int too large at once": (
        lambda: mh.maximum(I2, -129), mh.RangeError, OverflowError, ("Max-13", HERE, "-129"),
    ),
    "constant too large": (
        lambda: mh.Constant(300, "uint8"), mh.RangeError, OverflowError, ("300", "uint8", HERE),
    ),
    "float for integers": (
        lambda: typed(mh.maximum(x("int32"), 1.5)), DTYPE, TypeError, ("Max-13", "1.5", "int32"),
    ),
    "whole float for integers": (
        lambda: typed(mh.maximum(x("int32"), 1.0)), DTYPE, TypeError, ("1.0", "int32"),
    ),
    "float for integers at once": (
        lambda: mh.maximum(I2, 0.5), DTYPE, TypeError, ("Max-13", "0.5", "int8"),
    ),
    "constant cast": (
        lambda: mh.Constant(F2, "float64"), DTYPE, TypeError, ("float32", "float64", HERE),
    ),
    "no dtype at all": (
        lambda: mh.compile(mh.Constant(1), "numpy")(), DTYPE, TypeError, ("dtype",),
    ),
    "name that is no name": (lambda: mh.Input(3), DTYPE, TypeError, ("3", "name")),  # type: ignore[arg-type]
    "empty name": (lambda: mh.Input(""), DTYPE, TypeError, ("name",)),
}  # fmt: skip

SHAPES: dict[str, Refusal] = {
    "do not broadcast": (
        lambda: typed(mh.maximum(x(shape=(4, 2)), y(shape=(4, 3)))), SHAPE, ValueError,
        ("Max-13", HERE, r"x: float32\[4, 2\], made at .*" + HERE, r"y: float32\[4, 3\]",
         "axis -1", "2 and 3"),
    ),
    "do not broadcast at once": (
        lambda: mh.maximum(F2, F3), SHAPE, ValueError,
        ("Max-13", HERE, r"float32\[2\]", r"float32\[3\]", "axis -1", "2 and 3"),
    ),
    "nothing and something": (
        lambda: mh.maximum(F2[:0], F3), SHAPE, ValueError, (r"\[0\]", r"\[3\]", "0 and 3"),
    ),
    "unequal in Max-6": (
        lambda: typed(mh.maximum(x(), y(shape=(1, 2)), opset=7)), SHAPE, ValueError,
        ("Max-6", "opset 7", "same shape", r"\[2\]", r"\[1, 2\]", "opset 8"),
    ),
    "unequal in Max-1 at once": (
        lambda: mh.maximum(F2, F3, opset=1), SHAPE, ValueError, ("Max-1 ", "same shape"),
    ),
    "unequal in Max-6 when run": (
        lambda: mh.compile(mh.maximum(x(shape=("N",)), y(shape=("M",)), opset=6))(F2[:1], F2),
        SHAPE, ValueError, ("Max-6", "same shape", r"\[1\]", r"\[2\]"),
    ),
    "derived promise broken": (
        lambda: mh.compile(mh.maximum(x(shape=("N",)), y(shape=(3,))))(F2, F3), SHAPE, ValueError,
        ("Max-13", "x", "y", "2 and 3"),
    ),
    "axis too large": (
        lambda: typed(mh.hardmax(x(), 1)), AXIS, IndexError,
        ("Hardmax-13", HERE, r"x: float32\[2\]", "axis 1", r"\[-1, 0\]", "rank 1"),
    ),
    "axis too small": (
        lambda: typed(mh.hardmax(x(), -2)), AXIS, ValueError, ("axis -2", r"\[-1, 0\]"),
    ),
    "axis too large at once": (
        lambda: mh.hardmax(F2, 3), AXIS, IndexError, ("Hardmax-13", HERE, "axis 3"),
    ),
    "axis too large when run": (
        lambda: mh.compile(mh.hardmax(x(shape=None), 3))(F2), AXIS, IndexError,
        ("Hardmax-13", "axis 3", r"\[-1, 0\]"),
    ),
    "old default on a vector": (
        lambda: typed(mh.hardmax(x(), opset=11)), AXIS, IndexError, ("Hardmax-11", "axis 1"),
    ),
    "rank 0": (
        lambda: typed(mh.hardmax(x(shape=()))), AXIS, IndexError, ("Hardmax-13", "rank"),
    ),
    "rank 0 at once": (
        lambda: mh.hardmax(np.float32(1)), AXIS, IndexError, ("Hardmax-13", "rank"),
    ),
    "bool axis": (lambda: mh.hardmax(x(), True), DTYPE, TypeError, ("axis", "True", "int", HERE)),
    "float axis": (lambda: mh.hardmax(x(), 0.0), DTYPE, TypeError, ("axis", "0.0", "int")),  # type: ignore[arg-type]
    "str axis": (lambda: mh.hardmax(F2, "0"), DTYPE, TypeError, ("axis", "'0'", "int")),  # type: ignore[arg-type]
    "bool axis at once": (lambda: mh.hardmax(F2, False), DTYPE, TypeError, ("axis", "False")),
}  # fmt: skip


def of_opset(act: Callable[[Any], Any], opset: Any) -> Refusal:
    phrases = ("opset", re.escape(repr(opset)), "1 to 28")
    return lambda: act(opset), mh.OpsetError, ValueError, phrases


OPSETS: dict[str, Refusal] = {
    f"{name} {opset!r}": of_opset(act, opset)
    for opset in (0, -1, 29, 13.0, "13", True, None)
    for name, act in {
        "Max": lambda opset: mh.maximum(x(), opset=opset),
        "Hardmax": lambda opset: mh.hardmax(x(), opset=opset),
        "Max at once": lambda opset: mh.maximum(F2, opset=opset),
        "Hardmax at once": lambda opset: mh.hardmax(F2, opset=opset),
    }.items()
}


def run(*arrays: Any, **by_name: Any) -> Callable[[], Any]:
    """A call of Max(x[N, 3], y[N, 1]), which is float32."""
    return lambda: mh.compile(mh.maximum(x(shape=("N", 3)), y(shape=("N", 1))))(*arrays, **by_name)


OK, ONE = np.zeros((2, 3), np.float32), np.zeros((2, 1), np.float32)

BINDING: dict[str, Refusal] = {
    "none passed": (run(), mh.BindingError, TypeError, ("x", "y", r"float32\[N, 3\]")),
    "one missing": (run(OK), mh.BindingError, TypeError, ("missing", "y")),
    "one missing by name": (run(y=ONE), mh.BindingError, TypeError, ("missing", "x")),
    "one too many": (run(OK, ONE, ONE), mh.BindingError, TypeError, ("3", "2", "x", "y")),
    "unknown name": (run(OK, ONE, z=ONE), mh.BindingError, TypeError, ("z", "x, y")),
    "unknown name, one missing": (run(OK, z=ONE), mh.BindingError, TypeError, ("z", "x, y")),
    "passed twice": (run(OK, ONE, x=OK), mh.BindingError, TypeError, ("x", "by position")),
    "wrong rank": (
        run(OK[0], ONE), SHAPE, ValueError, ("x", r"float32\[N, 3\]", HERE, "rank 2", "rank 1"),
    ),
    "wrong size": (
        run(OK, OK), SHAPE, ValueError, ("y", "axis 1", r"\b1\b", r"float32\[2, 3\]", HERE),
    ),
    "wrong dtype": (
        run(OK.astype("f8"), ONE), DTYPE, TypeError, ("x", "float32", "float64", HERE),
    ),
    "not an array": (run([[1, 2, 3]], ONE), DTYPE, TypeError, ("list",)),
    "a number": (run(1.0, ONE), DTYPE, TypeError, ("float",)),
    "a node": (run(x(), ONE), DTYPE, TypeError, ("Input",)),
    "one name, two sizes": (run(OK, ONE[:1]), SHAPE, ValueError, ("N", "x", "y", "2", "1")),
    "evaluate, missing": (
        lambda: mh.evaluate(mh.maximum(x(), y()), {"x": F2}), mh.BindingError, TypeError, ("y",),
    ),
    "evaluate, nothing": (lambda: mh.evaluate(x()), mh.BindingError, TypeError, ("x",)),
    "two inputs with one name": (
        lambda: mh.compile(mh.maximum(x(), x())), mh.BindingError, TypeError,
        ("'x'", rf"{HERE}.*{HERE}"),
    ),
    "an input left out": (
        lambda: mh.Graph(mh.maximum(x(), 1), [y()]), mh.BindingError, TypeError, ("x", "inputs"),
    ),
    "an input listed twice": (
        lambda: (lambda a: mh.Graph(a, [a, a]))(x()), mh.BindingError, TypeError, ("twice",),
    ),
    "no outputs": (lambda: mh.compile([]), mh.BindingError, TypeError, ("no outputs",)),
    "no outputs, mapping": (lambda: mh.Graph({}), mh.BindingError, TypeError, ("no outputs",)),
    "output that is an array": (lambda: mh.compile([x(), F2]), DTYPE, TypeError, ("ndarray",)),
    "outputs None": (lambda: mh.compile(None), DTYPE, TypeError, ("None",)),
    "nested outputs": (lambda: mh.compile([[x()]]), DTYPE, TypeError, ("list",)),
}  # fmt: skip


@table(OPERANDS)
def test_operands(refusal: Refusal) -> None:
    check(refusal)


@table(DTYPES)
def test_dtypes(refusal: Refusal) -> None:
    check(refusal)


@table(SHAPES)
def test_shapes_and_axes(refusal: Refusal) -> None:
    check(refusal)


@table(OPSETS)
def test_opsets(refusal: Refusal) -> None:
    check(refusal)


@table(BINDING)
def test_binding(refusal: Refusal) -> None:
    check(refusal)


STRANGE = {
    "bool": np.zeros(2, bool),
    "complex64": np.zeros(2, np.complex64),
    "complex128": np.zeros(2, complex),
    "object": np.array([1, None], object),
    "<U1": np.array(["a"]),
    "StringDType": np.array(["a"], np.dtypes.StringDType()),
    "bytes": np.array([b"a"]),
    "structured": np.zeros(2, [("a", "f4")]),
    "void": np.zeros(2, "V2"),
    "datetime64": np.zeros(2, "M8[s]"),
    "timedelta64": np.zeros(2, "m8[s]"),
    "longdouble": np.zeros(2, np.longdouble),
    "float8": np.zeros(2, ml_dtypes.float8_e4m3fn),
    "int4": np.zeros(2, ml_dtypes.int4),
    "masked array": np.ma.masked_array(F2, [True, False]),
    "masked constant": np.ma.masked,
    "matrix": np.zeros((2, 2), np.float32).view(np.matrix),
}


@pytest.mark.parametrize("array", STRANGE.values(), ids=STRANGE)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_arrays_of_another_kind(array: Any) -> None:
    """However they come in: as a constant, an operand, at once, or bound."""
    before = np.asarray(array).tobytes()
    for act in (
        lambda: mh.Constant(array),
        lambda: mh.maximum(x(shape=None), array),
        lambda: mh.maximum(array, array),
        lambda: mh.maximum(array),
        lambda: mh.maximum(array, 1),
        lambda: mh.hardmax(array),
        lambda: mh.compile(mh.maximum(mh.Input("x")))(array),
        lambda: mh.compile(mh.maximum(mh.Input("x")), "numpy")(array),
    ):
        with pytest.raises(mh.TypeInferenceError) as caught:
            act()
        assert isinstance(caught.value, TypeError)
        assert len(str(caught.value)) > 40
    assert np.asarray(array).tobytes() == before


def test_jax_keys_are_no_numbers() -> None:
    jax = pytest.importorskip("jax")

    with pytest.raises(mh.TypeInferenceError):
        mh.maximum(jax.random.key(0))


@pytest.mark.parametrize("other", ["jax.numpy", "array_api_strict"])
def test_mixed_libraries(other: str) -> None:
    xp = pytest.importorskip(other)
    theirs = xp.zeros(2, dtype=xp.float32)
    for act in (
        lambda: mh.maximum(F2, theirs),
        lambda: mh.maximum(theirs, F2),
        lambda: mh.compile(mh.maximum(x(), y()))(F2, theirs),
        lambda: mh.compile(mh.maximum(x(), y()), "numpy")(theirs, F2),
    ):
        check((act, mh.TypeInferenceError, TypeError, ("numpy", other[:3])))


def test_an_unknown_backend_lists_the_known() -> None:
    check(
        (
            lambda: mh.compile(x(), "tensorflow"), mh.BackendError, ValueError,
            ("tensorflow", "numpy", "jax", "torch", "dask", "cupy", "array-api-strict"),
        )
    )  # fmt: skip


@pytest.mark.parametrize("strange", [3, object(), np.zeros(2), Exception], ids=str)
def test_a_backend_that_is_no_namespace(strange: Any) -> None:
    check((lambda: mh.compile(x(), strange), mh.BackendError, ValueError, ("numpy", "jax")))


def test_a_backend_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("cupy", "array_api_compat.cupy"):
        monkeypatch.setitem(sys.modules, module, None)

    check(
        (
            lambda: mh.compile(x(), "cupy"), mh.MissingBackendError, ImportError,
            ("cupy", "pip install"),
        )
    )  # fmt: skip
    assert set(mh.backends()) >= {"numpy", "jax", "torch", "dask", "cupy", "array-api-strict"}


def test_a_dtype_that_the_backend_lacks() -> None:
    pytest.importorskip("array_api_strict")
    half = np.zeros(2, np.float16)

    check(
        (
            lambda: mh.compile(mh.maximum(mh.Input("x"), 1), "array-api-strict")(half),
            mh.BackendError, ValueError, ("array-api-strict", "float16"),
        )
    )  # fmt: skip


def test_the_order_of_the_text() -> None:
    """Operator and version, operands with type and line, what is wrong, what to do."""
    text = check((lambda: typed(mh.maximum(x(), y("int8"))), DTYPE, TypeError, ()))
    places = [
        re.search(pattern, text).start()  # type: ignore[union-attr]
        for pattern in ("Max-13", r"x: float32\[2\]", r"y: int8\[2\]", "one dtype", "Convert")
    ]

    assert places == sorted(places)


def test_many_operands_do_not_flood_the_text() -> None:
    inputs = [mh.Input(f"x{i}", "float32") for i in range(1000)]

    text = check((lambda: typed(mh.maximum(*inputs, y("int8"))), DTYPE, TypeError, ("y: int8",)))

    assert text.count("\n") < 20


def test_an_error_has_no_internal_cause(backend: Library) -> None:
    """Nothing of how it was found is shown above it."""
    with pytest.raises(mh.ShapeError) as caught:
        mh.maximum(backend.array(F2), backend.array(F3))

    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_errors_can_be_pickled() -> None:
    import pickle

    with pytest.raises(mh.ShapeError) as caught:
        mh.maximum(F2, F3)

    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is mh.ShapeError
    assert str(again) == str(caught.value)


def test_a_failed_call_leaves_arrays_alone() -> None:
    arrays = [np.arange(2, dtype=np.float32), np.arange(3, dtype=np.float32)]
    before = [array.copy() for array in arrays]

    with pytest.raises(mh.ShapeError):
        mh.maximum(*arrays)

    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old, strict=True)
