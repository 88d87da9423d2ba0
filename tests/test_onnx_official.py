"""ONNX's own node cases of Max and Hardmax, through its own runner; none is skipped."""

import re
import warnings
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.backend.test import BackendTest
from onnx.backend.test.loader import load_model_tests

import maxhard as mh
from cases import assert_same, float32
from maxhard.onnx import backend_class
from models import constant, model, node, value

BACKENDS = ("numpy", "jax")
OURS = re.compile(r"test_(max|hardmax)_")


@cache
def runner(name: str) -> Any:
    pytest.importorskip(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the numbers that other cases are made of
        return BackendTest(backend_class(name), __name__)


@cache
def names() -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sorted(case.name for case in load_model_tests(kind="node") if OURS.match(case.name))


def test_there_are_cases_of_both() -> None:
    """21 in onnx 1.23; older ones lack some."""
    assert len([name for name in names() if name.startswith("test_max_")]) >= 14
    assert len([name for name in names() if name.startswith("test_hardmax_")]) >= 7


@pytest.mark.parametrize("name", BACKENDS)
def test_every_case(name: str, subtests: Any) -> None:
    cases = runner(name).test_cases["OnnxBackendNodeModelTest"]
    devices = [d for d in ("CPU", "CUDA") if backend_class(name).supports_device(d)]
    assert "CPU" in devices
    for device in devices:
        for case in names():
            with subtests.test(case=case, device=device):
                # A skip would be raised, and not pass for a success.
                getattr(cases(f"{case}_{device.lower()}"), f"{case}_{device.lower()}")()


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param)
    return backend_class(request.param)


MAX = model([node("Max", ["x", "z"], ["y"])], ["x", value("z", (3,))])
X, Z = float32([[1, 5, -1]]), float32([2, 2, 2])


class TestInterface:
    """`onnx.backend.base.Backend` as runners use it."""

    def test_one_class_a_library(self, backend: Any) -> None:
        assert issubclass(backend, onnx.backend.base.Backend)
        assert backend.__name__ in ("NumpyBackend", "JaxBackend")
        assert backend is backend_class(backend.backend.name)

    def test_by_order_by_name_and_alone(self, backend: Any) -> None:
        prepared = backend.prepare(MAX)
        for inputs in ([X, Z], (X, Z), {"z": Z, "x": X}):
            (result,) = prepared.run(inputs)
            assert_same(result, float32([[2, 5, 2]]))
        one = model([node("Max", ["x"], ["y"])])
        assert_same(backend.prepare(one).run(X)[0], X)

    def test_initializers_that_are_inputs_need_no_array(self, backend: Any) -> None:
        proto = model(
            [node("Max", ["x", "z"], ["y"])], ["z", "x"], initializers={"z": Z}, ir_version=3
        )

        assert_same(backend.run_model(proto, [X])[0], float32([[2, 5, 2]]))

    def test_several_outputs_in_order(self, backend: Any) -> None:
        nodes = [node("Max", ["x", "x"], ["m"]), node("Hardmax", ["m"], ["h"])]

        hot, best = backend.run_model(model(nodes, outputs=["h", "m"]), [X])

        assert_same(hot, float32([[0, 1, 0]]))
        assert_same(best, X)

    def test_one_node_at_an_opset(self, backend: Any) -> None:
        cube = np.zeros((2, 3, 2), "float32")
        hot = node("Hardmax", ["x"], ["y"], axis=1)

        assert int(backend.run_node(hot, [cube])[0].sum()) == 4
        assert int(backend.run_node(hot, [cube], opset_version=11)[0].sum()) == 2
        twice = node("Max", ["x", "x"], ["y"])
        assert_same(backend.run_node(twice, [X, X])[0], X)

    def test_64_bits_are_kept(self, backend: Any) -> None:
        (result,) = backend.run_node(
            node("Max", ["x", "z"], ["y"]), [np.int64(2**53 + 1), np.int64(0)]
        )

        assert_same(result, np.array(2**53 + 1))

    def test_what_it_cannot_run(self, backend: Any) -> None:
        foreign = model([constant("c", 1, "int8"), node("Relu", ["x"], ["y"])])

        assert backend.is_compatible(MAX)
        assert not backend.is_compatible(foreign)
        with pytest.raises(mh.OnnxError, match="1 x Relu"):
            backend.prepare(foreign)
        with pytest.raises(mh.BindingError, match="1 arrays for 2 inputs"):
            backend.prepare(MAX).run([X])

    def test_devices(self, backend: Any) -> None:
        assert backend.supports_device("CPU")
        assert not backend.supports_device("QUANTUM")
        assert not backend.supports_device("CPU:first")
        with pytest.raises(mh.BackendError, match="no device QUANTUM"):
            backend.prepare(MAX, "QUANTUM")


def test_numpy_has_no_gpu() -> None:
    assert not backend_class("numpy").supports_device("CUDA")
