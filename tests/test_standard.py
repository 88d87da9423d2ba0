"""Any other namespace: exact for a dtype, or refused for it."""

from typing import Any

import array_api_compat.numpy as xp
import numpy as np
import pytest

import maxhard as mh
from cases import FLOATS, assert_same, float32, int8


class Namespace:
    """NumPy's, but for one function."""

    def __init__(self, **functions: Any) -> None:
        self.__name__ = f"a library {id(self)}"
        vars(self).update(functions)

    def __getattr__(self, name: str) -> Any:
        return getattr(xp, name)


def flushing(x: Any, y: Any) -> Any:
    tiny = xp.finfo(x.dtype).tiny
    return np.maximum(*[np.where(abs(z) < tiny, z * 0, z) for z in (x, y)])


def forgetful(x: Any, **options: Any) -> Any:
    return np.isnan(x, **options) & False


def absent(*args: Any, **options: Any) -> Any:
    raise NotImplementedError("no such function")


@pytest.mark.parametrize("dtype", FLOATS[1:])
def test_an_exact_namespace_is_taken(dtype: str) -> None:
    result = mh.compile(mh.maximum(mh.Input("x"), 0), Namespace())(np.array([1, -1], dtype))

    assert_same(result, np.array([1, 0], dtype))


@pytest.mark.parametrize(
    ("functions", "reason"),
    [
        ({"maximum": flushing}, "its Max .* differs in bits"),
        ({"argmax": lambda x, **options: np.argmax(x, **options) * 0}, "its Hardmax .* differs"),
        ({"isnan": forgetful}, "its Max .* differs in bits"),
        ({"signbit": absent}, "NotImplementedError: no such function"),
    ],
)
def test_one_that_is_not_exact_is_refused_for_that_dtype(functions: Any, reason: str) -> None:
    namespace = Namespace(**functions)

    for graph in (mh.maximum(mh.Input("x"), 0), mh.hardmax(mh.Input("x"))):
        with pytest.raises(
            mh.BackendError, match=f"a library .* is not exact for float32: {reason}"
        ):
            mh.compile(graph, namespace)(float32([1, 2]))
    if "maximum" not in functions:
        assert_same(mh.compile(mh.maximum(mh.Input("x"), 0), namespace)(int8([-1])), int8([0]))


def test_bfloat16_is_refused_by_name() -> None:
    import ml_dtypes

    array = np.zeros(2, ml_dtypes.bfloat16)

    with pytest.raises(mh.BackendError, match="has no bfloat16"):
        mh.compile(mh.hardmax(mh.Input("x")), Namespace())(array)
