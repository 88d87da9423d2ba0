"""Gradients, as `docs/gradients.md` writes them down; on JAX, first and second order."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import maxhard as mh
import oracle
from cases import FLOATS, Array, assert_same, float32, numpy_dtype, patterns, to_array
from libraries import Library

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

LIBRARY = Library("jax")
NAN, INF = np.nan, np.inf
SURROGATES: list[Any] = [None, "identity", "softmax"]

# The operands of one element, and the share that each of them gets: the table of the docs.
SHARES = {
    "the larger": ((1, 2, -3), (0, 1, 0)),
    "two tie": ((5, 5, 1), (1 / 2, 1 / 2, 0)),
    "three tie": ((5, 5, 5), (1 / 3, 1 / 3, 1 / 3)),
    "+0 is above -0": ((0.0, -0.0, -1), (1, 0, 0)),
    "two +0 tie": ((0.0, -0.0, 0.0), (1 / 2, 0, 1 / 2)),
    "only -0": ((-0.0, -0.0, -1), (1 / 2, 1 / 2, 0)),
    "a NaN takes all": ((NAN, INF, 3), (1, 0, 0)),
    "NaNs tie, whatever their bits": ((NAN, 1, -NAN), (1 / 2, 0, 1 / 2)),
    "infinities tie": ((INF, INF, 1), (1 / 2, 1 / 2, 0)),
    "only -inf": ((-INF, -INF, -INF), (1 / 3, 1 / 3, 1 / 3)),
    "subnormals are no zeros": ((1e-45, 0.0, 1e-45), (1 / 2, 0, 1 / 2)),
}


def gradients(function: Callable[..., Any], *arrays: Any) -> list[Array]:
    """Of the sum of the one element of the result, by each operand."""
    numbers = tuple(range(len(arrays)))
    result = jax.grad(lambda *arrays: function(*arrays)[0], numbers)(*arrays)
    return [LIBRARY.numpy(x) for x in result]


def ways() -> dict[str, Callable[..., Any]]:
    """Every way to Max of three operands."""
    program = mh.compile(mh.maximum(*[mh.Input(name) for name in "xyz"]))
    return {
        "eager": mh.maximum,
        "program": program,
        "eager in jit": jax.jit(mh.maximum),
        "program in jit": jax.jit(program),
        "checkpoint": jax.checkpoint(mh.maximum),
    }


@pytest.mark.parametrize("way", ways())
def test_shares_of_max(way: str) -> None:
    operands, shares = (float32(table).T for table in zip(*SHARES.values(), strict=True))

    _, pull = jax.vjp(ways()[way], *map(jnp.asarray, operands))
    found = pull(jnp.ones(len(SHARES)))

    for actual, expected in zip(found, shares, strict=True):
        assert_same(LIBRARY.numpy(actual), np.ascontiguousarray(expected), f"{[*SHARES]}")


@pytest.mark.parametrize("dtype", FLOATS)
def test_shares_are_rounded_once(dtype: str) -> None:
    operands = [LIBRARY.array(np.ones(1, numpy_dtype(dtype))) for _ in range(3)]

    for actual in gradients(mh.maximum, *operands):
        assert_same(actual, np.array([1 / 3], numpy_dtype(dtype)))


def test_more_ties_than_bfloat16_counts() -> None:
    operands = [jnp.ones(1, "bfloat16")] * 300

    (share, *_) = gradients(mh.maximum, *operands)

    assert_same(share, np.array([1 / 300], numpy_dtype("bfloat16")))


def test_the_derivative_of_many_operands_stays_small() -> None:
    def size(count: int) -> int:
        gradient = jax.jit(jax.grad(lambda operands: mh.maximum(*operands).sum()))
        return len(gradient.lower([jnp.ones(3)] * count).compile().as_text())

    assert size(96) < 3 * size(48)  # it grew with the square, up to a minute of compilation


def test_the_shares_of_every_element_add_up_to_one() -> None:
    bits = [patterns("float32", (4, 5), kind) for kind in ("ties", "specials")]
    arrays = [LIBRARY.array(to_array("float32", x)) for x in (*bits, bits[0])]

    _, to_operands = jax.vjp(mh.maximum, *arrays)
    shares = to_operands(jnp.ones((4, 5)))

    total = np.sum([LIBRARY.numpy(share) for share in shares], axis=0)
    assert set(total.ravel().tolist()) == {1.0}


def test_forward_mode_is_the_transpose_of_reverse_mode() -> None:
    arrays = [
        LIBRARY.array(to_array("float32", patterns("float32", (3,), "ties", i))) for i in (0, 1)
    ]

    forward = jax.jacfwd(mh.maximum, (0, 1))(*arrays)
    backward = jax.jacrev(mh.maximum, (0, 1))(*arrays)

    for one, other in zip(forward, backward, strict=True):
        assert_same(LIBRARY.numpy(one), LIBRARY.numpy(other))


def test_a_broadcast_operand_gets_the_sum() -> None:
    x, y = jnp.float32([[1, 5, 2], [2, 2, 9]]), jnp.float32([[2], [2]])

    to_y = jax.grad(lambda y: mh.maximum(x, y).sum())(y)

    assert_same(LIBRARY.numpy(to_y), float32([[1 + 0 + 1 / 2], [1 / 2 + 1 / 2 + 0]]))


def test_an_operand_given_twice_counts_twice() -> None:
    x, y = jnp.float32([1]), jnp.float32([1])
    node = mh.Input("x")
    program = mh.compile(mh.maximum(node, node, mh.Input("y")))

    for function in (lambda x, y: mh.maximum(x, x, y), program):
        to_x, to_y = gradients(function, x, y)
        assert_same(to_x, float32([1 / 3 + 1 / 3]))
        assert_same(to_y, float32([1 / 3]))


def test_constants_take_their_share() -> None:
    x = jnp.zeros(1)

    assert_same(gradients(lambda x: mh.maximum(x, 0.0), x)[0], float32([1 / 2]))
    program = mh.compile(mh.maximum(mh.maximum(mh.Input("x"), 0), mh.Constant([0.0], "float32")))
    assert_same(gradients(program, x)[0], float32([1 / 4]))


def test_one_operand_passes_the_gradient_on() -> None:
    (gradient,) = gradients(mh.maximum, jnp.float32([NAN]))

    assert_same(gradient, float32([1]))


NESTED = {
    "left": ((lambda x, y, z: mh.maximum(mh.maximum(x, y), z)), (1 / 4, 1 / 4, 1 / 2)),
    "right": ((lambda x, y, z: mh.maximum(x, mh.maximum(y, z))), (1 / 2, 1 / 4, 1 / 4)),
    "flat": ((lambda x, y, z: mh.maximum(x, y, z)), (1 / 3, 1 / 3, 1 / 3)),
    "duplicate": ((lambda x, y, z: mh.maximum(x, x, y, z)), (2 / 4, 1 / 4, 1 / 4)),
}


@pytest.mark.parametrize("case", NESTED)
def test_the_shares_are_those_of_the_graph_as_written(case: str) -> None:
    """Eager and compiled agree; `Graph.simplify`, which is asked for, gives each operand 1/3."""
    function, shares = NESTED[case]
    ones = [jnp.ones(1)] * 3
    graph = mh.Graph(function(*[mh.Input(name) for name in "xyz"]))
    written = {"eager": function, "program": mh.compile(graph), "jit": jax.jit(mh.compile(graph))}

    for label, way in written.items():
        for actual, share in zip(gradients(way, *ones), shares, strict=True):
            assert_same(actual, float32([share]), label)

    for actual in gradients(mh.compile(graph.simplify()), *ones):
        assert_same(actual, float32([1 / 3]), "simplified")


def test_an_output_more_changes_no_gradient() -> None:
    x, y, z = (mh.Input(name) for name in "xyz")
    inner = mh.maximum(x, y)
    program = mh.compile([mh.maximum(inner, z), inner])

    found = gradients(lambda *arrays: program(*arrays)[0], *[jnp.ones(1)] * 3)

    assert [x.tolist() for x in found] == [[0.25], [0.25], [0.5]]


def test_integers_beside_floats() -> None:
    graph = mh.Graph([mh.maximum(mh.maximum(mh.Input("i"), 1), 2), mh.maximum(mh.Input("x"), 0.0)])
    program = mh.compile(graph)
    i = jnp.arange(3)

    gradient = jax.grad(lambda x: program(i, x)[1].sum() * program(i, x)[0][2])(jnp.ones(3))

    assert_same(LIBRARY.numpy(gradient), float32([2, 2, 2]))


def test_second_derivatives_of_max_are_zero() -> None:
    x = jnp.float32([1, 0, -1])

    hessian = jax.hessian(lambda x: mh.maximum(x, 0.0, -x).sum())(x)
    square = jax.hessian(lambda x: (mh.maximum(x, 0.0) ** 2).sum())(x)

    assert not hessian.any()
    assert square.tolist() == [[2, 0, 0], [0, 0.5, 0], [0, 0, 0]]  # 2 * share ** 2


def softmax(x: Array, axis: int = -1) -> Array:
    """In float64, written out."""
    weights = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True).astype(np.float64))
    return np.asarray(weights / weights.sum(axis, keepdims=True))


def softmax_gradient(x: Array, weights: Array, axis: int = -1) -> Array:
    """Of `sum(weights * softmax(x))`, written out."""
    soft = softmax(x, axis)
    return np.asarray(soft * (weights - (soft * weights).sum(axis, keepdims=True)))


X = float32([[1, 2, 2, -0.5], [0, 0, 3, 1]])
WEIGHTS = float32([[1, -2, 3, 0.5], [2, 7, 1, -1]])


def loss(surrogate: Any, axis: int = -1, opset: int = 13) -> Callable[..., Any]:
    def loss_of(x: Any) -> Any:
        hot = mh.hardmax(x, axis, opset=opset, surrogate=surrogate)
        return (hot * WEIGHTS.astype(x.dtype)).sum()

    return loss_of


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_forward_bytes_are_unchanged(surrogate: Any, dtype: str) -> None:
    bits = patterns(dtype, (5, 6), "specials")
    x = LIBRARY.array(to_array(dtype, bits))
    expected = to_array(dtype, oracle.hardmax(dtype, bits))
    program = mh.compile(mh.hardmax(mh.Input("x"), surrogate=surrogate))

    with jax.enable_x64(True):
        value, _ = jax.jvp(program, (x,), (x,))

    assert_same(LIBRARY.numpy(value), expected)
    assert_same(LIBRARY.numpy(mh.hardmax(x, surrogate=surrogate)), expected)
    assert_same(LIBRARY.numpy(program(x)), expected)


def test_surrogates_change_no_byte_elsewhere(backend: Library) -> None:
    x = backend.array(X)
    expected = to_array("float32", oracle.hardmax("float32", X.view(np.uint32)))

    for surrogate in SURROGATES:
        assert_same(backend.numpy(mh.hardmax(x, surrogate=surrogate)), expected)
        node = mh.hardmax(mh.Input("x"), surrogate=surrogate)
        assert_same(backend.numpy(mh.compile(node)(x)), expected)


@pytest.mark.parametrize("axis", [0, 1])
def test_gradients_of_hardmax(axis: int) -> None:
    x = jnp.asarray(X)

    none, identity, soft = (jax.grad(loss(surrogate, axis))(x) for surrogate in SURROGATES)

    assert_same(LIBRARY.numpy(none), np.zeros_like(X))
    assert_same(LIBRARY.numpy(identity), WEIGHTS)
    np.testing.assert_allclose(soft, softmax_gradient(X, WEIGHTS, axis), rtol=1e-5, atol=1e-7)


def test_the_softmax_gradient_is_that_of_finite_differences() -> None:
    x, step = X.astype(np.float64), 1e-6
    with jax.enable_x64(True):
        gradient = np.asarray(jax.grad(loss("softmax"))(jnp.asarray(x)))

    for place in product(*map(range, x.shape)):
        moved = [x.copy() for _ in range(2)]
        moved[0][place] += step
        moved[1][place] -= step
        up, down = ((softmax(each) * WEIGHTS).sum() for each in moved)
        assert abs(gradient[place] - (up - down) / (2 * step)) < 1e-8


def test_second_derivatives_of_surrogates() -> None:
    x = X[0].astype(np.float64)
    weights = WEIGHTS[0].astype(np.float64)

    def row_loss(surrogate: Any) -> Callable[..., Any]:
        return lambda x: (mh.hardmax(x, surrogate=surrogate) * weights).sum()

    with jax.enable_x64(True):
        none, identity, soft = (
            np.asarray(jax.hessian(row_loss(surrogate))(jnp.asarray(x))) for surrogate in SURROGATES
        )

    assert not none.any()
    assert not identity.any()
    s, mean = softmax(x), (softmax(x) * weights).sum()
    expected = np.diag(s * (weights - mean)) - np.outer(s, s) * (
        weights[:, None] + weights[None, :] - 2 * mean
    )
    np.testing.assert_allclose(soft, expected, rtol=1e-12, atol=1e-15)


def test_surrogates_under_vmap_and_jit() -> None:
    x = jnp.asarray(X)
    weights = jnp.asarray(WEIGHTS)

    def row_loss(x: Any, w: Any) -> Any:
        return (mh.hardmax(x, surrogate="softmax") * w).sum()

    whole = jax.grad(loss("softmax"))(x)

    for way in (jax.vmap(jax.grad(row_loss)), jax.jit(jax.vmap(jax.grad(row_loss)))):
        np.testing.assert_allclose(way(x, weights), whole, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(jax.jit(jax.grad(loss("softmax")))(x), whole, rtol=1e-5, atol=1e-7)


def test_the_old_hardmax_takes_the_softmax_of_its_rows() -> None:
    x, weights = X.reshape(2, 2, 2), WEIGHTS.reshape(2, 2, 2)

    gradient = jax.grad(
        lambda x: (mh.hardmax(x, 1, opset=11, surrogate="softmax") * weights).sum()
    )(jnp.asarray(x))

    expected = softmax_gradient(X, WEIGHTS).reshape(2, 2, 2)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_16_bits_go_by_way_of_float32(dtype: str) -> None:
    """The softmax of 1,000 equal logits, summed in 16 bits, would not be 1/1000 each."""
    x = jnp.zeros(1000, dtype)

    gradient = jax.grad(lambda x: mh.hardmax(x, surrogate="softmax")[0])(x)

    assert gradient.dtype == dtype
    assert gradient[1] == jnp.asarray(-1e-6, dtype)


def test_where_softmax_has_no_value_the_gradient_is_nan() -> None:
    rows = jnp.float32([[1, NAN], [INF, 1], [-INF, -INF], [-INF, 1]])

    gradient = np.asarray(jax.grad(lambda x: mh.hardmax(x, surrogate="softmax")[:, 0].sum())(rows))

    assert np.isnan(gradient).all(axis=1).tolist() == [True, True, True, False]
    assert gradient[3].tolist() == [0, 0]


def test_slices_without_elements() -> None:
    for surrogate, shape in product(SURROGATES, [(0, 3), (3, 0)]):
        gradient = jax.grad(lambda x, s=surrogate: mh.hardmax(x, surrogate=s).sum())(
            jnp.zeros(shape)
        )
        assert gradient.shape == shape


@pytest.mark.parametrize("inner", SURROGATES)
@pytest.mark.parametrize("outer", SURROGATES)
def test_simplifying_hardmax_of_hardmax_changes_no_gradient(outer: Any, inner: Any) -> None:
    graph = mh.Graph(mh.hardmax(mh.hardmax(mh.Input("x"), surrogate=inner), surrogate=outer))

    def eager(x: Any) -> Any:
        return mh.hardmax(mh.hardmax(x, surrogate=inner), surrogate=outer)

    expected = jax.grad(lambda x: (eager(x) * WEIGHTS).sum())(jnp.asarray(X))
    for program in (mh.compile(graph), mh.compile(graph.simplify())):
        gradient = jax.grad(lambda x, p=program: (p(x) * WEIGHTS).sum())(jnp.asarray(X))
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)
    kept = 2 if outer == "softmax" and inner else 1
    assert len(graph.simplify().nodes) == 1 + kept


def test_equal_nodes_of_other_surrogates_stay_apart() -> None:
    x = mh.Input("x")
    graph = mh.Graph([mh.hardmax(x, surrogate=surrogate) for surrogate in SURROGATES]).simplify()

    assert len(graph.nodes) == 4
    assert [node.surrogate for node in graph.outputs] == SURROGATES


def test_a_surrogate_survives_pickling_and_shows() -> None:
    import pickle

    node = mh.hardmax(mh.Input("x", "float32", (3,)), surrogate="softmax")

    assert pickle.loads(pickle.dumps(node)).surrogate == "softmax"
    assert repr(node) == "<Hardmax-13 axis=-1 surrogate=softmax: float32[3]>"
    assert "axis=-1 surrogate=softmax)" in str(mh.Graph(node))


@pytest.mark.parametrize("surrogate", ["Softmax", "", 1, True, ["softmax"], np.zeros(2)])
def test_unknown_surrogates(surrogate: Any) -> None:
    message = r"Hardmax-13.*(\n.*)*surrogate .* is not known\. Give 'softmax' or 'identity'"
    for x in (mh.Input("x"), X):
        with pytest.raises(mh.SurrogateError, match=message):
            mh.hardmax(x, surrogate=surrogate)


def test_derivatives_traced_after_the_call() -> None:
    """The caller's jit is traced first, with 64-bit types off; its derivative afterwards."""
    with jax.enable_x64(True):
        x = jnp.ones(3, "float64")
    program = mh.compile(mh.maximum(mh.maximum(mh.Input("x"), mh.Input("y")), 1))
    functions = [
        lambda x: mh.maximum(x, 1.0)[0],
        lambda x: program(x, x)[0],
        lambda x: mh.hardmax(x, surrogate="softmax")[0],
    ]

    for function, expected in zip(functions, [1 / 2, 1 / 2, 1 / 3 - 1 / 9], strict=True):
        gradient = jax.grad(jax.jit(function))(x)
        assert gradient.dtype == np.float64
        assert abs(float(gradient[0]) - expected) < 1e-15
        assert jax.grad(lambda x, f=function: jax.grad(jax.jit(f))(x)[0])(x).dtype == np.float64
