"""Tests over eight devices of the host; `test_sharding.py` runs them in a process of their own."""

import re
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

import maxhard as mh
import oracle
from cases import Array, assert_same, float32, patterns, to_array
from libraries import Library

LIBRARY = Library("jax")
SHAPE = (16, 24)
SPECS = {
    "rows": P("a", None),
    "columns": P(None, "a"),
    "both": P("a", "b"),
    "columns over all": P(None, ("a", "b")),
}
COLLECTIVE = re.compile(
    r"= \(?(\w+)\[([\d,]*)\].* "
    r"(all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)(?:-start)?\("
)


@pytest.fixture(params=[AxisType.Auto, AxisType.Explicit], ids=lambda kind: kind.name)
def mesh(request: pytest.FixtureRequest) -> Mesh:
    return jax.make_mesh((4, 2), ("a", "b"), axis_types=(request.param,) * 2)


@pytest.fixture(params=SPECS)
def spec(request: pytest.FixtureRequest) -> P:
    return SPECS[request.param]


def put(array: Array, mesh: Mesh, spec: P) -> Any:
    with jax.enable_x64(True):
        return jax.device_put(array, NamedSharding(mesh, spec))


def collectives(function: Any, *arrays: Any) -> list[tuple[str, int]]:
    """Kind and number of elements of every communication in the compiled program."""
    text = jax.jit(function).lower(*arrays).compile().as_text()
    assert "partitions=8" in text.replace("num_partitions=8", "partitions=8")
    return [
        (kind, int(np.prod([int(size) for size in shape.split(",") if size])))
        for _, shape, kind in COLLECTIVE.findall(text)
    ]


def test_there_are_eight_devices() -> None:
    assert jax.device_count() == 8


def test_a_gather_would_be_seen(mesh: Mesh) -> None:
    x = put(np.ones(SHAPE, np.float32), mesh, P("a", None))
    everywhere = NamedSharding(mesh, P(None, None))

    found = collectives(
        lambda x: (
            jax.jit(lambda x: x + 1, out_shardings=everywhere)(x)
            if mesh.axis_types[0] is AxisType.Auto
            else jax.sharding.reshard(x, everywhere) + 1
        ),
        x,
    )

    assert ("all-gather", np.prod(SHAPE)) in found


