"""`onnx.backend.base.Backend`, with which ONNX's own test suite drives a runtime."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper
from onnx.backend.base import Backend as OnnxBackend, BackendRep, Device, DeviceType

from ..backends import Backend, get
from ..graph.dtypes import DType
from ..graph.errors import BackendError, BindingError, GraphError
from ..graph.versions import LATEST_OPSET
from ..program import Program
from .read import read
from .tensors import ELEMENT_TYPES

Array = Any


@cache
def backend_class(backend: Any) -> type[OnnxBackend]:
    """See `maxhard.onnx.backend_class`."""
    found = get(backend)
    return type(f"{found.name.title()}Backend", (MaxhardBackend,), {"backend": found})


class Prepared(BackendRep):
    """A model that is ready to run."""

    def __init__(self, model: ModelProto, backend: Backend, device: str) -> None:
        initializers = {tensor.name for tensor in model.graph.initializer}
        self.names = [x.name for x in model.graph.input if x.name not in initializers]
        graph = read(model, None, False)
        self.program = Program(graph, backend)
        self.backend, self.device = backend, device

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for arrays in the model's order, or by name, as NumPy arrays."""
        if not isinstance(inputs, Mapping):
            if not isinstance(inputs, Sequence):
                inputs = [inputs]
            if len(inputs) != len(self.names):
                raise BindingError(
                    f"{len(inputs)} arrays for {len(self.names)} inputs.",
                    f"The inputs are: {', '.join(self.names) or 'none'}.",
                )
            inputs = dict(zip(self.names, inputs, strict=True))
        with _on(self.backend, self.device):
            arrays = {name: self.backend.from_numpy(np.asarray(inputs[name])) for name in inputs}
            results = self.program(**arrays)
            return tuple([self.backend.to_numpy(result) for result in results.values()])


class MaxhardBackend(OnnxBackend):
    """Runs models of Max and Hardmax; a subclass for each array library, see `backend_class`."""

    backend: Backend

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the model has nothing but Max and Hardmax."""
        try:
            read(model, None, False)
        except GraphError:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        """Check the model and lower it."""
        if not cls.supports_device(device):
            raise BackendError(
                f"{cls.backend.name} has no device {device} here.", "Use another device."
            )
        return Prepared(model, cls.backend, device)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run one node at `opset_version`, or at the newest opset that is known."""
        newest = min(LATEST_OPSET, onnx.defs.onnx_opset_version())
        arrays = [np.asarray(each) for each in inputs]
        values = [
            helper.make_tensor_value_info(name, ELEMENT_TYPES[DType.of(x.dtype)], x.shape)
            for name, x in dict(zip(node.input, arrays, strict=False)).items()
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
        opset = helper.make_opsetid("", kwargs.get("opset_version", newest))
        graph = helper.make_graph([node], "node", values, outputs)
        model = helper.make_model(graph, opset_imports=[opset])
        return cls.prepare(model, device).run(dict(zip(node.input, arrays, strict=False)))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the array library has such a device on this machine."""
        try:
            kind = Device(device).type
        except (AttributeError, ValueError):
            return False
        return kind == DeviceType.CPU or bool(_gpus(cls.backend))


def _gpus(backend: Backend) -> list[Any]:
    if backend.name != "jax":
        return []
    import jax

    return [device for device in jax.devices() if device.platform == "gpu"]


def _on(backend: Backend, device: str) -> AbstractContextManager[Any]:
    if backend.name != "jax":
        return nullcontext()
    import jax

    wanted = Device(device)
    if wanted.type == DeviceType.CPU:
        return jax.default_device(jax.devices("cpu")[0])  # type: ignore[no-any-return]
    return jax.default_device(_gpus(backend)[wanted.device_id])  # type: ignore[no-any-return]
