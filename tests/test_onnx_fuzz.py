"""Models with random damage: from_onnx gives a graph or an error of ours, and nothing else."""

import random
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from google.protobuf.message import DecodeError, Message

import maxhard as mh
from cases import DATA
from models import EXPORTERS

NUMBERS = (0, 1, -1, 2, 3, 7, 10, 11, 13, 28, 33554432, 2**31 - 1, -(2**31), 2**40, 2**62)
TEXTS = ("", "x", "y", "output", "é", "ai.onnx", "Max", "Hardmax", "ArgMax", "Reshape")
BYTES = (b"", bytes(4), b"\xff" * 8, b"none", b"../../x")
REALS = (0.0, -0.0, float("nan"), 1e38)


def corpus() -> list[bytes]:
    x, y = mh.Input("x", "float32", ("N", "M", 4)), mh.Input("y", "float16", (2, 3, 4))
    files = [*sorted(EXPORTERS.glob("*.onnx")), DATA / "resize_tile.onnx"]
    found = [path.read_bytes() for path in files]
    for opset in (1, 7, 11, 13, 14, 28):
        for outputs in (mh.hardmax(x, 1, opset=11), mh.hardmax(y, 0), mh.maximum(x, x)):
            if opset <= onnx.defs.onnx_opset_version():
                found.append(mh.to_onnx(outputs, opset).SerializeToString())
    return found


CORPUS = corpus()


def damage_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, drop, insert and repeat bytes."""
    found = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 8])):
        place = rng.randrange(len(found) or 1)
        match rng.choice([0, 0, 0, 1, 2, 3]):
            case 0 if found:
                found[place] = rng.choice([rng.randrange(256), 0, 127, 128, 255])
            case 1:
                del found[place : place + rng.choice([1, 2, 8, 50])]
            case 2:
                found[place:place] = rng.randbytes(rng.choice([1, 2, 9]))
            case _:
                start = rng.randrange(len(found) or 1)
                found[place:place] = found[start : start + rng.randrange(40)]
    return bytes(found)


def damage_fields(rng: random.Random, data: bytes) -> bytes:
    """Change fields of the model, so that it stays a protobuf."""
    model = onnx.load_from_string(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        message, field = rng.choice(fields(model))
        try:
            damage_field(rng, message, field)
        except (TypeError, ValueError, OverflowError):
            continue  # a value that the field cannot have
    return model.SerializeToString()


def fields(model: Message) -> list[tuple[Any, Any]]:
    """Every message inside with each field that it has or could have."""
    found: list[tuple[Any, Any]] = []
    pending: list[Any] = [model]
    while pending:
        message = pending.pop()
        found += ((message, field) for field in message.DESCRIPTOR.fields)
        for field, value in message.ListFields():
            if field.message_type is not None:
                pending += [value] if isinstance(value, Message) else value
    return found


def damage_field(rng: random.Random, message: Any, field: Any) -> None:
    if rng.random() < 0.2:
        message.ClearField(field.name)
        return
    current = getattr(message, field.name)
    if isinstance(current, Message):
        current.SetInParent()
    elif field.message_type is not None:
        damage_list(rng, current, lambda: current.add())
    else:
        new = replacement(rng, field)
        if isinstance(current, str | bytes | int | float):
            setattr(message, field.name, new)
        else:
            damage_list(rng, current, lambda: current.append(new))


def damage_list(rng: random.Random, values: Any, add: Any) -> None:
    if not len(values) or rng.random() < 0.3:
        add()
    elif rng.random() < 0.5:
        del values[rng.randrange(len(values))]
    elif isinstance(values[0], Message):  # two of them change places, or one is there twice
        one, other = (values[rng.randrange(len(values))] for _ in range(2))
        copy = type(one)()
        copy.CopyFrom(one)
        if rng.random() < 0.7:
            one.CopyFrom(other)
        other.CopyFrom(copy)
    else:
        values[rng.randrange(len(values))] = values[rng.randrange(len(values))]


def replacement(rng: random.Random, field: Any) -> Any:
    if field.type == field.TYPE_STRING:
        return rng.choice(TEXTS)
    if field.type == field.TYPE_BYTES:
        return rng.choice(BYTES)
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return rng.choice(REALS)
    if field.enum_type is not None:
        return rng.choice([value.number for value in field.enum_type.values])
    return rng.choice(NUMBERS)


@pytest.mark.parametrize("damage", [damage_bytes, damage_fields])
@pytest.mark.parametrize("seed", range(4))
def test_only_our_exceptions(seed: int, damage: Any) -> None:
    rng = random.Random(seed)
    read = refused = 0
    for _ in range(400):
        try:
            data = damage(rng, rng.choice(CORPUS))
        except DecodeError:
            continue
        for cut in (False, True):
            try:
                text = str(mh.from_onnx(data, cut=cut))
                read += 1
            except mh.GraphError as error:
                text = str(error)
                refused += 1
            assert text

    assert min(read, refused) > 30  # both were put to the test


@pytest.mark.parametrize("seed", range(3))
def test_what_is_read_means_what_other_runtimes_read(seed: int) -> None:
    """A damaged pattern that is still read as Hardmax still is one."""
    onnxruntime.set_default_logger_severity(4)
    rng = random.Random(seed)
    compared = 0
    for _ in range(400):
        data = damage_fields(rng, rng.choice(CORPUS))
        try:
            graph = mh.from_onnx(data)
            session = onnxruntime.InferenceSession(data)
        except Exception:  # refused by either: nothing to compare
            continue
        sizes = [tuple(dim if isinstance(dim, int) else 3 for dim in x.shape) for x in graph.inputs]
        if any(np.prod(size, dtype=object) > 10**5 for size in sizes):
            continue
        arrays = {
            x.name: np.random.default_rng(1).integers(-2, 3, size).astype(str(x.dtype))
            for x, size in zip(graph.inputs, sizes, strict=True)
        }
        names = [value.name for value in session.get_outputs()]
        try:
            ours = mh.evaluate(graph, arrays)
            theirs = session.run(names, {x.name: arrays[x.name] for x in session.get_inputs()})
        except Exception:  # sizes that do not fit the model
            continue
        for name, expected in zip(names, theirs, strict=True):
            assert (ours[name].dtype, ours[name].shape) == (expected.dtype, expected.shape)
            assert np.array_equal(ours[name], expected), onnx.printer.to_text(
                onnx.load_from_string(data)
            )
            compared += 1

    assert compared > 50