@pytest.mark.parametrize("dtype", ["bfloat16", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_hardmax(mesh: Mesh, spec: P, axis: int, dtype: str) -> None:
    bits = patterns(dtype, SHAPE, "ties")
    x = put(to_array(dtype, bits), mesh, spec)
    hardmax = partial(mh.hardmax, axis=axis)

    result = hardmax(x)
    found = collectives(hardmax, x)

    assert_same(LIBRARY.numpy(result), to_array(dtype, oracle.hardmax(dtype, bits, axis)))
    assert result.sharding.is_equivalent_to(x.sharding, 2)
    if spec[axis] is None:
        assert not found
    else:
        assert found
        slices = SHAPE[1 - axis]
        assert all(kind == "all-reduce" and size <= slices for kind, size in found)


def test_max(mesh: Mesh, spec: P) -> None:
    bits = [patterns("float32", SHAPE, kind) for kind in ("ties", "specials", "random")]
    arrays = [put(to_array("float32", x), mesh, spec) for x in bits]

    result = mh.maximum(*arrays, -1.0)

    minus_one = np.float32(-1).view(np.uint32)
    expected = oracle.maximum("float32", [*bits, minus_one])
    assert_same(LIBRARY.numpy(result), to_array("float32", expected))
    assert result.sharding.is_equivalent_to(arrays[0].sharding, 2)
    assert not collectives(lambda *arrays: mh.maximum(*arrays, -1.0), *arrays)


def test_max_of_many(mesh: Mesh) -> None:
    x = put(np.ones(SHAPE, np.float32), mesh, P("a", "b"))

    result = mh.maximum(*[x] * 40)

    assert result.sharding.is_equivalent_to(x.sharding, 2)
    assert not collectives(lambda x: mh.maximum(*[x] * 40), x)


def test_programs(mesh: Mesh, spec: P) -> None:
    inputs = [mh.Input(name, None, SHAPE) for name in ("x", "y")]
    program = mh.compile(mh.hardmax(mh.maximum(*inputs, 0.0), 1))
    bits = [patterns("float32", SHAPE, kind) for kind in ("ties", "sparse NaN")]
    x, y = (put(to_array("float32", each), mesh, spec) for each in bits)

    result = program(x, y)

    top = oracle.maximum("float32", [*bits, np.uint32(0)])
    assert_same(LIBRARY.numpy(result), to_array("float32", oracle.hardmax("float32", top, 1)))
    assert result.sharding.is_equivalent_to(x.sharding, 2)


@pytest.mark.parametrize("spec", [P("a"), P(None, "a"), P(None, None, "a"), P("b", None, "a")])
def test_the_old_hardmax_of_rows(mesh: Mesh, spec: P) -> None:
    bits = patterns("float32", (4, 8, 12), "ties")
    x = put(to_array("float32", bits), mesh, spec)
    hardmax = partial(mh.hardmax, axis=1, opset=11)

    result = hardmax(x)

    assert_same(LIBRARY.numpy(result), to_array("float32", oracle.hardmax("float32", bits, 1, 11)))
    assert result.sharding.is_equivalent_to(x.sharding, 3)
    found = collectives(hardmax, x)
    assert bool(found) == ("a" in spec[1:])
    assert all(kind == "all-reduce" and size <= 4 for kind, size in found)


@pytest.mark.parametrize("surrogate", [None, "identity", "softmax"])
def test_gradients(mesh: Mesh, surrogate: Any) -> None:
    host = to_array("float32", patterns("float32", SHAPE, "ties"))
    x = put(host, mesh, P("a", None))

    def loss(x: Any) -> Any:
        return (mh.hardmax(mh.maximum(x, -x), surrogate=surrogate) * x).sum()

    with jax.set_mesh(mesh):
        gradient = jax.jit(jax.grad(loss))(x)

    assert gradient.sharding.is_equivalent_to(x.sharding, 2)
    assert_same(LIBRARY.numpy(gradient), LIBRARY.numpy(jax.jit(jax.grad(loss))(jnp.array(host))))


def test_inside_shard_map(mesh: Mesh) -> None:
    bits = patterns("float32", SHAPE, "ties")
    x = put(to_array("float32", bits), mesh, P("a", None))
    row = jnp.zeros(SHAPE[1], "float32")
    program = mh.compile(mh.hardmax(mh.maximum(mh.Input("x"), mh.Input("row"))))

    per_shard = jax.shard_map(
        program, mesh=mesh, in_specs=(P("a", None), P(None)), out_specs=P("a", None)
    )

    top = oracle.maximum("float32", [bits, np.uint32(0)])
    expected = to_array("float32", oracle.hardmax("float32", top))
    assert_same(LIBRARY.numpy(per_shard(x, row)), expected)
    assert not collectives(per_shard, x, row)


def test_gradients_inside_shard_map() -> None:
    mesh = jax.make_mesh((8,), ("a",), axis_types=(AxisType.Auto,))
    x = put(np.zeros(SHAPE, np.float32), mesh, P("a", None))
    row = jnp.zeros(SHAPE[1], "float32")

    def loss(x: Any, row: Any) -> Any:
        top = jax.shard_map(
            mh.maximum, mesh=mesh, in_specs=(P("a", None), P(None)), out_specs=P("a", None)
        )(x, row)
        return top.sum()

    to_x, to_row = jax.grad(loss, (0, 1))(x, row)

    assert_same(LIBRARY.numpy(to_x), np.full(SHAPE, 0.5, np.float32))
    assert_same(LIBRARY.numpy(to_row), np.full(SHAPE[1], SHAPE[0] / 2, np.float32))


def test_compile_puts_arrays_of_the_host_on_a_device_or_sharding() -> None:
    devices = jax.devices()
    rows = NamedSharding(Mesh(np.array(devices), ("a",)), P("a"))
    node = mh.hardmax(mh.maximum(mh.Input("x"), 0.5))
    x = np.arange(16.0).reshape(8, 2)
    expected = mh.evaluate(node, {"x": x})

    one = mh.compile(node, "jax", device=devices[3])(x)
    spread = mh.compile(node, "jax", device=rows)(x)
    moved = mh.compile(node, "jax", device=devices[3])(spread)

    assert one.devices() == moved.devices() == {devices[3]}
    assert spread.sharding.is_equivalent_to(rows, 2)
    assert_same(LIBRARY.numpy(one), expected)
    assert_same(LIBRARY.numpy(spread), expected)
    assert_same(LIBRARY.numpy(moved), expected)


def test_a_sharding_that_does_not_divide() -> None:
    rows = NamedSharding(Mesh(np.array(jax.devices()), ("a",)), P("a"))
    program = mh.compile(mh.hardmax(mh.Input("x")), "jax", device=rows)

    with pytest.raises(mh.BackendError, match=r"shape \(10, 2\) cannot be put.*\n*.*divide"):
        program(np.ones((10, 2)))


def test_default_device() -> None:
    device = jax.devices()[5]
    with jax.default_device(device):
        assert mh.maximum(jnp.ones(3), 2.0).devices() == {device}
        x = float32([[1, 2]])
        assert mh.evaluate(mh.hardmax(mh.Input("x")), {"x": x}, "jax").devices() == {device}


def test_committed_devices() -> None:
    first, second = (jax.device_put(jnp.ones(3), jax.devices()[i]) for i in (1, 2))
    program = mh.compile(mh.maximum(mh.Input("x"), mh.Input("y")))

    assert mh.maximum(first, jnp.zeros(3), 2.0).devices() == {jax.devices()[1]}
    with pytest.raises(
        mh.BackendError, match=r"Max-13.*\n.*\n.*\n.*0 on cpu:1; operand 1 on cpu:2"
    ):
        mh.maximum(first, second)
    with pytest.raises(mh.BackendError, match=r"different devices: x on cpu:1; y on cpu:2\. Move"):
        program(first, second)
