"""Measure maxhard beside its peers: python tests/benchmarks/run.py [--quick] [--write]

Prints a line for each row as it is measured. `--write` writes docs/performance.md, the pictures
beside it, and all numbers as JSON.
"""

import argparse
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import report
import scaling
from measure import interleaved, ratio
from peers import Function, fused_peers, hardmax_peers, max_peers, to_jax

import maxhard as mh
from cases import Case, cases, tiny
from maxhard.backends.numpy import NumPyBackend

Row = dict[str, Any]


def measured(case: Case, threads: int, seconds: float, rounds: int, clock: str) -> Row:
    """One row: ours on NumPy and on JAX, the peers and a copy, taken in turns."""
    arrays = case.arrays(seed=0)
    program = program_of(case, NumPyBackend(threads))
    functions: dict[str, Function] = {"maxhard": lambda: program(*arrays)}
    peers = peers_of(case, arrays, threads)
    if "jax" in peers:
        on_jax, moved = program_of(case, "jax"), to_jax(arrays)
        functions["maxhard on jax"] = lambda: on_jax(*moved).block_until_ready()
    largest = max(arrays, key=lambda x: x.size)
    functions |= {"copy": largest.copy} | peers
    times = interleaved(functions, seconds, rounds, clock)
    medians = {name: sorted(spans)[len(spans) // 2] * 1e3 for name, spans in times.items()}
    best = min(peers, key=lambda name: medians[name])
    row = {"op": case.op, "case": case.text, "dtype": case.dtype, "data": case.data}
    row |= {
        "tiny": case.is_tiny,
        "ms": medians,
        "best peer": best,
        "to best": ratio(times["maxhard"], times[best]),
    }
    row["to copy"] = ratio(times["maxhard"], times["copy"])
    if "jax" in peers:
        row["jax to naive"] = ratio(times["maxhard on jax"], times["jax"])
    row["to numpy"] = ratio(times["maxhard"], times["numpy"])
    return row


def spread(group: list[Case], threads: int, rounds: int, clock: str) -> Row:
    """Ours on every kind of data, beside one another: the worst to the ordinary."""
    program = program_of(group[0], NumPyBackend(threads))
    functions: dict[str, Function] = {}
    for case in group:
        arrays = case.arrays(seed=1)
        functions[case.data] = lambda arrays=arrays: program(*arrays)  # type: ignore[misc]
    times = interleaved(functions, 1.0, rounds, clock)
    ratios = {data: ratio(spans, times["normal"]) for data, spans in times.items()}
    worst = max(ratios, key=lambda data: ratios[data])
    first = group[0]
    return {"op": first.op, "case": first.text, "dtype": first.dtype,
            "worst data": worst, "to ordinary": ratios[worst]}  # fmt: skip


def program_of(case: Case, backend: Any) -> Any:
    inputs: list[Any] = [
        mh.Input(f"x{i}", case.dtype, shape) for i, shape in enumerate(case.shapes)
    ]
    outputs = mh.maximum(*inputs) if "Max" in case.op else inputs[0]
    return mh.compile(
        mh.Graph(mh.hardmax(outputs, case.axis) if "Hardmax" in case.op else outputs, inputs),
        backend,
    )


def peers_of(case: Case, arrays: list[Any], threads: int) -> dict[str, Function]:
    if case.op == "Max":
        return max_peers(arrays, threads)
    if case.op == "Hardmax":
        return hardmax_peers(arrays[0], case.axis, threads)
    return fused_peers(arrays, threads)


def line(row: Row) -> str:
    return (
        f"{row['op']:13}{row['case']:34}{row['dtype']:9}{row['data']:11}"
        f"{row['ms']['maxhard']:9.3f} ms {row['to best']:7.2f} x {row['best peer']:15}"
        f"{row['to copy']:7.1f} x copy   jax {row.get('jax to naive', 0):5.2f} x naive"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ordinary data, few rounds")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument(
        "--clock", choices=("wall", "cpu"), default="wall", help="cpu: of a busy machine"
    )
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    options = parser.parse_args()
    threads = options.threads
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])  # for XLA's pool
    warnings.simplefilter("ignore")
    if "torch" in sys.modules or _has("torch"):
        import torch

        torch.set_num_threads(threads)
    rounds, seconds = (3, 0.5) if options.quick else (25, 1.5)
    chosen = [case for case in (*cases(), *tiny()) if options.only in case.name]
    rows, spreads = [], []
    groups: dict[Any, list[Case]] = {}
    for case in chosen:
        groups.setdefault((case.op, case.text, case.dtype), []).append(case)
    for group in groups.values():
        for case in group[:1] if options.quick else group:
            rows.append(measured(case, threads, seconds, rounds, options.clock))
            print(line(rows[-1]), flush=True)
        if len(group) > 1:
            spreads.append(spread(group, threads, rounds, options.clock))
            print(f"{'':13}worst data: {spreads[-1]['worst data']}, "
                  f"{spreads[-1]['to ordinary']:.2f} x ordinary")  # fmt: skip
    found: Row = {
        "machine": report.machine(threads, options.clock),
        "rows": rows,
        "spread": spreads,
    }
    if not options.only:
        largest = 10**4 if options.quick else 10**6
        found["nodes"] = scaling.nodes(
            [n for n in (10, 100, 10**3, 10**4, 10**5, 10**6) if n <= largest]
        )
        found["operands"] = scaling.operands([2, 10, 100, 1000, 10000])
        found["memory"] = scaling.memory([256, 1024, 4096, 8192], threads)
        found["import ms"] = scaling.import_time(5 if options.quick else 15)
        for key in ("nodes", "operands", "memory"):
            for row in found[key]:
                print(key, {k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()})
        print(f"import maxhard: {found['import ms']:.0f} ms")
    print(*report.missed(found), sep="\n")
    if options.write:
        docs = Path(__file__).parents[2] / "docs"
        report.write(found, docs, " ".join(["python tests/benchmarks/run.py", *sys.argv[1:]]))
        (docs / "_static" / "performance.json").write_text(json.dumps(found, indent=1) + "\n")


def _has(library: str) -> bool:
    from importlib.util import find_spec

    return find_spec(library) is not None


if __name__ == "__main__":
    main()
