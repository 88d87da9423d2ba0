"""What is raised for models that cannot be read or written as they should."""

from ..graph.errors import GraphError, MissingBackendError


class OnnxError(GraphError, ValueError):
    """A model that breaks ONNX's rules, or that Max and Hardmax cannot express."""


def require_onnx() -> None:
    """Raise unless the onnx package can be imported."""
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise MissingBackendError(
            f"onnx cannot be imported: {error}.", "Run: pip install 'maxhard[onnx]'."
        ) from error
