"""Operator versions: what each opset means by Max and Hardmax (the ONNX operator schemas)."""

from bisect import bisect_right

from .dtypes import FLOATS, INTEGERS, DType
from .errors import OpsetError

LATEST_OPSET = 28
MAX_VERSIONS = (1, 6, 8, 12, 13)
HARDMAX_VERSIONS = (1, 11, 13)

_HALVES = frozenset({DType.BFLOAT16})
_DTYPES = {
    ("Max", 1): FLOATS - _HALVES,
    ("Max", 6): FLOATS - _HALVES,
    ("Max", 8): FLOATS - _HALVES,
    ("Max", 12): FLOATS - _HALVES | INTEGERS,
    ("Max", 13): FLOATS | INTEGERS,
    ("Hardmax", 1): FLOATS - _HALVES,
    ("Hardmax", 11): FLOATS - _HALVES,
    ("Hardmax", 13): FLOATS,
}


def max_version(opset: int) -> int:
    """The version of Max that `opset` binds to: 1, 6, 8, 12 or 13.

    >>> max_version(7), max_version(21)
    (6, 13)
    """
    return MAX_VERSIONS[bisect_right(MAX_VERSIONS, opset) - 1]


def hardmax_version(opset: int) -> int:
    """The version of Hardmax that `opset` binds to: 1, 11 or 13.

    >>> hardmax_version(12), hardmax_version(13)
    (11, 13)
    """
    return HARDMAX_VERSIONS[bisect_right(HARDMAX_VERSIONS, opset) - 1]


def allowed_dtypes(operator: str, version: int) -> frozenset[DType]:
    """The dtypes that version `version` of "Max" or "Hardmax" takes."""
    return _DTYPES[operator, version]


def broadcasts(version: int) -> bool:
    """Whether that version of Max broadcasts; Max-1 and Max-6 want equal shapes."""
    return version >= 8


def flattens(version: int) -> bool:
    """Whether that version of Hardmax coerces its operand to 2-D, with one 1 for each row."""
    return version < 13


def default_axis(version: int) -> int:
    """The axis that Hardmax takes where none is given."""
    return 1 if flattens(version) else -1


def checked_opset(opset: object) -> int:
    """`opset` as an int, or an `OpsetError`."""
    if type(opset) is int and 1 <= opset <= LATEST_OPSET:
        return opset
    raise OpsetError(
        f"opset {opset!r} is not known.", f"Use an int from 1 to {LATEST_OPSET} (default 13)."
    )


def operator_text(operator: str, opset: object) -> str:
    """`Max-13 (opset 21)`; the version only where the opset is known."""
    versions = {"Max": max_version, "Hardmax": hardmax_version}
    version = ""
    if isinstance(opset, int) and 1 <= opset <= LATEST_OPSET:
        version = f"-{versions[operator](opset)}"
    return f"{operator}{version} (opset {opset})"
