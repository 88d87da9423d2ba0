"""The file around an exported program: what it takes and gives, and whether it is whole."""

import json
from hashlib import sha256
from typing import Any

from .graph.errors import ExportError

MAGIC = b"maxhard export "
FORMAT = 1
_REMEDY = "Export the program again, and copy the file in binary mode."


def pack(header: dict[str, Any], payload: bytes) -> bytes:
    """One line that names the format, one of JSON, and the payload.

    >>> data = pack({"inputs": []}, b"code")
    >>> data.partition(b"\\n")[0]
    b'maxhard export 1'
    >>> unpack(data)[1]
    b'code'
    """
    described = header | {"bytes": len(payload), "sha256": sha256(payload).hexdigest()}
    return b"%s%d\n%s\n%s" % (MAGIC, FORMAT, json.dumps(described).encode(), payload)


def unpack(data: Any) -> tuple[dict[str, Any], bytes]:
    """The header and the payload.

    Raises:
        ExportError: not such a file, of another format, cut off or damaged.
    """
    try:
        data = bytes(memoryview(data))
    except TypeError:
        raise ExportError(
            f"{type(data).__name__} is not bytes.", "Give what program.export() returned."
        ) from None
    first, _, rest = data.partition(b"\n")
    if not first.startswith(MAGIC):
        raise ExportError("these bytes are no exported program.", "Give those of program.export().")
    if (found := first.removeprefix(MAGIC)) != b"%d" % FORMAT:
        raise ExportError(
            f"this is format {found.decode(errors='replace')} of an exported program, and this "
            f"version of maxhard reads format {FORMAT}.",
            "Load it with the version that wrote it, or export it again.",
        )
    line, _, payload = rest.partition(b"\n")
    try:
        header = json.loads(line)
    except ValueError:
        raise ExportError("this exported program is cut off or damaged.", _REMEDY) from None
    if len(payload) != header["bytes"]:
        raise ExportError(
            f"this exported program has {len(payload)} of {header['bytes']} bytes.", _REMEDY
        )
    if sha256(payload).hexdigest() != header["sha256"]:
        raise ExportError("this exported program is damaged: its checksum differs.", _REMEDY)
    return header, payload
