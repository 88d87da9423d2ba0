"""What all nodes share: identity, a line of origin, a type on demand, and no values."""

from types import CodeType
from typing import Any, Never, NoReturn, Self

from .dtypes import DType
from .errors import FrozenError, LazyError
from .origin import Place, origin_text
from .types import Shape, TensorType

set_field = object.__setattr__  # nodes are frozen for everybody else


class Node:
    """An array that does not exist yet: frozen, compared by identity, typed when asked.

    `type`, `dtype`, `shape` and `ndim` are inferred from the operands and remembered.
    """

    # Not one slot with a pair: the garbage collector would have one more object to look after.
    __slots__ = ("_code", "_instruction", "_type")
    _code: CodeType | str
    _instruction: int
    _type: TensorType | None

    @property
    def _origin(self) -> Place:
        return self._code, self._instruction

    @property
    def origin(self) -> str:
        """File and line of the caller's code that made this node."""
        return origin_text(self._origin)

    @property
    def type(self) -> TensorType:
        """Dtype and shape, as far as they are known before the graph runs.

        Raises:
            TypeInferenceError, ShapeError: the node, or one it depends on, breaks a rule of its
                operator version.
        """
        if self._type is None:
            from .infer import infer

            infer(self)  # type: ignore[arg-type]
        assert self._type is not None
        return self._type

    @property
    def dtype(self) -> DType | None:
        """The element type, or None while it is open."""
        return self.type.dtype

    @property
    def shape(self) -> Shape:
        """A tuple of sizes, names and None (unknown), or None for an unknown rank."""
        return self.type.shape

    @property
    def ndim(self) -> int | None:
        """The rank, or None while it is unknown."""
        return None if self.shape is None else len(self.shape)

    def __repr__(self) -> str:
        from .show import one_line

        return one_line(self)  # type: ignore[arg-type]

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise FrozenError(f"nodes are frozen: {name} cannot be set.", "Build another node.")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenError(f"nodes are frozen: {name} cannot go.", "Build another node.")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        from .flat import flatten, restore_one

        return restore_one, (flatten([self]),)  # type: ignore[list-item]

    def _lazy(self, *args: Any, **kwargs: Any) -> Never:
        raise LazyError(
            f"{self!r} holds no values.",
            "Run it first: maxhard.evaluate(node, {name: array}) or maxhard.compile(node)(array).",
        )

    __bool__ = __iter__ = __contains__ = __len__ = __array__ = __float__ = __int__ = __index__ = (
        _lazy
    )
