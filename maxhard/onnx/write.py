"""A graph as a model: as few nodes as its opset allows."""

from collections.abc import Iterable
from typing import Any, assert_never

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from ..backends.arrays import from_bytes
from ..graph.dtypes import DType
from ..graph.errors import OpsetError
from ..graph.infer import is_weak, solve
from ..graph.nodes import AnyNode, Constant, Hardmax, Input, Max
from ..graph.scalars import encode as encode_number
from ..graph.show import operation_text
from ..graph.types import Shape, TensorType
from ..graph.versions import LATEST_OPSET, checked_opset, max_version
from ..structure import Graph
from .convert import Direct, Rows, Swapped, check_max, hardmax_form, not_equal, spread_size
from .errors import OnnxError
from .tensors import ELEMENT_TYPES, encode

_FIRST_IR_4 = 9  # the opset of IR version 4, since when initializers need not be inputs as well
_LARGEST_SPREAD = 2**30  # bytes


def write(outputs: Any, opset: int) -> ModelProto:
    """See `maxhard.to_onnx`."""
    checked_opset(opset)
    newest = min(LATEST_OPSET, onnx.defs.onnx_opset_version())
    if opset > newest:
        raise OpsetError(
            f"the installed onnx {onnx.__version__} knows opsets up to {newest}, not {opset}.",
            "Install a newer onnx, or write an older opset.",
        )
    graph = (outputs if isinstance(outputs, Graph) else Graph(outputs)).simplify()
    names = _output_names(graph)
    writer = _Writer(graph, names, opset)
    inputs = [writer.value_info(x, x.name) for x in graph.inputs]
    for node in graph.nodes:
        writer.add(node)
    for node, name in zip(graph.output_nodes, names, strict=True):
        writer.add_output(node, name)
    oldest = helper.make_opsetid("", max(opset, _FIRST_IR_4))
    return helper.make_model(
        helper.make_graph(
            writer.operations,
            "maxhard",
            inputs,
            [writer.value_info(*pair) for pair in zip(graph.output_nodes, names, strict=True)],
            list(writer.initializers.values()),
        ),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=helper.find_min_ir_version_for([oldest]),
        producer_name="maxhard",
    )


def _output_names(graph: Graph) -> list[str]:
    inputs = {node.name for node in graph.inputs}
    count = len(graph.output_nodes)
    if graph.keys is not None:
        for key in graph.keys:
            if not isinstance(key, str) or not key:
                raise OnnxError(f"the output {key!r} has no name.", "Use strings as keys.")
            if key in inputs:
                raise OnnxError(
                    f"an output and an input are both named {key!r}.",
                    "Name them apart: in ONNX they would be one tensor.",
                )
        return list(graph.keys)
    is_single = not isinstance(graph.outputs, tuple)
    wanted = ["output"] if is_single else [f"output_{i}" for i in range(count)]
    taken = set(inputs)
    return [_fresh(name, taken) for name in wanted]


def _fresh(name: str, taken: set[str]) -> str:
    """`name`, or the first of `name_1`, `name_2`, ... that is not taken; taken from now on."""
    found, number = name, 0
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found


