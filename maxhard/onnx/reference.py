"""Max and Hardmax for `onnx.reference.ReferenceEvaluator`, so that any model runs with ours."""

from functools import cache
from typing import Any

from onnx.reference.op_run import OpRun

from ..backends import get
from ..eager import hardmax, maximum
from .source import DEFAULT_DOMAINS

Array = Any


@cache
def operators(backend: Any) -> list[type[OpRun]]:
    """See `maxhard.onnx.operators`."""
    library = get(backend)

    class Max(OpRun):  # the evaluator finds operators by class name
        def _run(self, *operands: Array, **kwargs: Any) -> tuple[Array]:
            arrays = [library.from_numpy(operand) for operand in operands]
            return (library.to_numpy(maximum(*arrays, opset=_opset(self))),)

    class Hardmax(OpRun):
        def _run(self, x: Array, axis: int | None = None, **kwargs: Any) -> tuple[Array]:
            if not any(each.name == "axis" for each in self.onnx_node.attribute):
                axis = None  # what is given then is the default of the newest version
            result = hardmax(library.from_numpy(x), axis, opset=_opset(self))
            return (library.to_numpy(result),)

    return [Max, Hardmax]


def _opset(operator: OpRun) -> int:
    opsets = operator.run_params["opsets"]
    return int(next(opsets[domain] for domain in DEFAULT_DOMAINS if domain in opsets))
