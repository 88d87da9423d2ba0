"""Libraries whose arrays lie on one of several devices: all of a call on one, constants too."""

from collections.abc import Callable, Sequence
from typing import Any

from ..graph.errors import TypeInferenceError
from ..graph.nodes import Input

Array = Any
Function = Callable[[Sequence[Array]], list[Array]]


def on_one_device(inputs: Sequence[Input], lower_on: Callable[[Any], Function]) -> Function:
    """A function that runs where its arrays are; `lower_on(device)` is called once for each.

    Without arrays the device is None.
    """
    lowered: dict[str, Function] = {}

    def call(arrays: Sequence[Array]) -> list[Array]:
        device = _device(inputs, arrays)
        key = str(device)
        if key not in lowered:
            lowered[key] = lower_on(device)
        return lowered[key](arrays)

    return call


def _device(inputs: Sequence[Input], arrays: Sequence[Array]) -> Any:
    devices = [array.device for array in arrays]
    for device in devices[1:]:
        if device != devices[0]:
            places = [f"{x.name} on {place}" for x, place in zip(inputs, devices, strict=True)]
            raise TypeInferenceError(
                f"the arrays are on different devices: {', '.join(places)}.",
                "Move them to one device.",
            )
    return devices[0] if devices else None
