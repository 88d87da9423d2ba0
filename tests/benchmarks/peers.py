"""The rivals: what one would write without maxhard, on each library that is installed."""

from collections.abc import Callable
from functools import cache, reduce
from importlib.util import find_spec
from typing import Any

import numpy as np

Array = Any
Function = Callable[[], object]

ONNX_TYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7,
    "float16": 10, "float64": 11, "uint32": 12, "uint64": 13, "bfloat16": 16,
}  # fmt: skip
TORCH_LACKS = {"uint16", "uint32", "uint64"}  # torch.maximum: not implemented


def max_peers(arrays: list[Array], threads: int) -> dict[str, Function]:
    """Plain Max of NumPy arrays, by each library."""
    dtype = arrays[0].dtype.name

    def chain() -> Array:
        out = np.maximum(arrays[0], arrays[1])
        for array in arrays[2:]:
            np.maximum(out, array, out=out)
        return out

    found: dict[str, Function] = {"numpy": chain}
    if find_spec("jax"):
        found["jax"] = on_jax(jax_max(), arrays)
    found |= onnx_peers("Max", arrays, threads)
    if find_spec("torch") and dtype not in TORCH_LACKS:
        import torch

        tensors = [to_torch(array) for array in arrays]

        def torch_chain() -> Array:
            out = torch.maximum(tensors[0], tensors[1])
            for tensor in tensors[2:]:
                torch.maximum(out, tensor, out=out)
            return out

        found["torch"] = torch_chain
    return found


def hardmax_peers(x: Array, axis: int, threads: int) -> dict[str, Function]:
    """Plain Hardmax of a NumPy array, by each library."""
    found: dict[str, Function] = {"numpy": lambda: numpy_hardmax(x, axis)}
    if find_spec("jax"):
        found["jax"] = on_jax(jax_hardmax(axis), [x])
    found |= onnx_peers("Hardmax", [x], threads, axis=axis)
    if find_spec("torch"):
        tensor = to_torch(x)
        found["torch"] = lambda: torch_hardmax(tensor, axis)
    return found


def fused_peers(arrays: list[Array], threads: int) -> dict[str, Function]:
    """Plain Hardmax(Max(...)) along the last axis."""

    def by_numpy() -> Array:
        out = np.maximum(arrays[0], arrays[1])
        for array in arrays[2:]:
            np.maximum(out, array, out=out)
        return numpy_hardmax(out, -1)

    found: dict[str, Function] = {"numpy": by_numpy}
    if find_spec("jax"):
        import jax

        largest, first = jax_max(), jax_hardmax(-1)
        found["jax"] = on_jax(jax.jit(lambda *xs: first(largest(*xs))), arrays)
    found |= onnx_peers("Max, Hardmax", arrays, threads, axis=-1)
    if find_spec("torch"):
        import torch

        tensors = [to_torch(array) for array in arrays]
        found["torch"] = lambda: torch_hardmax(reduce(torch.maximum, tensors), -1)
    return found


def numpy_hardmax(x: Array, axis: int) -> Array:
    out = np.zeros_like(x)
    np.put_along_axis(out, np.expand_dims(x.argmax(axis), axis), 1, axis)
    return out


@cache
def jax_max() -> Any:
    import jax
    import jax.numpy as jnp

    return jax.jit(lambda *xs: reduce(jnp.maximum, xs))


@cache
def jax_hardmax(axis: int) -> Any:
    import jax
    import jax.numpy as jnp

    def hardmax(x: Array) -> Array:
        places = jnp.arange(x.shape[axis]).reshape([-1] + [1] * (x.ndim - 1 - axis % x.ndim))
        return (places == jnp.argmax(x, axis, keepdims=True)).astype(x.dtype)

    return jax.jit(hardmax)


def to_jax(arrays: list[Array]) -> list[Array]:
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        return [jnp.array(array) for array in arrays]


def on_jax(function: Any, arrays: list[Array]) -> Function:
    import jax

    moved = to_jax(arrays)
    if arrays[0].dtype.itemsize < 8:
        return lambda: function(*moved).block_until_ready()

    def with_64_bits() -> Array:
        with jax.enable_x64(True):
            return function(*moved).block_until_ready()

    return with_64_bits


def to_torch(array: Array) -> Any:
    import torch

    array = np.ascontiguousarray(array).reshape(array.shape)
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def torch_hardmax(x: Any, axis: int) -> Any:
    import torch

    return torch.zeros_like(x).scatter_(axis, torch.argmax(x, axis, keepdim=True), 1.0)


def onnx_peers(
    ops: str, arrays: list[Array], threads: int, **attributes: int
) -> dict[str, Function]:
    """onnxruntime, where it has a kernel, and onnx.reference."""
    if not find_spec("onnx"):
        return {}
    import onnx
    from onnx import helper

    names, kind = [f"x{i}" for i in range(len(arrays))], ONNX_TYPES[arrays[0].dtype.name]
    nodes, operands = [], names
    for op in ops.split(", "):
        nodes.append(helper.make_node(op, operands, [op], **({} if op == "Max" else attributes)))
        operands = [op]
    graph = helper.make_graph(
        nodes,
        "peer",
        [
            helper.make_tensor_value_info(n, kind, x.shape)
            for n, x in zip(names, arrays, strict=True)
        ],
        [helper.make_tensor_value_info(operands[0], kind, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    feeds = dict(zip(names, arrays, strict=True))
    found: dict[str, Function] = {}
    if find_spec("onnxruntime"):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            found["onnxruntime"] = lambda: session.run(None, feeds)
        except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
            pass  # no kernel for the dtype
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(onnx.load_from_string(model.SerializeToString()))
    found["onnx.reference"] = lambda: evaluator.run(None, feeds)
    return found
