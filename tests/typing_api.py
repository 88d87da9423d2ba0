"""What a type checker sees of the public surface: run by mypy --strict, and imported by no test."""

from typing import Any, assert_type

import maxhard as mh

x = mh.Input("x", "float32", ("batch", 3))
assert_type(x, mh.Input)
assert_type(x.type, mh.TensorType)
assert_type(x.dtype, mh.DType | None)
assert_type(x.shape, tuple[int | str | None, ...] | None)
assert_type(x.ndim, int | None)
assert_type(x.name, str)
assert_type(x.origin, str)

assert_type(mh.Constant(1.5), mh.Constant)
assert_type(mh.Constant([1, 2], dtype="int8"), mh.Constant)

top = mh.Max(x, 1)
assert_type(top, mh.Max)
assert_type(top.version, int)
assert_type(top.opset, int)
hot = mh.Hardmax(top, axis=0, opset=12)
assert_type(hot, mh.Hardmax)
assert_type(hot.axis, int)

graph = mh.Graph({"hot": hot}, inputs=[x])
assert_type(graph.inputs, tuple[mh.Input, ...])
assert_type(graph.simplify(), mh.Graph)

program = mh.compile(graph, backend="numpy")
assert_type(program, mh.Program)
assert_type(program(1), Any)
assert_type(mh.evaluate(hot, {"x": 1}, "jax"), Any)
assert_type(mh.backends(), dict[str, str])
assert_type(mh.from_onnx("model.onnx", ["y"], cut=True), mh.Graph)


def name(node: mh.Node) -> str:
    match node:
        case mh.Input(name=found):
            return found
        case mh.Max(operands=operands):
            return str(len(operands))
        case mh.Hardmax(operand=operand, axis=axis):
            return f"{operand} {axis}"
        case _:
            return ""
