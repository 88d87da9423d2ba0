"""The bytes of an array or a number, taken once, so that later writes change nothing."""

from collections.abc import Iterator
from typing import Any

from .dtypes import DType
from .errors import ShapeError, TypeInferenceError
from .scalars import encode
from .types import TensorType


def snapshot(value: Any, dtype: DType | None) -> tuple[bytes | int | float, TensorType]:
    """The elements of `value`, little-endian in C order, and their type.

    A Python number without a dtype stays a number: it takes the dtype of the operands beside it.
    Arrays come in through the `__array__` protocol, so that no array library is imported here.
    """
    if is_number(value):
        return value if dtype is None else encode(value, dtype), TensorType(dtype, ())
    if isinstance(value, list | tuple):
        if dtype is None:
            raise TypeInferenceError(
                f"a {type(value).__name__} has no dtype.", "Give one: Constant(value, dtype=...)."
            )
        shape = _shape(value)
        return b"".join(encode(number, dtype) for number in _numbers(value, shape)), TensorType(
            dtype, shape
        )
    refuse_lookalikes(value)
    if hasattr(value, "__dask_graph__"):
        raise TypeInferenceError(
            "a dask array is computed only when its user says so.",
            "Make it an Input and pass the array when the graph runs, or pass x.compute().",
        )
    if not hasattr(value, "__array__"):
        raise not_an_operand(value)
    data, found = _elements(value)
    if dtype not in (None, found.dtype):
        raise TypeInferenceError(
            f"an array of {found.dtype} is no constant of {dtype}.",
            "Convert it first: nothing is cast.",
        )
    return data, found


def _elements(value: Any) -> tuple[bytes, TensorType]:
    try:
        array = _as_known(value).__array__()
    except Exception as error:
        if isinstance(error, TypeError) and hasattr(value, "__buffer__"):
            # array-api-strict, from Python 3.12 on; it has native byte order only.
            view = memoryview(value)
            return view.tobytes(), TensorType(value.dtype, view.shape)
        raise TypeInferenceError(
            f"the values of this {type(value).__name__} cannot be read now: {error}",
            "Make it an Input and pass the array when the graph runs, or convert it to NumPy.",
        ) from error
    of_torch = str(getattr(value, "dtype", "")).startswith("torch.")
    found = TensorType(value.dtype if of_torch else array.dtype, array.shape)
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return array.tobytes(), found


def _as_known(value: Any) -> Any:
    """The same bits in a dtype that NumPy knows without help: torch's bfloat16 is none."""
    if str(getattr(value, "dtype", "")) != "torch.bfloat16" or value.requires_grad:
        return value
    return value.view(value.new_empty(0).short().dtype)


def is_number(value: Any) -> bool:
    """Whether `value` is a Python int or float itself; bool and NumPy scalars are not."""
    return type(value) is float or type(value) is int


def refuse_lookalikes(value: Any) -> None:
    """Raise for arrays that carry more than values: a mask, or an algebra of their own."""
    for base in type(value).__mro__:
        if base.__module__.startswith("numpy") and base.__name__ in ("MaskedArray", "matrix"):
            raise TypeInferenceError(
                f"{base.__name__} is not an array of plain values.",
                "Pass numpy.asarray(x), after filling in what a mask hides.",
            )


def not_an_operand(value: Any) -> TypeInferenceError:
    """The error for a value that is no node, array, int or float."""
    return TypeInferenceError(
        f"{type(value).__name__} is not an operand: {value!r:.60}.",
        "Use a node, an array, or a Python int or float.",
    )


def _shape(value: Any) -> tuple[int, ...]:
    shape: list[int] = []
    while isinstance(value, list | tuple):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return tuple(shape)


def _numbers(value: Any, shape: tuple[int, ...]) -> Iterator[int | float]:
    if not shape:
        if not is_number(value):
            raise not_an_operand(value)
        yield value
    elif not isinstance(value, list | tuple) or len(value) != shape[0]:
        raise ShapeError("the rows of this list differ in length.", "Make it rectangular.")
    else:
        for row in value:
            yield from _numbers(row, shape[1:])
