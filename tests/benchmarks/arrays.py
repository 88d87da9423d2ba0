"""What exactness costs on torch and dask: our Max and Hardmax against the naive ones.

Each line gives a ratio of times, its limit, and `ok` or `over`. `--clock cpu` on a busy machine.
"""

import argparse
import os
import sys
from collections.abc import Callable

import dask.array as da
import torch
from measure import CLOCKS, interleaved, ratio

import maxhard as mh

SIZE = 4_000_000
over: list[str] = []


def report(
    what: str, ours: Callable[[], object], naive: Callable[[], object], limit: float
) -> None:
    times = interleaved({"ours": ours, "naive": naive}, 4, 30, options.clock)
    value = ratio(times["ours"], times["naive"])
    best = f"{1e3 * min(times['ours']):.2f} against {1e3 * min(times['naive']):.2f} ms"
    print(f"{what:46} {value:6.2f}  limit {limit}  {'ok' if value < limit else 'over'}  {best}")
    if value >= limit:
        over.append(what)


def torch_max() -> None:
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        x, y = (torch.randn(SIZE).to(dtype) for _ in range(2))
        report(
            f"torch Max {dtype}", lambda: mh.maximum(x, y), lambda: torch.maximum(x, y), 1.5  # noqa: B023
        )  # fmt: skip


def torch_hardmax() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        for shape in ((2000, 2000), (400_000, 10), (4, 1_000_000)):
            x = torch.randn(shape).to(dtype)

            def naive(x: torch.Tensor = x) -> torch.Tensor:
                return torch.nn.functional.one_hot(x.argmax(-1), x.shape[-1]).to(x.dtype)

            report(f"torch Hardmax {dtype} {shape}", lambda: mh.hardmax(x), naive, 1.0)  # noqa: B023


def dask_graph() -> None:
    def built(array: da.Array) -> int:
        return len(dict(array.__dask_graph__()))

    x, y = (da.ones(10 * 10_000, chunks=10, dtype="float32") for _ in range(2))
    report(
        "dask Max, graph of 10,000 chunks",
        lambda: built(mh.maximum(x, y)),
        lambda: built(da.maximum(x, y)),
        2,
    )
    few = da.ones(10 * 1_000, chunks=10, dtype="float32")
    report(
        "dask Hardmax, graph of 10,000 chunks to 1,000",
        lambda: built(mh.hardmax(x)),
        lambda: built(mh.hardmax(few)),
        15,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"load {os.getloadavg()[0]:.1f}, {options.threads} threads, torch {torch.__version__}")
    for benchmark in (torch_max, torch_hardmax, dask_graph):
        benchmark()
    sys.exit(f"over its limit: {'; '.join(over)}" if over else 0)
