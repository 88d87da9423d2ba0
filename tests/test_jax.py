"""JAX: inside the caller's own jit, vmap and grad, with 64-bit types on and off."""

from typing import Any

import numpy as np
import pytest

import maxhard as mh
import oracle
from cases import DTYPES, FLOATS, assert_same, float32, patterns, samples, to_array
from libraries import Library

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

LIBRARY = Library("jax")


@pytest.fixture(params=[False, True], ids=["x64 off", "x64 on"])
def x64(request: pytest.FixtureRequest) -> Any:
    with jax.enable_x64(request.param):
        yield request.param


def compiles(caplog: pytest.LogCaptureFixture) -> int:
    """How many programs JAX has compiled since `caplog` was cleared."""
    return sum("Compiling" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("dtype", DTYPES)
def test_max_whatever_the_flag(x64: bool, dtype: str) -> None:
    operands = samples(dtype, ((3, 4), (4,)), "specials")
    expected = to_array(dtype, oracle.maximum(dtype, operands))
    arrays = [LIBRARY.array(to_array(dtype, bits)) for bits in operands]
    program = mh.compile(mh.maximum(mh.Input("x"), mh.Input("y")), "jax")

    assert_same(LIBRARY.numpy(program(*arrays)), expected)
    assert_same(LIBRARY.numpy(program(*(to_array(dtype, bits) for bits in operands))), expected)
    assert_same(LIBRARY.numpy(mh.maximum(*arrays)), expected)
    assert_same(LIBRARY.numpy(jax.jit(mh.maximum)(*arrays)), expected)
    assert jax.config.jax_enable_x64 is x64


@pytest.mark.parametrize("dtype", FLOATS)
def test_hardmax_whatever_the_flag(x64: bool, dtype: str) -> None:
    bits = patterns(dtype, (3, 4), "ties")
    expected = to_array(dtype, oracle.hardmax(dtype, bits))
    array = LIBRARY.array(to_array(dtype, bits))

    assert_same(LIBRARY.numpy(mh.compile(mh.hardmax(mh.Input("x")), "jax")(array)), expected)
    assert_same(LIBRARY.numpy(mh.hardmax(array)), expected)
    assert_same(LIBRARY.numpy(jax.jit(mh.hardmax)(array)), expected)
    assert jax.config.jax_enable_x64 is x64


@pytest.mark.parametrize("devices", [1, 8])
@pytest.mark.parametrize("dtype", FLOATS)
def test_hardmax_in_each_form(dtype: str, devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from maxhard.backends.jax import JaxBackend
    from maxhard.backends.jax_hardmax import LONG, SLICES

    monkeypatch.setattr(jax, "device_count", lambda: devices)
    backend = JaxBackend()  # a new one: compiled kernels are kept for each
    lengths = (1, LONG - 1, LONG, LONG + SLICES - 1, 300)
    cases = [
        *[((5, n), 1) for n in lengths],
        *[((n, 5), 0) for n in lengths],
        ((2, 70, 3), 1),
        ((2, 2**16 + 1), 1),
    ]
    for shape, axis in cases:
        for kind in ("random", "specials", "ties"):
            bits = patterns(dtype, shape, kind)

            actual = backend.hardmax(LIBRARY.array(to_array(dtype, bits)), axis, mh.DType(dtype))

            expected = to_array(dtype, oracle.hardmax(dtype, bits, axis))
            assert_same(LIBRARY.numpy(actual), expected, f"{kind} {shape} axis {axis}")


def test_the_flag_of_other_threads_is_untouched() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def work(_: int) -> bool:
        mh.maximum(jnp.zeros(3), jnp.ones(3))
        return bool(jax.config.jax_enable_x64) or jnp.arange(3).dtype != np.int32

    with ThreadPoolExecutor(4) as pool:
        assert not any(pool.map(work, range(16)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_subnormals_are_not_flushed_in_the_callers_jit(dtype: str) -> None:
    bits = np.array([0, 1, 2, 1], oracle.word(dtype))
    x = LIBRARY.array(to_array(dtype, bits))
    y = LIBRARY.array(to_array(dtype, bits[::-1]))

    top = jax.jit(lambda x, y: mh.maximum(x, y))(x, y)
    hot = jax.jit(lambda x: mh.hardmax(x))(x)

    assert_same(LIBRARY.numpy(top), to_array(dtype, np.array([1, 2, 2, 1])))
    assert_same(LIBRARY.numpy(hot), to_array(dtype, np.array([0, 0, oracle.one(dtype), 0])))


def test_constants_of_the_callers_jit() -> None:
    """XLA folds what it knows while compiling, by rules of its own."""
    x = jnp.float32([1e-45, -0.0, np.nan])

    result = jax.jit(lambda: mh.maximum(x, jnp.float32([0, 0, 1]), -1.0))()

    assert_same(LIBRARY.numpy(result), to_array("float32", np.array([1, 0, oracle.nan("float32")])))


@pytest.mark.parametrize("opset", [11, 13])
def test_vmap(opset: int) -> None:
    bits = patterns("float32", (5, 3, 4), "ties")
    batch = LIBRARY.array(to_array("float32", bits))

    top = jax.vmap(lambda x: mh.maximum(x, x[0], 0.0))(batch)
    hot = jax.vmap(lambda x: mh.hardmax(x, 0, opset=opset))(batch)
    both = jax.jit(jax.vmap(jax.vmap(mh.hardmax)))(batch)

    zero = np.zeros((), np.uint32)
    expected = [oracle.maximum("float32", [x, x[0], zero]) for x in bits]
    assert_same(LIBRARY.numpy(top), to_array("float32", np.stack(expected)))
    expected = [oracle.hardmax("float32", x, 0, opset) for x in bits]
    assert_same(LIBRARY.numpy(hot), to_array("float32", np.stack(expected)))
    assert_same(LIBRARY.numpy(both), to_array("float32", oracle.hardmax("float32", bits)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_grad_of_max_goes_to_the_larger(dtype: str) -> None:
    x, y = jnp.array([1, 5, -3], dtype), jnp.array([2, 4, -9], dtype)
    weights = jnp.array([10, 20, 40], dtype)

    def loss(x: Any, y: Any) -> Any:
        return (mh.maximum(x, y, -8.0) * weights).sum()

    for grad in (jax.grad(loss, (0, 1)), jax.jit(jax.grad(loss, (0, 1)))):
        to_x, to_y = grad(x, y)
        assert to_x.dtype == to_y.dtype == dtype
        assert to_x.tolist() == [0, 20, 40]
        assert to_y.tolist() == [10, 0, 0]


def test_grad_of_a_tie_adds_up_to_one() -> None:
    to_x, to_y = jax.grad(lambda x, y: mh.maximum(x, y).sum(), (0, 1))(jnp.ones(3), jnp.ones(3))

    assert (to_x + to_y).tolist() == [1, 1, 1]


def test_grad_through_broadcasting() -> None:
    x, y = jnp.array([[1.0, 5.0], [7.0, 0.0]]), jnp.array([2.0, 4.0])

    to_y = jax.grad(lambda y: mh.maximum(x, y).sum())(y)

    assert to_y.tolist() == [1, 1]


def test_grad_of_64_bits(x64: bool) -> None:
    x = LIBRARY.array(np.array([1.0, 5.0]))

    to_x = jax.grad(lambda x: mh.maximum(x, 2.0)[1])(x)

    assert to_x.dtype == np.float64
    assert to_x.tolist() == [0, 1]


def test_grad_of_hardmax_is_zero() -> None:
    assert jax.grad(lambda x: (mh.hardmax(x) * x).sum())(jnp.array([1.0, 3.0])).tolist() == [0, 1]
    assert jax.grad(lambda x: mh.hardmax(x)[0])(jnp.array([1.0, 3.0])).tolist() == [0, 0]


def test_second_derivatives() -> None:
    hessian = jax.hessian(lambda x: (mh.maximum(x, 0.0) ** 2).sum())(jnp.array([1.0, -1.0]))

    assert hessian.tolist() == [[2, 0], [0, 0]]


def test_programs_in_the_callers_jit() -> None:
    program = mh.compile(mh.hardmax(mh.maximum(mh.Input("x", None, ("N", 3)), 0)))
    x = float32([[1, 2, 2], [-1, -1, -1]])

    result = jax.jit(program)(jnp.asarray(x))

    assert_same(LIBRARY.numpy(result), float32([[0, 1, 0], [1, 0, 0]]))


def test_scan() -> None:
    _, result = jax.lax.scan(
        lambda best, x: (mh.maximum(best, x),) * 2, jnp.float32(-np.inf), jnp.float32([1, 3, 2])
    )

    assert result.tolist() == [1, 3, 3]


def test_errors_in_the_callers_jit() -> None:
    with pytest.raises(mh.ShapeError, match=r"float32\[2\].*\n.*float32\[3\]"):
        jax.jit(mh.maximum)(jnp.zeros(2), jnp.zeros(3))


def test_a_second_call_compiles_nothing(caplog: pytest.LogCaptureFixture) -> None:
    program = mh.compile(mh.hardmax(mh.maximum(mh.Input("x"), mh.Input("y"))), "jax")
    x, y = jnp.float32([[1, 2], [3, 0]]), jnp.float32([2, 1])
    with jax.log_compiles(True):
        program(x, y)
        assert compiles(caplog) >= 1
        caplog.clear()

        program(x + 1, y)
        program(y=y, x=x)

        assert compiles(caplog) <= 1  # x + 1 itself
        caplog.clear()
        mh.maximum(x, y)
        mh.hardmax(x)
        caplog.clear()

        mh.maximum(x, y)
        mh.hardmax(x)

        assert compiles(caplog) == 0


def test_one_graph_is_one_program(caplog: pytest.LogCaptureFixture) -> None:
    node = x = mh.Input("x")
    for axis in (0, 1, 0, 1):
        node = mh.maximum(mh.hardmax(node, axis), x)
    arrays = jnp.ones((3, 4))
    with jax.log_compiles(True):
        caplog.clear()
        mh.compile(node, "jax")(arrays)

        assert compiles(caplog) == 1


def test_results_are_no_weak_types() -> None:
    weak = jnp.asarray(1.0)

    assert mh.maximum(weak, jnp.float32(2)).dtype == np.float32


def program() -> mh.Program:
    return mh.compile(mh.hardmax(mh.maximum(mh.maximum(mh.Input("x"), 0.0), mh.Input("y"))))


ROW = float32([1, 3, 3])


def in_cond(x: Any, y: Any) -> Any:
    return jax.lax.cond(x[0] > 0, program(), lambda x, y: mh.hardmax(y), x, y)


def in_scan(x: Any, y: Any) -> Any:
    run = program()
    return jax.lax.scan(lambda carry, x: (carry, run(x, carry)), y, jnp.stack([x, x]))[1][1]


def in_while(x: Any, y: Any) -> Any:
    run = program()
    return jax.lax.fori_loop(0, 2, lambda _, result: run(x, y + 0 * result), jnp.zeros(3))


@pytest.mark.parametrize("place", [in_cond, in_scan, in_while])
@pytest.mark.parametrize("jit", [False, True])
def test_control_flow(place: Any, jit: bool) -> None:
    x, y = jnp.asarray(ROW), jnp.zeros(3, "float32")

    result = (jax.jit(place) if jit else place)(x, y)
    gradient = jax.grad(lambda x: mh.maximum(x, place(x, y)).sum())(x) if not jit else None

    assert_same(LIBRARY.numpy(result), float32([0, 1, 0]))
    if place is not in_while and gradient is not None:
        assert gradient.tolist() == [1, 1, 1]


def test_strict_promotion_and_nan_checks() -> None:
    x, y = jnp.asarray(ROW), jnp.float32([3, np.nan, 1])
    with jax.numpy_dtype_promotion("strict"), jax.debug_nans(True):
        for dtype in FLOATS[:3]:
            mh.maximum(x.astype(dtype), 2, x.astype(dtype))
            jax.grad(lambda x: mh.hardmax(x, surrogate="softmax")[0])(x.astype(dtype))
        assert mh.hardmax(y).tolist() == [0, 1, 0]  # its result is no NaN
        with pytest.raises(FloatingPointError):
            mh.maximum(x, y)
        with pytest.raises(TypeError, match="nothing is promoted"):
            mh.maximum(x, x.astype("float16"))


@pytest.mark.parametrize("value", [1, 1.5])
def test_weak_types_end_here(value: Any) -> None:
    weak = jnp.asarray(value)
    assert weak.weak_type

    for result in (
        mh.maximum(weak),
        mh.maximum(weak, weak),
        mh.compile(mh.maximum(mh.Input("x"), 1))(weak),
    ):
        assert not result.weak_type
        assert result.dtype == weak.dtype


def test_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    run = program()

    def work(i: int) -> Any:
        bits = patterns("float64" if i % 2 else "bfloat16", (4, 5), "ties", i)
        x = LIBRARY.array(to_array("float64" if i % 2 else "bfloat16", bits))
        return LIBRARY.numpy(run(x, x))

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(32)))

    for i, result in enumerate(results):
        assert_same(result, work(i))


def test_a_donated_array_is_gone() -> None:
    run = mh.compile(mh.maximum(mh.Input("x"), mh.Input("y")), "jax", donate="x")
    x, y = jnp.ones(3), jnp.zeros(3)

    assert run(x, y).tolist() == [1, 1, 1]

    assert x.is_deleted()
    assert not y.is_deleted()
    with pytest.raises(mh.BackendError, match=r"^x: this array is gone, donated .* Pass a copy"):
        run(x, y)
    with pytest.raises(mh.BackendError, match=r"^Max-13.*(\n.*)*operand 1: this array is gone"):
        mh.maximum(y, x)


def test_arrays_of_the_host_are_never_donated() -> None:
    x = float32([1, 2, 3])
    run = mh.compile(mh.maximum(mh.Input("x"), 2.0), "jax", donate=["x"])

    result = run(x)
    x[:] = 9

    assert result.tolist() == [2, 2, 3]
    assert run(x).tolist() == [9, 9, 9]


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "message"),
    [
        (("numpy",), {"device": "cpu"}, mh.BackendError, r"numpy takes no device.*options of jax"),
        ((), {"donate": "x"}, mh.BackendError, r"options of one backend, and none is named"),
        (("jax",), {"device": "cpu"}, mh.BackendError, r"'cpu' is no device\. Give a jax.Device"),
        (("jax",), {"donate": "z"}, mh.BindingError, r"no input is named z\. The inputs are: x"),
    ],
)
def test_options_that_make_no_sense(arguments: Any, options: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        mh.compile(mh.hardmax(mh.Input("x")), *arguments, **options)