class _Writer:
    """Collects the operations and initializers of one model."""

    def __init__(self, graph: Graph, outputs: Iterable[str], opset: int) -> None:
        self.opset = opset
        self.types = solve((*graph.nodes, *(x for x in graph.inputs if x not in graph.nodes)))
        self.operations: list[NodeProto] = []
        self.initializers: dict[Any, TensorProto] = {}
        self.taken = {*outputs, *(node.name for node in graph.inputs)}
        self.counts: dict[str, int] = {}
        self.named: dict[AnyNode, str] = {node: node.name for node in graph.inputs}
        # The first output that a node is gives its tensor the name; others are copies.
        self.wanted: dict[AnyNode, str] = {}
        for node, name in zip(graph.output_nodes, outputs, strict=True):
            if isinstance(node, Max | Hardmax):
                self.wanted.setdefault(node, name)

    def add(self, node: AnyNode) -> None:
        """Write what computes `node`, after its operands."""
        try:
            match node:
                case Input() | Constant():
                    pass
                case Max():
                    self.add_max(node)
                case Hardmax():
                    self.add_hardmax(node)
                case _:
                    assert_never(node)
        except OnnxError as error:
            operands = getattr(node, "operands", None) or [getattr(node, "operand", node)]
            types = [self.types[operand] for operand in operands]
            raise error.within(operation_text(node, types)) from None

    def add_max(self, node: Max) -> None:
        types = [self.types[operand] for operand in node.operands]
        spread = check_max(node, types, self.types[node], self.opset)
        dtype = self.dtype(node)
        names = []
        for operand, type_ in zip(node.operands, types, strict=True):
            if isinstance(operand, Constant):
                names.append(self.constant(operand, dtype, spread))
            elif spread is not None and type_.shape != spread:
                raise not_equal(types, max_version(self.opset))
            else:
                names.append(self.named[operand])
        self.named[node] = self.operation("Max", names, self.wanted.get(node))

    def add_hardmax(self, node: Hardmax) -> None:
        operand, name = self.operand(node.operand, self.dtype(node)), self.wanted.get(node)
        form = hardmax_form(node, self.types[node.operand], self.opset)
        match form:
            case Direct(axis):
                self.named[node] = self.operation("Hardmax", [operand], name, axis=axis)
            case Rows(axis, target):
                rows = self.operation("Flatten", [operand], axis=axis)
                hot = self.operation("Hardmax", [rows], axis=-1)
                if target is None:
                    shape = self.operation("Shape", [operand])
                    keeps_zeros = {"allowzero": 1} if self.opset >= 14 else {}
                    parts = [hot, shape]
                    self.named[node] = self.operation("Reshape", parts, name, **keeps_zeros)
                else:
                    parts = [hot, self.vector(target)]
                    self.named[node] = self.operation("Reshape", parts, name)
            case Swapped(perm, axis):
                moved = self.operation("Transpose", [operand], perm=perm)
                hot = self.operation("Hardmax", [moved], axis=axis)
                self.named[node] = self.operation("Transpose", [hot], name, perm=perm)
            case _:
                assert_never(form)

    def add_output(self, node: AnyNode, name: str) -> None:
        """Give `node` the name of an output, by a copy where it has another already."""
        if self.wanted.get(node) == name:
            return
        dtype = self.dtype(node)
        if dtype is DType.BFLOAT16 and self.opset < 13:
            raise OnnxError(f"the output {name!r} is bfloat16.", "It came with opset 13.")
        self.operation("Identity", [self.operand(node, dtype)], name)

    def operand(self, node: AnyNode, dtype: DType) -> str:
        return self.constant(node, dtype, None) if isinstance(node, Constant) else self.named[node]

    def operation(
        self, kind: str, operands: list[str], name: str | None = None, **attributes: Any
    ) -> str:
        """Write one operation; the name of its result, which is its own name too."""
        result = name or self.fresh(kind.lower())
        self.operations.append(
            helper.make_node(kind, operands, [result], name=result, **attributes)
        )
        return result

    def constant(self, node: Constant, dtype: DType, spread: Shape) -> str:
        """The initializer of a constant: a number in the dtype asked for, spread to a shape."""
        data, type_ = node.data, node.declared
        if is_weak(node):
            data, type_ = encode_number(node.number, dtype), TensorType(dtype, ())
        assert isinstance(data, bytes)
        if spread is not None and type_.shape != spread:
            if spread_size(spread, type_) > _LARGEST_SPREAD:
                raise not_equal([type_, TensorType(dtype, spread)], max_version(self.opset))
            shape: Any = spread
            data = np.broadcast_to(from_bytes(data, type_), shape).tobytes()
            type_ = TensorType(dtype, spread)
        return self.initializer(data, type_)

    def vector(self, sizes: tuple[int, ...]) -> str:
        data = b"".join(encode_number(size, DType.INT64) for size in sizes)
        return self.initializer(data, TensorType(DType.INT64, (len(sizes),)))

    def initializer(self, data: bytes, type_: TensorType) -> str:
        key = data, type_
        if key not in self.initializers:
            self.initializers[key] = encode(self.fresh("constant"), data, type_)
        return self.initializers[key].name

    def dtype(self, node: AnyNode) -> DType:
        dtype = self.types[node].dtype
        if dtype is None:
            raise OnnxError(
                "nothing says which dtype this has, and ONNX wants one.",
                "Give one: Input(name, dtype), Constant(value, dtype).",
                operation_text(node, ()),
            )
        return dtype

    def value_info(self, node: AnyNode, name: str) -> ValueInfoProto:
        dtype = ELEMENT_TYPES[self.dtype(node)]
        shape = self.types[node].shape
        if shape is None:
            raise OnnxError(
                f"the rank of {name!r} is not known, and ONNX wants one for inputs and outputs.",
                "Give each Input a shape; its dims may be names, or None.",
                operation_text(node, ()),
            )
        return helper.make_tensor_value_info(name, dtype, shape)

    def fresh(self, name: str) -> str:
        """A name that nothing has, counted so that many take no longer than a few."""
        while True:
            number = self.counts.get(name, 0)
            self.counts[name] = number + 1
            found = f"{name}_{number}"
            if found not in self.taken:
                self.taken.add(found)
                return found
