"""Surrogates: the function whose derivative stands in for that of Hardmax, which is zero."""

from typing import Any, Literal

from .errors import SurrogateError

Surrogate = Literal["softmax", "identity"]
SURROGATES = ("softmax", "identity")


def checked_surrogate(surrogate: Any) -> Surrogate | None:
    """`surrogate` where it is a known name or None, or a `SurrogateError`.

    >>> checked_surrogate("softmax")
    'softmax'
    """
    if surrogate is None or (isinstance(surrogate, str) and surrogate in SURROGATES):
        return surrogate  # type: ignore[return-value]
    names = " or ".join(map(repr, SURROGATES))
    raise SurrogateError(
        f"surrogate {surrogate!r:.60} is not known.",
        f"Give {names}, or None for a gradient of zero.",
    )
