"""Programs: calls, structures, binding, one plan for each signature, results nobody else holds."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import maxhard as mh
from cases import assert_same, float32
from libraries import Library
from maxhard.backends import get

X = float32([[1, 5, 5], [2, 0, 1]])
Y = float32([4, 0, 0])
TOP = float32([[4, 5, 5], [4, 0, 1]])
HOT = float32([[0, 1, 0], [1, 0, 0]])


def graph(names: tuple[str, str] = ("x", "y")) -> tuple[mh.Node, mh.Node]:
    """Max of two inputs, and Hardmax of that."""
    x, y = mh.Input(names[0], "float32", ("N", 3)), mh.Input(names[1], "float32", (3,))
    top = mh.maximum(x, y)
    return top, mh.hardmax(top)


@pytest.fixture
def lowered(backend: Library, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts how often the backend lowers a graph."""
    count: Counter[str] = Counter()
    kind = type(get(backend.name))
    lower = kind.lower

    def counting(self: Any, *args: Any) -> Any:
        count["lower"] += 1
        return lower(self, *args)

    monkeypatch.setattr(kind, "lower", counting)
    return count


def test_calls_by_position_and_by_name(backend: Library) -> None:
    program = mh.compile(graph()[0], backend.name)
    x, y = backend.array(X), backend.array(Y)

    for result in (program(x, y), program(x=x, y=y), program(y=y, x=x), program(x, y=y)):
        assert_same(backend.numpy(result), TOP)


def test_any_name_can_be_passed() -> None:
    for names in (("self", "inputs"), ("arrays", "by_name"), ("2*(H//2)", "a b")):
        values = dict(zip(names, (X, Y), strict=True))

        assert_same(mh.compile(graph(names)[0])(**values), TOP)
        assert_same(mh.evaluate(graph(names)[0], values), TOP)


def test_results_mirror_the_outputs(backend: Library) -> None:
    top, hot = graph()
    x, y = backend.array(X), backend.array(Y)

    def run(outputs: Any) -> Any:
        return mh.compile(outputs, backend.name)(x, y)

    single, several, named = run(top), run([hot, top, hot]), run({"hot": hot, "top": top})

    assert_same(backend.numpy(single), TOP)
    assert type(several) is tuple
    for result, expected in zip(several, (HOT, TOP, HOT), strict=True):
        assert_same(backend.numpy(result), expected)
    assert list(named) == ["hot", "top"]
    assert_same(backend.numpy(named["hot"]), HOT)
    assert len(run((top,))) == 1


def test_an_output_may_be_an_operand_of_another(backend: Library) -> None:
    """In the order in which they are computed, too."""
    top, hot = graph()
    x, y = backend.array(X), backend.array(Y)

    first, second = mh.compile([top, hot])(x, y)

    assert_same(backend.numpy(first), TOP)
    assert_same(backend.numpy(second), HOT)


def test_a_graph_is_compiled_as_its_outputs() -> None:
    top, hot = graph()

    for outputs in (top, (hot, top), {"a": hot}):
        whole = mh.Graph(outputs)
        assert whole.outputs == outputs
        direct, through = mh.compile(outputs)(X, Y), mh.compile(whole)(X, Y)
        assert str(direct) == str(through)


def test_inputs_come_in_order_of_appearance() -> None:
    a, b, c, d = (mh.Input(name, "float32") for name in "abcd")
    inner = mh.maximum(mh.hardmax(c), a)

    assert mh.Graph(mh.maximum(b, inner, a, d)).inputs == (b, c, a, d)
    assert mh.Graph([d, inner]).inputs == (d, c, a)
    assert mh.Graph({"y": inner, "x": b}).inputs == (c, a, b)


def test_inputs_in_an_order_of_ones_own() -> None:
    top, _ = graph()
    x, y = mh.Graph(top).inputs
    unused = mh.Input("unused")
    ordered = mh.Graph(top, [y, unused, x])

    assert ordered.inputs == (y, unused, x)
    assert_same(mh.compile(ordered)(Y, X, X), TOP)


def test_nodes_come_operands_first() -> None:
    top, hot = graph()
    nodes = mh.Graph([hot, top]).nodes

    assert len(nodes) == 4
    assert nodes.index(top) < nodes.index(hot)
    assert set(nodes[:2]) == {*mh.Graph(top).inputs}


def test_printing_lists_every_node() -> None:
    text = str(mh.Graph({"hot": graph()[1]}))

    for part in ("x", "y", "hot", "Max-13", "Hardmax-13", "axis=-1", "float32[N, 3]"):
        assert part in text
    assert text.index("Max-13") < text.index("Hardmax-13")
    assert "Max-6" in str(mh.Graph(mh.maximum(mh.Input("x"), opset=6)))


def test_printing_never_fails() -> None:
    bad = mh.maximum(mh.Input("x", "int8", (2,)), mh.Input("y", "float32", (3,)))

    assert "Max-13" in str(mh.Graph(bad))
    assert repr(mh.Graph(bad)).count("\n") == 0
    assert repr(mh.compile(graph()[0])).count("\n") == 0


