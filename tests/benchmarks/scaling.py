"""Cost against size: nodes, operands, memory, and the time of the import."""

import os
import subprocess
import sys
import tracemalloc
from statistics import median
from typing import Any

import numpy as np
from measure import timed

import maxhard as mh
from maxhard.backends.numpy import NumPyBackend

Row = dict[str, Any]


def nodes(counts: list[int]) -> list[Row]:
    """Microseconds a node: a chain of Max over two inputs, and the passes over it."""
    x, y = mh.Input("x", "float32", (8,)), mh.Input("y", "float32", (8,))
    arrays = np.ones(8, np.float32), np.zeros(8, np.float32)
    rows = []
    for count in counts:
        made: dict[str, Any] = {}

        def build() -> None:
            node: Any = x
            for i in range(count):  # noqa: B023
                node = mh.Max(node, y) if i % 2 else mh.Hardmax(node)
            made["node"] = node  # noqa: B023

        passes = {
            "build": build,
            "infer": lambda: made["node"].type,  # noqa: B023
            "simplify": lambda: mh.Graph(made["node"]).simplify(),  # noqa: B023
            "compile": lambda: made.update(program=mh.compile(made["node"])),  # noqa: B023
            "first call": lambda: made["program"](*arrays),  # noqa: B023
        }
        rows.append({"nodes": count} | {k: timed(f) / count * 1e6 for k, f in passes.items()})
    return rows


def operands(counts: list[int]) -> list[Row]:
    """Microseconds an operand: one Max of many arrays of 16 elements."""
    rows = []
    for count in counts:
        arrays = [np.full(16, i, np.float32) for i in range(count)]
        start = timed(lambda: mh.maximum(*arrays))  # noqa: B023
        again = median(timed(lambda: mh.maximum(*arrays)) for _ in range(5))  # noqa: B023
        rows.append(
            {"operands": count, "first call": start / count * 1e6, "call": again / count * 1e6}
        )
    return rows


def memory(rows_of_1024: list[int], threads: int) -> list[Row]:
    """MiB above the inputs: the result, and the peak of Hardmax(Max(x, y, 0.0))."""
    x, y = (mh.Input(name, "float32", ("n", 1024)) for name in "xy")
    program = mh.compile(mh.hardmax(mh.maximum(x, y, 0.0)), NumPyBackend(threads))
    found = []
    for n in rows_of_1024:
        arrays = [np.random.default_rng(i).random((n, 1024), np.float32) for i in range(2)]
        program(*arrays)
        tracemalloc.start()
        result = program(*arrays)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        found.append({"shape": f"({n}, 1024)", "result": result.nbytes / 2**20,
                      "beyond it": (peak - result.nbytes) / 2**20})  # fmt: skip
    return found


def import_time(rounds: int) -> float:
    """Milliseconds that `import maxhard` adds to the start of the interpreter."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def run(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)

    run("import maxhard")  # as any import but the first finds it: with its byte code written
    differences = []
    for _ in range(rounds):
        bare, ours = (timed(lambda: run(code)) for code in ("pass", "import maxhard"))  # noqa: B023
        differences.append((ours - bare) * 1e3)
    return median(differences)
