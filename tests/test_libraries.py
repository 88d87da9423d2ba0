"""Moving arrays between NumPy and each library: the ground that the other tests stand on."""

import numpy as np
import pytest

import maxhard as mh
from cases import DTYPES, assert_same, patterns, to_array
from libraries import HALVES, Library
from maxhard.backends import get

pytestmark = HALVES


@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back_loses_no_bit(backend: Library, dtype: str) -> None:
    array = to_array(dtype, patterns(dtype, (3, 50), "random"))

    theirs = backend.array(array)

    assert dtype in str(theirs.dtype)
    assert tuple(theirs.shape) == (3, 50)
    assert_same(backend.numpy(theirs), array)


def test_the_copy_is_independent(backend: Library) -> None:
    array = np.zeros(64, np.float32)
    theirs = get(backend.name).from_numpy(array)

    array[:] = 1

    assert not backend.numpy(theirs).any()


def test_it_is_listed(backend: Library) -> None:
    assert mh.backends()[backend.name][0].isdigit()
