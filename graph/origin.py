"""Where in the caller's code a node was made."""

import sys
from types import CodeType

Origin = tuple[CodeType, int] | str
"""A code object and an instruction in it (the line is looked up when asked for), or the text."""


def caller() -> Origin:
    """The innermost frame outside maxhard, seen from the function that calls this one."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__", "").startswith("maxhard."):
        if frame.f_back is None:
            return "unknown"
        frame = frame.f_back
    # Not f_lineno, which searches the line table each time.
    return frame.f_code, frame.f_lasti


def origin_text(origin: Origin) -> str:
    """`file.py:12`."""
    if isinstance(origin, str):
        return origin
    code, instruction = origin
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
    return f"{code.co_filename}:{line}"
