"""A backend: an array-API namespace, a view of floats as integers, and a way to run a graph."""

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ..graph.dtypes import DType
from ..graph.errors import BackendError
from ..graph.infer import Types
from ..graph.nodes import AnyNode, Input
from ..graph.surrogates import Surrogate
from ..graph.types import Dim, TensorType
from . import lowering
from .execute import interpret

if TYPE_CHECKING:
    import numpy as np

Array = Any
Function = Callable[[Sequence[Array]], list[Array]]


class Backend:
    """Any library that follows the array-API standard; the others are subclasses of this one.

    Attributes:
        name: What `backend=` calls it.
        xp: Its array-API namespace, as array-api-compat hands it out.
        has_view: Whether `view` works; without it, the standard-only lowering is used.
    """

    has_view = False

    def __init__(self, name: str, xp: Any) -> None:
        self.name = name
        self.xp = xp

    def dtype(self, dtype: str) -> Any:
        """The library's own dtype of that name, or a `BackendError`."""
        try:
            return getattr(self.xp, dtype)
        except AttributeError:
            raise BackendError(
                f"{self.name} has no {dtype}.", "Use another dtype or another backend."
            ) from None

    def type_of(self, array: Array) -> TensorType:
        """Dtype and shape; a dim that is no size is None."""
        return TensorType(DType.of(array.dtype), tuple(map(self.dim, array.shape)))

    def dim(self, size: Any) -> Dim:
        """A dim of the library's as one of ours."""
        return int(size) if size == size and size is not None else None

    def prepare(self, array: Array) -> Array:
        """A caller's array in the form that the kernels take."""
        return array

    def takes(self, array: Array) -> bool:
        """Whether no array of the type and dtype of this one needs to be prepared."""
        return type(self).prepare is Backend.prepare

    def from_numpy(self, array: "np.ndarray[Any, Any]") -> Array:
        """A copy of a NumPy array, bit for bit."""
        self.dtype(DType.of(array.dtype))
        return self.xp.asarray(array, copy=True)

    def to_numpy(self, array: Array) -> "np.ndarray[Any, Any]":
        """The elements as a NumPy array, bit for bit."""
        from .arrays import native

        return native(array)

    def copy(self, array: Array) -> Array:
        """An array that owns its memory."""
        return self.xp.asarray(array, copy=True)

    def view(self, array: Array, dtype: Any) -> Array:
        """The bits of `array` as the library's `dtype`, of the same width."""
        raise NotImplementedError

    def device_of(self, array: Array) -> Any:
        """Where new arrays go that meet `array`; None: wherever the library puts them."""
        return None

    def beside(self, array: Array, other: Array) -> Array:
        """`array` on the device of `other`."""
        return array

    def max_(self, arrays: Sequence[Array], dtype: DType) -> Array:
        """Max of two or more arrays, broadcast."""
        return lowering.max_(self, arrays, dtype)

    def hardmax(
        self, array: Array, axis: int, dtype: DType, surrogate: Surrogate | None = None
    ) -> Array:
        """Hardmax over the slices along `axis`, which lies in [0, r-1].

        A library without derivatives has no use for `surrogate`.
        """
        return lowering.hardmax(self, array, axis, dtype)

    def hardmax_of_rows(
        self, array: Array, axis: int, dtype: DType, surrogate: Surrogate | None = None
    ) -> Array:
        """Hardmax of each row of the matrix that `array` is, split before `axis`."""
        shape = array.shape
        rows = self.xp.reshape(array, (prod(shape[:axis]), prod(shape[axis:])))
        return self.xp.reshape(self.hardmax(rows, 1, dtype, surrogate), shape)

    def lower(self, inputs: Sequence[Input], outputs: Sequence[AnyNode], types: Types) -> Function:
        """A function from the arrays of `inputs` to those of `outputs`.

        `types` are the types of all nodes, in topological order, each with its dtype known.
        """
        return interpret(self, inputs, outputs, types)

    def configured(self, device: Any, donate: tuple[str, ...]) -> "Backend":
        """This backend with options of `maxhard.compile`, or a `BackendError`."""
        raise BackendError(
            f"{self.name} takes no device and no donated inputs.",
            "These are options of jax; elsewhere, results lie where the arrays passed do.",
        )

    def differentiated(
        self, inputs: Sequence[Input], run: Function, written: Callable[[], Function]
    ) -> Function:
        """`run`, which a rewritten graph gave, with the derivative of the graph as written.

        The values are the same, but a rewrite of Max changes the shares of tied operands.
        A library without derivatives has no use for `written`.
        """
        return run

    def constant(self, data: bytes, type_: TensorType) -> Array:
        """A constant's elements as an array."""
        from .arrays import from_bytes

        return self.from_numpy(from_bytes(data, type_))
