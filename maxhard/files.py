"""Arrays from and to files: .npy, .npz, and the tensors that ONNX test data consists of."""

import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .backends.arrays import from_bytes, numpy_dtype
from .graph.dtypes import DType
from .graph.errors import BindingError, GraphError
from .graph.nodes import Input
from .onnx.errors import OnnxError

Array = Any


def read_arrays(specs: Iterable[str], inputs: Sequence[Input]) -> dict[str, Array]:
    """The arrays for `inputs` that `specs`, each `FILE` or `NAME=FILE`, tell of.

    Raises:
        BindingError: an array is given twice, or belongs to no input.
        OnnxError: a file cannot be read.
    """
    arrays: dict[str, Array] = {}
    declared = {node.name: node.declared for node in inputs}
    for spec in specs:
        name, path = _split(spec, declared)
        for given, array in _arrays(path):
            free = [each for each in declared if each not in arrays]
            place = name or (given if given in declared else None)
            if place is None and (given is None or path.suffix != ".npz") and free:
                place = free[0]
            if place is None or place not in declared or place in arrays:
                raise BindingError(
                    f"{path} has an array {given or place or ''!r}, which is for no free input.",
                    f"The inputs are: {', '.join(declared) or 'none'}.",
                )
            if declared[place].dtype is DType.BFLOAT16 and array.dtype.str[1:] == "V2":
                array = array.view(numpy_dtype(DType.BFLOAT16))  # what .npy makes of it
            arrays[place] = array
    return arrays


def _split(spec: str, names: Iterable[str]) -> tuple[str | None, Path]:
    for name in names:  # they may hold any character
        if spec.startswith(f"{name}="):
            return name, Path(spec[len(name) + 1 :])
    if "=" in spec and not os.path.exists(spec):
        raise BindingError(
            f"no input is named {spec.partition('=')[0]!r}.",
            f"The inputs are: {', '.join(names) or 'none'}.",
        )
    return None, Path(spec)


def _arrays(path: Path) -> Iterator[tuple[str | None, Array]]:
    try:
        if path.is_dir():
            yield from _folder(path)
        elif path.suffix == ".npy":
            # Mapped, for then the size is checked against the file before memory is taken.
            yield None, np.array(np.load(path, mmap_mode="r", allow_pickle=False))
        elif path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                yield from archive.items()
        elif path.suffix == ".pb":
            yield _tensor(path)
        else:
            raise OnnxError(f"{path} is no array.", "Give .npy, .npz, .pb or a folder.")
    except GraphError:
        raise
    except Exception as error:  # whatever NumPy meets in a file that is not what its name says
        raise OnnxError(f"{path} cannot be read: {error}.", "Check the file.") from error


def _folder(path: Path) -> Iterator[tuple[str | None, Array]]:
    files = [each for each in path.glob("input_*.pb") if each.stem[6:].isdigit()]
    if not files:
        raise OnnxError(f"{path} has no input_0.pb.", "Give a folder such as test_data_set_0.")
    for each in sorted(files, key=lambda file: int(file.stem[6:])):
        yield _tensor(each)


def _tensor(path: Path) -> tuple[str | None, Array]:
    from google.protobuf.message import DecodeError
    from onnx import TensorProto

    from .onnx.tensors import decode

    tensor = TensorProto()
    try:
        tensor.ParseFromString(path.read_bytes())
    except DecodeError as error:
        raise OnnxError(f"{path} is no tensor: {error}.", "Check the file.") from error
    return tensor.name or None, from_bytes(*decode(tensor, str(path), path.parent))


def check_writable(path: Path | None, count: int) -> None:
    """Raise if `count` outputs cannot go to such a file; before any work is done for them."""
    if path is not None and path.suffix != ".npz" and (path.suffix != ".npy" or count > 1):
        raise OnnxError(f"{path} cannot hold {count} outputs.", "Name a .npz file.")


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write outputs under their names; bfloat16 as raw pairs of bytes, for .npy has no such type.

    A file of the outputs is not left half written.
    """
    partial = path.with_name(f"{path.name}.part")
    if path.suffix == ".npy":
        with open(partial, "wb") as file:
            np.lib.format.write_array(file, next(iter(arrays.values())), allow_pickle=False)
    else:
        with zipfile.ZipFile(partial, "w") as archive:  # np.savez cannot take every name
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)
    os.replace(partial, path)


def as_text(arrays: Mapping[str, Array]) -> str:
    """Arrays as people read them."""
    parts = []
    for name, array in arrays.items():
        dims = ", ".join(map(str, array.shape))
        values = np.array2string(array.astype(object) if array.dtype.kind == "V" else array)
        parts.append(f"{name}: {array.dtype}[{dims}]\n{values}")
    return "\n".join(parts)
