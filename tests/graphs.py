"""Random graphs: described in plain data, so that they can be built, run and compared anywhere."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import oracle
from cases import Array, patterns

Shape = tuple[int | str | None, ...] | None
NAMES = ("N", "M", "2*h")
ODD: tuple[int | str, ...] = (1, 2, *NAMES)


@dataclass(frozen=True)
class Step:
    """Max of the values at `operands`, or Hardmax of the only one along `axis`."""

    operands: tuple[int, ...]
    axis: int | None
    opset: int

    def apply(self, maximum: Callable[..., Any], hardmax: Callable[..., Any], values: Any) -> Any:
        operands = [values[i] for i in self.operands]
        if self.axis is None:
            return maximum(*operands, opset=self.opset)
        return hardmax(*operands, self.axis, opset=self.opset)


@dataclass(frozen=True)
class Description:
    """Inputs with declared shapes, the sizes they turn out to have, and steps over all values.

    Value i is input i, and after the inputs the result of a step; the last one is the output.
    Inputs whose index is in `constants` are known when the graph is built.
    """

    dtype: str
    declared: tuple[Shape, ...]
    sizes: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]
    constants: tuple[int, ...] = ()
    kind: str = "ties"

    @property
    def live(self) -> set[int]:
        """The values that the output depends on."""
        count = len(self.sizes)
        live = {count + len(self.steps) - 1}
        for index in reversed(range(len(self.steps))):
            if count + index in live:
                live.update(self.steps[index].operands)
        return live

    def build(
        self, maximum: Callable[..., Any], hardmax: Callable[..., Any], inputs: Sequence[Any]
    ) -> Any:
        values: list[Any] = list(inputs)
        for step in self.steps:
            is_live = len(values) in self.live
            values.append(step.apply(maximum, hardmax, values) if is_live else None)
        return values[-1]

    def bits(self) -> list[Array]:
        return [
            patterns(self.dtype, shape, self.kind, seed) for seed, shape in enumerate(self.sizes)
        ]

    def expected(self) -> Array:
        """The bits of the output by the oracle; ValueError or IndexError where it has none."""

        def maximum(*operands: Array, opset: int) -> Array:
            if opset < 8 and len({bits.shape for bits in operands}) > 1:
                raise ValueError("shapes differ")
            return oracle.maximum(self.dtype, operands)

        def hardmax(operand: Array, axis: int, opset: int) -> Array:
            return oracle.hardmax(self.dtype, operand, axis, opset)

        return np.asarray(self.build(maximum, hardmax, self.bits()))


@st.composite
def descriptions(
    draw: st.DrawFn,
    *,
    opsets: Sequence[int] = (13,),
    symbolic: bool = True,
    constants: bool = False,
    most_steps: int = 6,
) -> Description:
    """Graphs of up to `most_steps` operators; their sizes keep one name to one size."""
    bound = {name: draw(st.sampled_from([1, 1, 2, 3, 0])) for name in NAMES}
    common = draw(st.lists(st.sampled_from((0, 3, *ODD)), max_size=3))
    declared: list[Shape] = []
    sizes: list[tuple[int, ...]] = []
    for _ in range(draw(st.integers(1, 4))):
        rank = draw(st.integers(0, len(common)))
        shape: list[int | str | None] = []
        size: list[int] = []
        for usual in common[len(common) - rank :]:
            dim = draw(st.sampled_from(ODD) | st.just(usual))
            size.append(bound[dim] if isinstance(dim, str) else dim)
            unknown = symbolic and draw(st.integers(0, 5)) == 0
            shape.append(None if unknown else dim if symbolic else size[-1])
        sizes.append(tuple(size))
        declared.append(None if symbolic and draw(st.integers(0, 9)) == 0 else tuple(shape))
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, most_steps))):
        value = st.integers(0, len(sizes) + len(steps) - 1)
        opset = draw(st.sampled_from(opsets))
        if draw(st.integers(0, 2)):
            operands = draw(st.lists(value, min_size=1, max_size=4))
            steps.append(Step(tuple(operands), None, opset))
        else:
            steps.append(Step((draw(value),), draw(st.integers(-2, 1)), opset))
    known = draw(st.sets(st.integers(0, len(sizes) - 1))) if constants else set()
    return Description(
        dtype=draw(st.sampled_from(["float32", "float16"])) if constants else "float32",
        declared=tuple(declared),
        sizes=tuple(sizes),
        steps=tuple(steps),
        constants=tuple(sorted(known)),
        kind=draw(st.sampled_from(["ties", "specials"])),
    )
