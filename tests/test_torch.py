"""torch: layouts, derivatives, transformations, tensors without values, and what is refused."""

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import maxhard as mh
import oracle
from cases import DTYPES, FLOATS, INTEGERS, assert_same, patterns, samples, to_array
from libraries import Library
from maxhard.backends import get

torch = pytest.importorskip("torch")
torch_cpu = import_module("maxhard.backends.torch_cpu")

LIBRARY = Library("torch")
NAN = float("nan")
FORWARD = pytest.mark.filterwarnings(
    "ignore:.torch.jit.script:DeprecationWarning"  # by torch itself, in its forward derivatives
)


def tensor(dtype: str, bits: Any) -> Any:
    return LIBRARY.array(to_array(dtype, bits))


def check_max(result: Any, dtype: str, *operands: Any) -> None:
    assert_same(LIBRARY.numpy(result), to_array(dtype, oracle.maximum(dtype, operands)))


def check_hardmax(result: Any, dtype: str, bits: Any, axis: int = -1) -> None:
    assert_same(LIBRARY.numpy(result), to_array(dtype, oracle.hardmax(dtype, bits, axis)))


def conjugate_imaginary(x: Any) -> Any:
    """A view with the negative bit set, of the values of `x`."""
    return torch.complex(torch.zeros_like(x), -x).conj().imag


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: x.t().contiguous().t(),
    "strided": lambda x: torch.stack([x, x], -1)[..., 0],
    "expanded": lambda x: x[:1].expand(x.shape),
    "parameter": lambda x: torch.nn.Parameter(x, requires_grad=False),
    "negative bit": conjugate_imaginary,
}


@pytest.mark.parametrize("size", [(3, 40), (700, 800)], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, size: tuple[int, ...]) -> None:
    x, y = (
        LAYOUTS[layout](tensor("float32", bits))
        for bits in samples("float32", (size,) * 2, "specials")
    )
    a, b = (oracle.native_bits(LIBRARY.numpy(z.detach())) for z in (x, y))

    check_max(mh.maximum(x, y), "float32", a, b)
    check_max(mh.maximum(x, tensor("float32", b)), "float32", a, b)
    for axis in (0, 1):
        check_hardmax(mh.hardmax(x, axis), "float32", a, axis)


@pytest.mark.parametrize("shapes", [((5003,),) * 2, ((100, 70), (70,)), ((4096,), ())])
@pytest.mark.parametrize("dtype", DTYPES)
def test_max_of_several_pieces(dtype: str, shapes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_cpu, "PIECE_BYTES", 2**10)
    operands = (
        samples(dtype, shapes, "sparse NaN")
        if dtype in FLOATS
        else samples(dtype, shapes, "random")
    )

    check_max(mh.maximum(*[tensor(dtype, bits) for bits in operands]), dtype, *operands)


FLUSHING = """
import sys
sys.path.insert(0, {tests!r})
import torch
torch.set_num_threads(2)
if {when!r} == "always":
    torch.set_flush_denormal(True)
else:  # the workers are born flushing, and stay so when their creator does no longer
    torch.set_flush_denormal(True)
    torch.ones(2**20) + 1
    torch.set_flush_denormal(False)
import numpy as np, maxhard as mh, oracle
from cases import FLOATS, patterns
from maxhard.backends import get
def tensor(dtype, bits):
    return torch.from_numpy(bits.view(f"i{{bits.itemsize}}").copy()).view(getattr(torch, dtype))
def bits_of(x):
    return x.view(getattr(torch, f"int{{8 * x.itemsize}}")).numpy().view(f"u{{x.itemsize}}")
for dtype in FLOATS:
    for shape in ((50, 3), (2**18, 3)):
        a, b = (patterns(dtype, shape, "ties", seed) for seed in (0, 1))
        x, y = tensor(dtype, a), tensor(dtype, b)
        assert (bits_of(mh.maximum(x, y)) == oracle.maximum(dtype, [a, b])).all(), (dtype, shape)
        assert (bits_of(mh.hardmax(x)) == oracle.hardmax(dtype, a)).all(), (dtype, shape)
x = torch.full((2**20,), 1e-20)
flushed = int((x * x).count_nonzero()) < x.numel()
print("flushed" if flushed else "nothing flushed")
"""


