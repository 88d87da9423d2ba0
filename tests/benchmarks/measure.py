"""Times of rival functions, taken in turns in one process, so that drift meets all alike."""

import time
from collections.abc import Callable, Mapping
from random import Random
from statistics import median

Function = Callable[[], object]

CLOCKS: dict[str, Callable[[], float]] = {
    "wall": time.perf_counter,
    "cpu": time.process_time,  # of all threads: for a machine that others use too
}
PAUSE = 0.002
"""Seconds between calls: thread pools of the libraries spin for about that long after one."""


def interleaved(
    functions: Mapping[str, Function], seconds: float, rounds: int, clock: str = "wall"
) -> dict[str, list[float]]:
    """Seconds of each call: one call of each function in every round, after a warm-up.

    The order is another in each round: what ran before leaves caches and workers behind. Stops
    after `rounds`, or after 3 if `seconds` are over.
    """
    for function in functions.values():
        function()
    repeats = {name: _repeats(function) for name, function in functions.items()}
    times: dict[str, list[float]] = {name: [] for name in functions}
    order, shuffle = list(functions.items()), Random(0).shuffle
    started = time.perf_counter()
    for done in range(rounds):
        if done >= 3 and time.perf_counter() - started > seconds:
            break
        shuffle(order)
        for name, function in order:
            time.sleep(PAUSE)
            function()  # caches and pools of this rival are warm, not those of the last
            times[name].append(timed(function, repeats[name], clock))
    return times


def timed(function: Function, repeats: int = 1, clock: str = "wall") -> float:
    """Seconds of one call, averaged over `repeats`."""
    span, now = range(repeats), CLOCKS[clock]
    start = now()
    for _ in span:
        function()
    return (now() - start) / repeats


def ratio(ours: list[float], other: list[float]) -> float:
    """The median over the rounds of ours to the other's of the same round."""
    return median(a / b for a, b in zip(ours, other, strict=True))


def _repeats(function: Function) -> int:
    once = min(timed(function) for _ in range(2))
    return 1 if once > 2e-4 else max(1, int(1e-3 / once))