def test_nothing_is_lowered_before_the_first_call(backend: Library, lowered: Counter[str]) -> None:
    mh.compile(graph()[1], backend.name)

    assert not lowered


def test_one_plan_for_each_signature(backend: Library, lowered: Counter[str]) -> None:
    program = mh.compile(graph()[1], backend.name)
    x, y = backend.array(X), backend.array(Y)

    for _ in range(3):
        program(x, y)
        program(y=y, x=x)
    assert lowered["lower"] == 1

    program(backend.array(X[:1]), y)
    program(backend.array(X[1:]), y)
    program(x, y)
    assert lowered["lower"] == 2


def test_compiling_again_shares_no_state(backend: Library, lowered: Counter[str]) -> None:
    x, y = backend.array(X), backend.array(Y)
    first, second = mh.compile(graph()[1]), mh.compile(graph()[0])

    assert_same(backend.numpy(first(x, y)), HOT)
    assert_same(backend.numpy(second(x, y)), TOP)
    assert lowered["lower"] == 2


def test_no_plan_is_kept_of_a_failed_call() -> None:
    program = mh.compile(graph()[0])
    for _ in range(2):
        with pytest.raises(mh.ShapeError):
            program(X, Y[:2])

    assert_same(program(X, Y), TOP)


def test_each_call_goes_to_the_library_of_its_arrays(backend: Library) -> None:
    program = mh.compile(graph()[0])

    assert_same(program(X, Y), TOP)
    assert_same(backend.numpy(program(backend.array(X), backend.array(Y))), TOP)
    assert_same(program(X, Y), TOP)


def test_arrays_go_to_the_named_backend(backend: Library) -> None:
    for target in (backend.name, backend.namespace):
        program = mh.compile(graph()[0], target)

        assert_same(backend.numpy(program(X, Y)), TOP)
        assert_same(backend.numpy(program(backend.array(X), backend.array(Y))), TOP)
        assert_same(mh.compile(graph()[0], "numpy")(backend.array(X), backend.array(Y)), TOP)


def test_evaluate(backend: Library) -> None:
    values = {"y": backend.array(Y), "x": backend.array(X)}

    assert_same(backend.numpy(mh.evaluate(graph()[1], values)), HOT)
    assert_same(mh.evaluate(graph()[1], values, "numpy"), HOT)
    assert_same(mh.evaluate(mh.maximum(mh.Constant(X), 2)), np.maximum(X, np.float32(2)))


def passing_through(x: Any) -> list[Any]:
    """Graphs that hand on what they are given."""
    one = mh.maximum(x)
    return [
        x,
        one,
        mh.maximum(one),
        mh.maximum(x, x),
        mh.maximum(x, -np.inf),
        mh.maximum(x, mh.Constant(float32([-np.inf]))),
    ]


@pytest.mark.parametrize("index", range(6))
@pytest.mark.parametrize("shape", [(), (1,), (64,), (16, 16)])
def test_results_share_no_memory(index: int, shape: tuple[int, ...]) -> None:
    program = mh.compile(passing_through(mh.Input("x", "float32", shape))[index])
    x = np.ones(shape, np.float32)

    result, again = program(x), program(x)

    assert type(result) is np.ndarray
    assert not np.shares_memory(result, x)
    assert not np.shares_memory(result, again)
    result[...] = 7
    assert (x == 1).all()
    assert (program(x) == 1).all()


def test_results_at_once_share_no_memory() -> None:
    x = np.ones((4, 4), np.float32)

    for result in (mh.maximum(x), mh.maximum(x, x), mh.hardmax(x), mh.hardmax(x, opset=11)):
        assert not np.shares_memory(result, x)
        assert result.flags.writeable


def test_results_share_no_memory_with_one_another_or_constants() -> None:
    x, c = mh.Input("x", "float32", (3,)), mh.Constant(Y)
    top = mh.maximum(x, c)
    program = mh.compile([c, c, x, x, top, top, mh.hardmax(c), mh.maximum(c)])
    expected = [result.copy() for result in program(Y)]

    results = program(Y)

    for i, result in enumerate(results):
        assert not any(np.shares_memory(result, other) for other in results[i + 1 :])
        result[...] = -1
    for result, fresh in zip(program(Y), expected, strict=True):
        assert_same(result, fresh)


def test_results_in_jax_do_not_follow_numpy() -> None:
    pytest.importorskip("jax")
    program = mh.compile(mh.maximum(mh.Input("x", "float32", (1024,))), "jax")
    x = np.zeros(1024, np.float32)
    result = program(x)

    x[:] = 1

    assert not np.asarray(result).any()


def test_constants_only() -> None:
    program = mh.compile({"y": mh.hardmax(mh.Constant(Y))}, "numpy")

    assert_same(program()["y"], float32([1, 0, 0]))


def test_pickling_a_graph() -> None:
    import pickle

    whole = mh.Graph({"hot": graph()[1]})
    again = pickle.loads(pickle.dumps(whole))

    assert str(again) == str(whole)
    assert_same(mh.compile(again)(X, Y)["hot"], HOT)