@pytest.mark.parametrize("when", ["always", "in the workers only"])
def test_subnormals_stay_where_torch_flushes_them(when: str) -> None:
    from pathlib import Path

    code = FLUSHING.format(tests=str(Path(__file__).parent), when=when)

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)

    assert (run.returncode, run.stdout) == (0, "flushed\n"), run.stderr


def gradients(function: Callable[..., Any], *values: Any) -> list[list[float]]:
    leaves = [torch.tensor(value, requires_grad=True) for value in values]
    function(*leaves).sum().backward()
    return [leaf.grad.tolist() for leaf in leaves]


SHARED = {
    "one winner": ([1.0], [2.0], [0.0], [[0], [1], [0]]),
    "two tie": ([2.0], [2.0], [0.0], [[0.5], [0.5], [0]]),
    "three tie": ([2.0], [2.0], [2.0], [[1 / 3]] * 3),
    "a NaN": ([NAN], [2.0], [2.0], [[1], [0], [0]]),
    "two NaNs": ([NAN], [-NAN], [2.0], [[0.5], [0.5], [0]]),
    "+0 above -0": ([-0.0], [0.0], [-0.0], [[0], [1], [0]]),
    "-0 ties with itself": ([-0.0], [-0.0], [-1.0], [[0.5], [0.5], [0]]),
    "infinities": ([-np.inf], [-np.inf], [-np.inf], [[1 / 3]] * 3),
}


@pytest.mark.parametrize("case", SHARED)
def test_tied_operands_share_the_gradient(case: str) -> None:
    *values, expected = SHARED[case]
    expected = [np.float32(each).tolist() for each in expected]

    assert gradients(mh.maximum, *values) == expected
    x, y, z = map(mh.Input, "xyz")
    assert gradients(mh.compile(mh.maximum(x, y, z)), *values) == expected


def test_programs_share_as_the_graph_is_written() -> None:
    x, y = mh.Input("x"), mh.Input("y")
    program = mh.compile(mh.maximum(mh.maximum(x, y), y, x))

    assert (
        gradients(program, [1.0], [1.0]) == np.float32([[1 / 3 + 1 / 6], [1 / 3 + 1 / 6]]).tolist()
    )


def test_gradients_of_broadcast_operands() -> None:
    assert gradients(mh.maximum, [[1.0], [3.0]], [2.0, 3.0]) == [[[0.0], [1.5]], [1.0, 0.5 + 1.0]]


def test_ties_of_half_precision_are_counted_exactly() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        x = [torch.ones(1, dtype=dtype, requires_grad=True) for _ in range(300)]

        mh.maximum(*x).backward()

        assert x[0].grad == torch.tensor(1 / 300, dtype=dtype)


G = [[1.0, -2.0, 3.0], [0.5, 0.0, 4.0]]
X = [[0.3, 0.1, 0.2], [1.0, 1.0, -1.0]]


@pytest.mark.parametrize("opset", [11, 13])
def test_hardmax_has_a_gradient_of_zero(opset: int) -> None:
    assert gradients(lambda x: mh.hardmax(x, opset=opset), X) == [[[0.0] * 3] * 2]


@FORWARD
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("surrogate", "function"), [("softmax", torch.softmax), ("identity", lambda x, axis: x)]
)
def test_surrogates(surrogate: Any, function: Any, axis: int) -> None:
    x, g = torch.tensor(X, dtype=torch.float64), torch.tensor(G, dtype=torch.float64)

    def ours(x: Any) -> Any:
        return (mh.hardmax(x, axis, surrogate=surrogate) * g).sum()

    def theirs(x: Any) -> Any:
        return (function(x, axis) * g).sum()

    for first in (torch.func.grad, torch.func.jacfwd):
        torch.testing.assert_close(first(ours)(x), first(theirs)(x))
    for outer in (torch.func.jacrev, torch.func.jacfwd):
        second = outer(torch.func.grad(ours))(x), outer(torch.func.grad(theirs))(x)
        torch.testing.assert_close(*second)
    assert torch.equal(mh.hardmax(x, axis, surrogate=surrogate), mh.hardmax(x, axis))


