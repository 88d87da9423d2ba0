"""Arrays bound to inputs: every promise about dtype, rank, sizes and names is checked here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .graph.errors import BindingError, GraphError, ShapeError, TypeInferenceError
from .graph.nodes import Input
from .graph.types import TensorType


def ordered(
    inputs: Sequence[Input], arrays: Sequence[Any], by_name: Mapping[str, Any]
) -> tuple[Any, ...]:
    """The arrays in the order of `inputs`: some by position, the others by name."""
    names = [node.name for node in inputs]
    check_names(inputs, by_name)
    twice = sorted(set(by_name) & set(names[: len(arrays)]))
    if twice:
        raise BindingError(
            f"{', '.join(twice)} is passed by position and by name.", "Pass each input once."
        )
    absent = [x for x in inputs[len(arrays) :] if x.name not in by_name]
    missing_inputs(absent, ())
    return (*arrays, *(by_name[name] for name in names[len(arrays) :]))


def check_names(inputs: Sequence[Input], names: Iterable[str]) -> None:
    """Raise unless there is an input of each of these names."""
    known = [node.name for node in inputs]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise BindingError(
            f"no input is named {', '.join(unknown)}.", f"The inputs are: {', '.join(known)}."
        )


def missing_inputs(inputs: Sequence[Input], arrays: Sequence[Any]) -> None:
    """Raise unless there is one array for each input."""
    if len(arrays) < len(inputs):
        missing = ", ".join(f"{x.name}: {x.declared}" for x in inputs[len(arrays) :])
        raise BindingError(f"inputs are missing: {missing}.", "Pass one array for each input.")
    if len(arrays) > len(inputs):
        names = ", ".join(x.name for x in inputs) or "none"
        raise BindingError(
            f"{len(arrays)} arrays for {len(inputs)} inputs.", f"The inputs are: {names}."
        )


def check_bound(
    inputs: Sequence[Input], arrays: Sequence[Any], type_of: Callable[[Any], TensorType]
) -> dict[Input, TensorType]:
    """The types of the arrays bound to `inputs`, after checking them against what is declared."""
    types: dict[Input, TensorType] = {}
    sizes: dict[str, tuple[int, str]] = {}
    for node, array in zip(inputs, arrays, strict=True):
        try:
            types[node] = type_of(array)
            _check_one(node, types[node], sizes)
        except GraphError as error:
            raise error.within(input_text(node)) from None
    return types


def input_text(node: Input) -> str:
    """The input and its line, for an error about the array bound to it."""
    return f"Input {node.name}: {node.declared}, made at {node.origin}"


def _check_one(node: Input, bound: TensorType, sizes: dict[str, tuple[int, str]]) -> None:
    name, declared = node.name, node.declared
    if declared.dtype not in (None, bound.dtype):
        raise TypeInferenceError(
            f"{name} is {declared.dtype}, and the array passed is {bound}.",
            "Convert the array first: nothing is cast.",
        )
    if declared.shape is None or bound.shape is None:
        return
    if len(declared.shape) != len(bound.shape):
        raise ShapeError(
            f"{name} has rank {len(declared.shape)}, and the array passed, {bound}, has rank "
            f"{len(bound.shape)}.",
            "Reshape the array, or declare the other rank.",
        )
    for axis, (dim, size) in enumerate(zip(declared.shape, bound.shape, strict=True)):
        if dim is None or not isinstance(size, int):
            continue
        place = f"axis {axis} of {name}"
        if isinstance(dim, int) and size != dim:
            raise ShapeError(
                f"{place} is declared {dim}, and the array passed, {bound}, has {size} there.",
                "Pass an array of that size, or give the dim a name.",
            )
        if isinstance(dim, str) and sizes.setdefault(dim, (size, place))[0] != size:
            first, where = sizes[dim]
            raise ShapeError(
                f"dim {dim} is {first} in {where} and {size} in {place}.",
                "One name is one size: pass arrays that agree, or name the dims apart.",
            )
