"""External data: read from the model's folder only, as much as was declared and no more."""

import os
import stat
from pathlib import Path, PurePosixPath, PureWindowsPath

from onnx import TensorProto

from .errors import OnnxError


def read_external(tensor: TensorProto, what: str, folder: Path | None, size: int) -> bytes:
    """The `size` bytes of a tensor that lie in a file of their own.

    Raises:
        OnnxError: the file is missing or too short, or lies outside `folder`.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise OnnxError(
            f"{what} lies in external data, {location!r}, and the model came without a folder.",
            "Give the path of the model.",
        )
    offset = _number(entries.get("offset", "0"), "offset", what)
    length = _number(entries.get("length", str(size)), "length", what)
    if length != size:
        raise OnnxError(
            f"{what} has {length} bytes of external data, and its shape needs {size}.",
            "The model is damaged: save it again.",
        )
    path = _inside(folder, location, what)
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(path, flags), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
                raise _refused(what, location, "is a link or no plain file")
            if offset + size > found.st_size:
                raise OnnxError(
                    f"{what} needs the bytes {offset} to {offset + size} of {location!r}, which "
                    f"has {found.st_size}.",
                    "The file is cut off: fetch it again.",
                )
            file.seek(offset)
            return file.read(size)
    except OSError as error:
        raise OnnxError(
            f"{what} lies in {location!r}, which cannot be read: {error.strerror}.",
            "Put the file into the model's folder.",
        ) from error


def _number(text: str, key: str, what: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 20:
        return int(text)
    raise OnnxError(f"the {key} of {what}'s external data is {text!r:.40}.", "Give a size >= 0.")


def _inside(folder: Path, location: str, what: str) -> Path:
    parts = PurePosixPath(location).parts
    if PurePosixPath(location).is_absolute() or PureWindowsPath(location).anchor:
        raise _refused(what, location, "is absolute")
    if ".." in parts or "\\" in location or "\0" in location or not parts:
        raise _refused(what, location, "is no plain path below the model's folder")
    path = folder
    for part in parts:
        path = path / part
        if path.is_symlink():
            raise _refused(what, location, "is a link or lies behind one")
    return path


def _refused(what: str, location: str, why: str) -> OnnxError:
    return OnnxError(
        f"{what} lies in external data at {location!r:.200}, which {why}.",
        "It is not read: external data lies in plain files in the model's folder.",
    )