def test_the_softmax_surrogate_by_finite_differences() -> None:
    x = torch.tensor(X, dtype=torch.float64, requires_grad=True)
    g, step = torch.tensor(G, dtype=torch.float64), 1e-6

    (mh.hardmax(x, surrogate="softmax") * g).sum().backward()

    for i in range(2):
        for j in range(3):
            shift = torch.zeros_like(g)
            shift[i, j] = step
            up, down = ((x.detach() + s).softmax(-1) * g for s in (shift, -shift))
            assert abs((up - down).sum() / (2 * step) - x.grad[i, j]) < 1e-8


@FORWARD
def test_second_derivatives_of_max() -> None:
    hessian = torch.func.hessian(lambda x: (mh.maximum(x, 0.5) ** 2).sum())

    assert hessian(torch.tensor([1.0, 0.0, 0.5])).diag().tolist() == [2.0, 0.0, 0.5]


@FORWARD
def test_forward_derivatives() -> None:
    x = torch.tensor([1.0, 2.0])
    ones, tangent = torch.ones(2), torch.tensor([1.0, 3.0])

    _, moved = torch.func.jvp(mh.maximum, (x, ones), (tangent, ones))

    assert moved.tolist() == [1.0, 3.0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_vmap(dtype: str) -> None:
    a, b = samples(dtype, ((4, 3, 5), (5,)), "specials")
    x, y = tensor(dtype, a), tensor(dtype, b)

    check_max(torch.vmap(mh.maximum, (0, None))(x, y), dtype, a, b)
    check_max(torch.vmap(mh.maximum, (1, None), 1)(x, y), dtype, a, b)
    if dtype in FLOATS:
        check_hardmax(torch.vmap(mh.hardmax)(x), dtype, a)
        check_hardmax(torch.vmap(lambda row: mh.hardmax(row, 0), 2, 2)(x), dtype, a, 0)


def test_vmap_of_gradients() -> None:
    x = torch.tensor([[1.0, 0.0], [0.5, 2.0]])

    def f(row: Any) -> Any:
        return mh.maximum(row, 0.5).sum()

    expected = [[1.0, 0.0], [0.5, 1.0]]
    assert torch.vmap(torch.func.grad(f))(x).tolist() == expected
    assert torch.func.grad(lambda x: torch.vmap(f)(x).sum())(x).tolist() == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_without_values(dtype: str) -> None:
    x = torch.empty(3, 1, dtype=getattr(torch, dtype), device="meta")
    y = torch.empty(4, dtype=getattr(torch, dtype), device="meta")

    for result in (mh.maximum(x, y, 1), *([mh.hardmax(x.expand(3, 4))] if dtype in FLOATS else [])):
        assert (result.device.type, result.dtype, tuple(result.shape)) == ("meta", x.dtype, (3, 4))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("mode", ["real", "symbolic"])
def test_recorded_graphs_hold_for_other_values(mode: str, dtype: str) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    ordinary = torch.ones(4, 6, dtype=getattr(torch, dtype))
    a, b = samples(dtype, ((4, 6),) * 2, "specials")

    best = make_fx(lambda x, y: mh.maximum(x, y), tracing_mode=mode)(ordinary, ordinary + 1)
    first = make_fx(lambda x: mh.hardmax(x), tracing_mode=mode)(ordinary)

    check_max(best(tensor(dtype, a), tensor(dtype, b)), dtype, a, b)
    check_hardmax(first(tensor(dtype, a)), dtype, a)


def test_constants_of_a_tracer_end_with_it() -> None:
    from torch._subclasses import FakeTensorMode

    program = mh.compile(mh.maximum(mh.Input("x"), mh.Constant(np.float32([1, 2]))))

    for _ in range(2):
        with FakeTensorMode():
            assert tuple(program(torch.ones(2)).shape) == (2,)
    assert program(torch.zeros(2)).tolist() == [1, 2]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_compiled_as_one_graph() -> None:
    best = torch.compiler.allow_in_graph(lambda x, y: mh.maximum(x, y, 0.0))
    first = torch.compiler.allow_in_graph(lambda x: mh.hardmax(x))
    a, b = samples("float32", ((4, 6),) * 2, "specials")

    for backend in ("aot_eager", "inductor"):
        compile = lambda f: torch.compile(f, fullgraph=True, backend=backend)  # noqa: B023, E731
        zero = np.zeros((), np.uint32)
        check_max(
            compile(lambda x, y: best(x, y))(tensor("float32", a), tensor("float32", b)),
            "float32",
            a,
            b,
            zero,
        )
        check_hardmax(compile(lambda x: first(x))(tensor("float32", a)), "float32", a)
        assert gradients(compile(lambda x, y: best(x, y)), [1.0, 2.0], [1.0, 3.0]) == [
            [0.5, 0],
            [0.5, 1],
        ]


@pytest.mark.filterwarnings("ignore")  # torch has several to say before it calls us
def test_jit_trace_is_refused() -> None:
    with pytest.raises(mh.BackendError, match=r"torch\.compile"):
        torch.jit.trace(mh.hardmax, torch.ones(3))


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "nested": (lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), "to_padded"),
    "sparse": (lambda: torch.ones(2, 3).to_sparse(), "to_dense"),
    "quantized": (lambda: torch.quantize_per_tensor(torch.ones(3), 1.0, 0, torch.qint8), "dequant"),
}


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", REFUSED)
def test_special_tensors_are_refused(kind: str) -> None:
    make, remedy = REFUSED[kind]
    mh.hardmax(torch.ones(2, 3))  # a plan for that dtype and shape is there already

    for act in (
        lambda: mh.hardmax(make()),
        lambda: mh.maximum(make(), 1),
        lambda: mh.compile(mh.hardmax(mh.Input("x")))(make()),
        lambda: mh.compile(mh.hardmax(mh.Input("x")), "numpy")(make()),
    ):
        with pytest.raises(mh.TypeInferenceError, match=rf"(?s){kind}.* tensor .*{remedy}"):
            act()


