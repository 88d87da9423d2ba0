"""Where in the caller's code a node was made."""

import sys
from types import CodeType

Place = tuple[CodeType | str, int]
"""A code object and an instruction in it, whose line is looked up when asked for; or a text."""
Origin = Place | str
"""A place, or its text alone."""


def caller() -> Place:
    """The innermost frame outside maxhard, seen from the function that calls this one."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__", "").startswith("maxhard."):
        if frame.f_back is None:
            return "unknown", 0
        frame = frame.f_back
    # Not f_lineno, which searches the line table each time.
    return frame.f_code, frame.f_lasti


def place_of(origin: Origin) -> Place:
    """`origin` in two parts."""
    return (origin, 0) if isinstance(origin, str) else origin


def origin_text(origin: Origin) -> str:
    """`file.py:12`."""
    code, instruction = place_of(origin)
    if isinstance(code, str):
        return code
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
    return f"{code.co_filename}:{line}"
