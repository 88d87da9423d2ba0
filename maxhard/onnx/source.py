"""A model from wherever it comes, checked as far as the header goes."""

import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError, Message
from onnx import ModelProto

from ..graph.errors import GraphError, TypeInferenceError
from ..graph.versions import checked_opset
from .errors import OnnxError

_LARGEST = 2**31  # what protobuf can parse
DEFAULT_DOMAINS = ("", "ai.onnx")


class Source(NamedTuple):
    """A model, what errors call it, and the folder that its external data may lie in."""

    model: ModelProto
    name: str
    folder: Path | None
    opset: int


def load(source: Any) -> Source:
    """A model from a path, bytes or a ModelProto.

    Raises:
        OnnxError: there is no such file, or this is no ONNX model.
        OpsetError: its opset is not known.
        TypeInferenceError: `source` is none of the three.
    """
    folder = None
    name = "the model"
    if isinstance(source, ModelProto):
        model = source
    elif isinstance(source, bytes | bytearray | memoryview):
        model = _parse(bytes(source), name)
    elif isinstance(source, str | os.PathLike):
        path = Path(os.fsdecode(source))
        folder, name = path.parent, path.name
        model = _parse(_read(path), name)
    else:
        raise TypeInferenceError(
            f"{type(source).__name__} is no model.",
            "Give a path, the bytes of a model, or an onnx.ModelProto.",
        )
    _check_text(model, name)
    return Source(model, name, folder, _opset(model, name))


def _read(path: Path) -> bytes:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise OnnxError(f"{path} is not a file.", "Give the path of a model.")
        if found.st_size >= _LARGEST:
            raise OnnxError(
                f"{path} has {found.st_size} bytes, more than a protobuf can have.",
                "Save the model with external data.",
            )
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        if isinstance(error, GraphError):
            raise
        raise OnnxError(f"{str(path)!r} cannot be read: {error}.", "Check the path.") from error


def _parse(data: bytes, name: str) -> ModelProto:
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise OnnxError(
            f"{name} is not an ONNX model, or is cut off: {error}.", "Save it again."
        ) from error
    return model


def _check_text(model: ModelProto, name: str) -> None:
    """Raise if a name is no text: protobuf gives bytes instead, and no reader expects them."""
    pending: list[Message] = [model]
    while pending:
        for field, value in pending.pop().ListFields():
            values = (value,) if isinstance(value, str | bytes | Message) else value
            if field.type == field.TYPE_MESSAGE:
                pending += values
            elif field.type == field.TYPE_STRING:
                for each in values:
                    if not isinstance(each, str):
                        raise OnnxError(
                            f"{name} is damaged: a {field.name} in it is {each!r:.60}, no text.",
                            "Save it again.",
                        )


def _opset(model: ModelProto, name: str) -> int:
    if not model.HasField("graph") or not model.HasField("ir_version"):
        lacks = "graph" if not model.HasField("graph") else "IR version"
        raise OnnxError(
            f"{name} is not an ONNX model: it has no {lacks}.",
            "Give a ModelProto; tensors and other messages are no models.",
        )
    imports = {(each.domain, each.version) for each in model.opset_import}
    found = sorted({version for domain, version in imports if domain in DEFAULT_DOMAINS})
    if not found and not imports and model.ir_version < 3:
        return 1  # before opset imports came with IR version 3
    if len(found) != 1:
        others = ", ".join(sorted(f"{domain or 'ai.onnx'} {v}" for domain, v in imports))
        raise OnnxError(
            f"{name} imports {others or 'no opset'}, so Max and Hardmax have no version.",
            "Import one opset of the domain ai.onnx.",
        )
    try:
        return checked_opset(found[0])
    except GraphError as error:
        raise error.within(name) from None