def test_two_devices_are_refused() -> None:
    here, nowhere = torch.ones(2), torch.ones(2, device="meta")

    with pytest.raises(mh.TypeInferenceError, match="operand 0 on cpu, operand 1 on meta"):
        mh.maximum(here, nowhere)
    program = mh.compile(mh.maximum(mh.Input("a"), mh.Input("b")))
    program(here, here)  # a plan for these dtypes and shapes is there already
    with pytest.raises(mh.TypeInferenceError, match="a on meta, b on cpu"):
        program(nowhere, here)


def test_constants_follow_the_device() -> None:
    program = mh.compile(mh.maximum(mh.Input("x"), mh.Constant(np.ones(2, np.float32)), 3.0))

    assert program(torch.ones(2)).device.type == "cpu"
    assert program(torch.ones(2, device="meta")).device.type == "meta"


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_of_tensors(dtype: str) -> None:
    bits = patterns(dtype, (2, 9), "random")
    source = tensor(dtype, bits)

    node = mh.Constant(source)
    source.zero_()

    assert node.type == mh.TensorType(dtype, (2, 9))
    assert_same(mh.evaluate(node, backend="numpy"), to_array(dtype, bits))
    assert_same(LIBRARY.numpy(mh.evaluate(node, backend="torch")), to_array(dtype, bits))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_a_constant_keeps_no_gradient_so_it_refuses_one(dtype: str) -> None:
    weights = torch.ones(2, dtype=getattr(torch, dtype), requires_grad=True)

    with pytest.raises(mh.TypeInferenceError, match=r"(?s)requires grad.*detach.*Make it an Input"):
        mh.maximum(mh.Input("x"), weights)


def test_other_libraries_keep_no_gradient_so_they_refuse_one() -> None:
    program = mh.compile(mh.hardmax(mh.Input("x")), "numpy")

    with pytest.raises(mh.TypeInferenceError, match=r"(?s)Input x.*requires grad.*x\.detach"):
        program(torch.ones(2, requires_grad=True))
    with pytest.raises(mh.TypeInferenceError, match="no values"):
        program(torch.ones(2, device="meta"))


def test_arrays_go_to_the_callers_default_device() -> None:
    with torch.device("meta"):
        assert get("torch").from_numpy(np.ones(2)).device.type == "meta"


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_take_part_in_no_gradient(dtype: str) -> None:
    assert not mh.maximum(tensor(dtype, patterns(dtype, (3,), "random")), 1).requires_grad
