"""A line on standard error about work that takes longer than a second."""

import sys
from threading import Lock, Timer
from types import TracebackType
from typing import Self

_PATIENCE = 1.0  # seconds


class Progress:
    """Says what goes on, once it has gone on for a second; on a terminal in one line.

    >>> with Progress("reading") as progress:
    ...     progress.step("reading 2 of 2")
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_shown = False
        self._lock = Lock()
        self._timer = Timer(_PATIENCE, self._start)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def step(self, text: str) -> None:
        """Tell of the next part of the work."""
        with self._lock:
            self._text = text
            if self._is_shown:
                self._show()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        with self._lock:
            if self._is_shown and sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._is_shown = False

    def _start(self) -> None:
        with self._lock:
            self._is_shown = True
            self._show()

    def _show(self) -> None:
        if sys.stderr.isatty():
            print(f"\r\033[Kmaxhard: {self._text} ...", end="", file=sys.stderr, flush=True)
        else:
            print(f"maxhard: {self._text} ...", file=sys.stderr, flush=True)
