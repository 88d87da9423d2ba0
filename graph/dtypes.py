"""The twelve dtypes of ONNX Max-13."""

from enum import StrEnum
from functools import lru_cache
from typing import Any

from .errors import TypeInferenceError


class DType(StrEnum):
    """An element type; members compare equal to their names.

    >>> DType.of("float32") == "float32"
    True
    >>> DType.BFLOAT16.bits, DType.BFLOAT16.is_float
    (16, True)
    """

    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"

    @staticmethod
    def of(dtype: Any) -> "DType":
        """The member that `dtype` names: a string, or a dtype of NumPy, JAX, torch, ml_dtypes, ...

        Raises:
            TypeInferenceError: `dtype` names none of the twelve.
        """
        try:
            # The type first: dtypes of different libraries may warn when they are compared.
            return _parse(type(dtype).__name__, dtype)
        except TypeError:  # unhashable, so no dtype
            raise _unknown(dtype) from None

    @property
    def is_float(self) -> bool:
        return "float" in self.value

    @property
    def bits(self) -> int:
        """Width of one element, in bits."""
        return int(self.value.lstrip("abcdefghijklmnopqrstuvwxyz"))

    @property
    def itemsize(self) -> int:
        """Width of one element, in bytes."""
        return self.bits // 8


FLOATS = frozenset(dtype for dtype in DType if dtype.is_float)
INTEGERS = frozenset(DType) - FLOATS

_MEMBERS = {dtype.value: dtype for dtype in DType}


@lru_cache(maxsize=256)
def _parse(kind: str, dtype: Any) -> DType:
    # np.dtype has .name; the scalar types of NumPy and ml_dtypes have __name__; torch and
    # array-api-strict print as "library.name". jnp.float32 has .dtype, as have arrays, which
    # are no dtypes, but they are unhashable or have a shape of their own.
    names: list[Any]
    if isinstance(dtype, str):
        names = [dtype]
    else:
        inner = getattr(dtype, "dtype", None)
        names = [getattr(inner, "name", None), getattr(dtype, "name", None)]
        names += [getattr(dtype, "__name__", None), str(dtype).rpartition(".")[2]]
    for name in names:
        if isinstance(name, str) and name in _MEMBERS:
            return _MEMBERS[name]
    raise _unknown(dtype)


def _unknown(dtype: Any) -> TypeInferenceError:
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or repr(dtype)
    return TypeInferenceError(
        f"{name} is not a dtype of Max or Hardmax.",
        f"Use one of {', '.join(DType)}.",
    )
