"""CuPy without a GPU: a stand-in whose arrays are NumPy's, but lie on devices."""

import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import maxhard as mh
import oracle
from cases import DTYPES, FLOATS, assert_same, patterns, samples, to_array
from maxhard.backends import _of_kind

CUPY = tuple(dtype for dtype in DTYPES if dtype != "bfloat16")


class Device:
    """One of the stand-in's devices; None is the one entered last."""

    entered: list[int] = []  # noqa: RUF012

    def __init__(self, number: int | None = None) -> None:
        self.number = [0, *self.entered][-1] if number is None else number

    def __enter__(self) -> None:
        self.entered.append(self.number)

    def __exit__(self, *_: object) -> None:
        self.entered.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.number == self.number

    def __str__(self) -> str:
        return f"<CUDA Device {self.number}>"


class OnDevice(np.ndarray[Any, Any]):
    """NumPy's array with a device."""

    def __array_finalize__(self, origin: Any) -> None:
        self._device = getattr(origin, "_device", None) or Device()

    @property
    def device(self) -> Any:
        return self._device


def array(values: Any, device: int = 0) -> Any:
    with Device(device):
        return np.array(values).view(OnDevice)


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The backend over the stand-in."""
    module = ModuleType("cupy")
    vars(module).update({name: getattr(np, name) for name in dir(np) if not name.startswith("__")})
    module.array = lambda values: np.array(values).view(OnDevice)  # type: ignore[attr-defined]
    module.asnumpy = lambda array: np.array(array, subok=False)  # type: ignore[attr-defined]
    cuda = ModuleType("cupy.cuda.device")
    cuda.Device = Device  # type: ignore[attr-defined]
    vars(module).update(ndarray=OnDevice, cuda=cuda, __path__=[])
    stand_ins: dict[str, Any] = {"cupy": module, "cupy.linalg": np.linalg, "cupy.fft": np.fft}
    before = set(sys.modules)
    for name, each in (stand_ins | {"cupy.cuda": cuda, "cupy.cuda.device": cuda}).items():
        monkeypatch.setitem(sys.modules, name, each)
    backend = import_module("maxhard.backends.cupy").backend()
    monkeypatch.setitem(_of_kind, OnDevice, backend)
    yield backend
    for name in set(sys.modules) - before:
        if "cupy" in name:
            del sys.modules[name]


@pytest.mark.parametrize("dtype", CUPY)
def test_max(cupy: Any, dtype: str) -> None:
    operands = samples(dtype, ((3, 40), (40,)), "specials")
    program = mh.compile(mh.maximum(mh.Input("x"), mh.Input("y"), 1), cupy)
    one = np.asarray(np.array(1, dtype)).view(oracle.word(dtype))

    result = program(*[array(to_array(dtype, bits)) for bits in operands])

    assert_same(cupy.to_numpy(result), to_array(dtype, oracle.maximum(dtype, [*operands, one])))


@pytest.mark.parametrize("dtype", FLOATS[1:])
def test_hardmax(cupy: Any, dtype: str) -> None:
    bits = patterns(dtype, (3, 4, 5), "ties")

    for axis in (0, 1, 2):
        result = mh.compile(mh.hardmax(mh.Input("x"), axis), cupy)(array(to_array(dtype, bits)))

        assert_same(cupy.to_numpy(result), to_array(dtype, oracle.hardmax(dtype, bits, axis)))


def test_bfloat16_is_refused_by_name(cupy: Any) -> None:
    with pytest.raises(mh.BackendError, match="cupy has no bfloat16"):
        mh.compile(mh.hardmax(mh.Input("x")), cupy)(to_array("bfloat16", np.uint16([0])))


def test_the_work_is_done_where_the_arrays_are(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    kernel = type(cupy).max_

    def watched(self: Any, arrays: Any, dtype: Any) -> Any:
        seen.append((*Device.entered, *(x.device.number for x in arrays)))
        return kernel(self, arrays, dtype)

    monkeypatch.setattr(type(cupy), "max_", watched)
    program = mh.compile(mh.maximum(mh.Input("x"), mh.Constant(np.zeros(2))), cupy)

    program(array(np.ones(2), 1))
    program(array(np.ones(2), 0))

    assert seen == [(1, 1, 1), (0, 0, 0)]


def test_two_devices(cupy: Any) -> None:
    program = mh.compile(mh.maximum(mh.Input("x"), mh.Input("y")), cupy)

    with pytest.raises(mh.TypeInferenceError, match=r"x on .*Device 0.*, y on .*Device 1"):
        program(array(np.ones(2), 0), array(np.ones(2), 1))
