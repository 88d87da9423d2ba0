"""Every refusal of maxhard: a `GraphError` that is also of the fitting builtin kind."""


class GraphError(Exception):
    """Base of every error that maxhard raises.

    The text says, in this order: the operator and its version, each operand with its type and the
    line that made it (`context`), what is wrong (`problem`), and what to do (`remedy`).

    >>> print(GraphError("dtypes differ.", "Cast one of them.", "Max-13 at app.py:3"))
    Max-13 at app.py:3
    dtypes differ. Cast one of them.
    """

    def __init__(self, problem: str, remedy: str = "", context: str = "") -> None:
        super().__init__(problem, remedy, context)

    @property
    def context(self) -> str:
        """The operator and its operands, or "" as long as nobody has named them."""
        return str(self.args[2])

    def __str__(self) -> str:
        problem, remedy, context = self.args
        return "\n".join(part for part in (context, f"{problem} {remedy}".strip()) if part)

    def within(self, context: str) -> "GraphError":
        """The same error, told of the operator and the operands it concerns."""
        return type(self)(self.args[0], self.args[1], context)


class TypeInferenceError(GraphError, TypeError):
    """A dtype or a kind of operand that the operator does not take."""


class ShapeError(GraphError, ValueError):
    """Shapes or dims that do not fit together, or not the promise made of them."""


class AxisError(ShapeError, IndexError):
    """An axis outside [-r, r-1]."""


class RangeError(GraphError, OverflowError):
    """A Python number outside the range of the dtype it has to take."""


class OpsetError(GraphError, ValueError):
    """An opset that does not exist, or is newer than the ones known."""


class SurrogateError(GraphError, ValueError):
    """A surrogate that is not known."""


class BindingError(GraphError, TypeError):
    """Inputs that are missing, extra, or of one name."""


class BackendError(GraphError, ValueError):
    """A backend that is not known, or cannot do what the contract asks for."""


class ExportError(GraphError, ValueError):
    """A program that cannot be exported, or an exported one that cannot be read or run."""


class MissingBackendError(BackendError, ImportError):
    """A library that is known but not installed."""


class LazyError(GraphError, TypeError):
    """A node, which holds no values yet, used as if it were an array."""


class FrozenError(GraphError, AttributeError):
    """An attempt to change a node."""
