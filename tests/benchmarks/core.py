"""The numbers of the core, measured: python tests/benchmarks/core.py

Each line gives a number, its limit, and `ok` or `over`. Times are the smallest of several tries.
"""

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import maxhard as mh

over: list[str] = []


def report(what: str, value: float, limit: float, unit: str) -> None:
    verdict = "ok" if value < limit else "over"
    if value >= limit:
        over.append(what)
    print(f"{what:58} {value:9.3g} of {limit:6g} {unit:3} {verdict}", flush=True)


def seconds(act: Callable[[], Any], tries: int = 1) -> float:
    best = float("inf")
    for _ in range(tries):
        start = time.perf_counter()
        act()
        best = min(best, time.perf_counter() - start)
    return best


def interpreter_seconds(code: str) -> float:
    return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))


def imports() -> None:
    rounds = [[interpreter_seconds(code) for code in ("pass", "import maxhard")] for _ in range(15)]
    bare, full = map(min, zip(*rounds, strict=True))
    report("import maxhard, beyond the bare interpreter", 1e3 * (full - bare), 30, "ms")


def build(count: int) -> mh.Node:
    x: mh.Input = mh.Input("x", "float32", (2,))
    node: mh.Node = x
    for _ in range(count):
        node = mh.Max(node, x)
    return node


def build_public(count: int) -> mh.Node:
    x = mh.Input("x", "float32", (2,))
    node: Any = x
    for _ in range(count):
        node = mh.maximum(node, x)
    return node  # type: ignore[no-any-return]


def building() -> None:
    count = 100_000
    for name, act in (("mh.Max", build), ("mh.maximum", build_public)):
        report(f"build a node with {name}", 1e6 * seconds(lambda: act(count), 5) / count, 3, "us")  # noqa: B023


def typing() -> None:
    fresh = iter([build(100_000) for _ in range(3)])
    report("type 100,000 nodes", seconds(lambda: next(fresh).type, 3), 1, "s")


def million() -> None:
    made: list[Any] = []
    report("a chain of 1,000,000: build", seconds(lambda: made.append(build(1_000_000))), 3, "s")
    report("a chain of 1,000,000: type", seconds(lambda: made[0].type), 10, "s")
    report("a chain of 1,000,000: repr", seconds(lambda: repr(made[0])), 0.01, "s")
    text: list[str] = []
    report(
        "a chain of 1,000,000: print in part",
        seconds(lambda: text.append(str(mh.Graph(made[0])))),
        20,
        "s",
    )
    assert len(text[0]) < 100_000
    report("a chain of 1,000,000: compare", seconds(lambda: made[0] == made[0].operands[0]), 1, "s")
    report("a chain of 1,000,000: free", seconds(made.clear), 10, "s")


def sharing() -> None:
    def diamonds(levels: int) -> float:
        node: mh.Node = mh.Input("x", "float32", (2,))
        for _ in range(levels):
            node = mh.Max(node, node)
        return seconds(lambda: (node.type, repr(node), str(mh.Graph(node).simplify())))

    diamonds(64)
    report("64 diamonds: type, print, simplify", 1e3 * diamonds(64), 20, "ms")
    report("640 diamonds to 64, in time", diamonds(640) / diamonds(64), 30, "x")


def tiny_call() -> None:
    import numpy as np

    x, y = mh.Input("x", "float32", ("N", 8)), mh.Input("y", "float32", ("N", 8))
    program = mh.compile(mh.hardmax(mh.maximum(x, y)))
    a, b = np.random.default_rng(0).random((2, 4, 8), np.float32)
    program(a, b)

    def calls() -> None:
        for _ in range(1000):
            program(a, b)

    report("Hardmax(Max(x, y)) on (4, 8) float32, NumPy", 1e3 * seconds(calls, 15), 25, "us")


def jax_chain() -> None:
    try:
        import jax
    except ImportError:
        print("jax is not installed: its numbers are left out")
        return
    import numpy as np

    # Versions alternate, so that no rewrite can flatten the chain.
    x, y = mh.Input("x", "float32", (8,)), mh.Input("y", "float32", (8,))
    node: Any = x
    for i in range(2000):
        node = mh.maximum(node, y, opset=(8, 13)[i % 2])
    arrays = np.zeros((2, 8), np.float32)
    program = mh.compile(node, "jax")
    mh.compile(mh.maximum(x, y), "jax")(*arrays)  # JAX itself is warm
    report("jax, first call of 2,000 Max nodes", seconds(lambda: program(*arrays)), 10, "s")

    compiled = Records()
    logger = logging.getLogger("jax")
    logger.addHandler(compiled)
    with jax.log_compiles(True):
        mh.compile(mh.hardmax(x), "jax")(arrays[0])
        assert compiled.count, "the count must be able to fail"
        compiled.count = 0
        program(*arrays)
    logger.removeHandler(compiled)
    report("jax, programs traced or compiled by a second call", compiled.count, 1, "")


class Records(logging.Handler):
    """Counts what is logged."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


if __name__ == "__main__":
    print(
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, Python {sys.version.split()[0]}"
    )
    for benchmark in (imports, building, typing, million, sharing, tiny_call, jax_chain):
        benchmark()
    sys.exit(f"over its limit: {'; '.join(over)}" if over else 0)
