"""The model of the magika package, which tells kinds of files apart: three Max nodes, opset 15.

With our Max inside, it gives the labels that onnxruntime gives, on real files of many kinds.
"""

import bz2
import csv
import gzip
import io
import json
import lzma
import marshal
import pickle
import plistlib
import sqlite3
import struct
import sysconfig
import tarfile
import wave
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import maxhard as mh
from cases import assert_same
from maxhard.onnx import operators

magika = pytest.importorskip("magika")

MODEL = next(Path(magika.__file__).parent.glob("models/*/model.onnx"))
CONFIG = json.loads((MODEL.parent / "config.min.json").read_text())
ROOT = Path(__file__).parents[1]


def made() -> Iterator[tuple[str, bytes]]:
    """Files of formats that the standard library writes."""
    text = "\n".join(f"{i}: Max and Hardmax, {i * i}" for i in range(400)).encode()
    yield "gzip", gzip.compress(text, mtime=0)
    yield "bzip2", bz2.compress(text)
    yield "xz", lzma.compress(text)
    yield "zlib", zlib.compress(text)
    yield "marshal", marshal.dumps(compile("x = 1", "x.py", "exec"))
    yield "pickle", pickle.dumps({i: [i] * 3 for i in range(200)})
    yield "plist", plistlib.dumps({f"key{i}": i for i in range(100)})
    yield (
        "binary plist",
        plistlib.dumps({f"key{i}": i for i in range(100)}, fmt=plistlib.FMT_BINARY),
    )
    yield "json", json.dumps([{"name": f"n{i}", "value": i / 7} for i in range(100)]).encode()
    rows = io.StringIO()
    csv.writer(rows).writerows([i, f"name {i}", i / 3, i % 2 == 0] for i in range(200))
    yield "csv", rows.getvalue().encode()
    yield "html", b"<!DOCTYPE html><html><head><title>t</title></head><body>" + b"<p>a</p>" * 90
    yield "xml", b"<?xml version='1.0'?><list>" + b"<item id='1'>a</item>" * 90 + b"</list>"
    yield "svg", b"<svg xmlns='http://www.w3.org/2000/svg'>" + b"<rect width='9'/>" * 90 + b"</svg>"
    yield (
        "sql",
        b"CREATE TABLE t (id INTEGER, name TEXT);\n" + b"INSERT INTO t VALUES (1, 'a');\n" * 60,
    )
    yield "shell", b"#!/bin/sh\nset -eu\n" + b'for f in *.txt; do echo "$f"; done\n' * 40
    yield (
        "c",
        b"#include <stdio.h>\nint main(void) { return 0; }\n" + b"static int f(int x);\n" * 60,
    )
    yield "latex", b"\\documentclass{article}\\begin{document}" + b"\\section{A} Text.\n" * 60
    yield "yaml", b"".join(b"- name: item %d\n  value: %d\n" % (i, i) for i in range(90))
    yield "ini", b"".join(b"[section %d]\nkey = %d\n" % (i, i) for i in range(90))
    yield "noise", np.random.default_rng(0).bytes(5000)
    yield "zeros", bytes(5000)
    yield "npy", _saved(np.save, np.arange(500.0))
    yield "wav", _wave()
    yield "png", _png()
    yield "bmp", _bmp()
    yield "zip", _zip({"a.txt": text, "b.txt": text})
    yield "jar", _zip({"META-INF/MANIFEST.MF": b"Manifest-Version: 1.0\n", "A.class": text})
    yield "docx", _zip({"[Content_Types].xml": b"<Types/>", "word/document.xml": text})
    yield "tar", _tar(text)
    yield "sqlite", _sqlite()
    yield "onnx", (Path(__file__).parent / "data" / "resize_tile.onnx").read_bytes()


def _saved(write: Any, value: Any) -> bytes:
    buffer = io.BytesIO()
    write(buffer, value)
    return buffer.getvalue()


def _wave() -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(np.int16(3000 * np.sin(np.arange(4000) / 9)).tobytes())
    return buffer.getvalue()


def _png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    rows = b"".join(b"\0" + bytes((x * y) % 256 for x in range(64)) for y in range(64))
    header = struct.pack(">IIBBBBB", 64, 64, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def _bmp() -> bytes:
    pixels = bytes(range(256)) * 12
    header = struct.pack("<IiiHHIIiiII", 40, 32, 32, 1, 24, 0, len(pixels), 2835, 2835, 0, 0)
    return struct.pack("<2sIHHI", b"BM", 54 + len(pixels), 0, 0, 54) + header + pixels


def _zip(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in entries.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def _tar(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("a.txt")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _sqlite() -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table t (id integer, name text)")
        connection.executemany("insert into t values (?, ?)", [(i, f"n{i}") for i in range(300)])
        connection.commit()
        return connection.serialize()


def found() -> Iterator[tuple[str, bytes]]:
    """Files that lie about wherever Python and this repository do."""
    library = Path(sysconfig.get_path("stdlib"))
    packages = Path(onnx.__file__).parents[1]
    for pattern in (
        *(ROOT / name for name in ("README.md", "pyproject.toml", "LICENSE", "Makefile")),
        *(library / f"{name}.py" for name in ("json/decoder", "argparse", "typing", "tarfile")),
        *sorted(library.glob("__pycache__/a*.pyc"))[:4],
        *sorted((library / "lib-dynload").glob("*.so"))[:4],
        *sorted(packages.glob("onnx/*.pyi"))[:2],
        *sorted(packages.glob("onnx/*.proto"))[:3],
        *sorted(packages.glob("onnx/*.so"))[:1],
        *sorted(packages.glob("onnx-*.dist-info/*"))[:4],
        *sorted(packages.glob("numpy/**/*.npz"))[:2],
        *sorted(packages.glob("numpy/**/*.h"))[:3],
        *sorted(packages.glob("numpy/**/*.csv"))[:2],
        *sorted(packages.glob("numpy/**/*.f90"))[:2],
        *sorted((ROOT / "tests" / "data" / "exporters").glob("torch_*.onnx"))[:2],
        Path(magika.__file__).parent / "config" / "content_types_kb.min.json",
        MODEL,
    ):
        if pattern.is_file():
            yield pattern.name, pattern.read_bytes()[: 2**20]


FILES = [file for file in (*made(), *found()) if len(file[1]) >= CONFIG["min_file_size_for_dl"]]


def features(data: bytes) -> list[int]:
    """What the model is fed: the first and the last bytes, without the white space around them."""
    begin, end, block = CONFIG["beg_size"], CONFIG["end_size"], CONFIG["block_size"]
    padding = [CONFIG["padding_token"]]
    first = data[:block].lstrip()[:begin]
    last = data[-block:].rstrip()[-end:]
    return [*first, *padding * (begin - len(first)), *padding * (end - len(last)), *last]


class GlobalMaxPool(OpRun):  # type: ignore[misc]
    """In place of that of onnx 1.23's evaluator, which drops an axis of operands of rank 3."""

    def _run(self, x: Any) -> tuple[Any]:
        return (x.max(tuple(range(2, x.ndim)), keepdims=True),)


@pytest.fixture(scope="module")
def batch() -> Any:
    return np.array([features(data) for _, data in FILES], np.int32)


@pytest.fixture(scope="module")
def session() -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(MODEL)


@pytest.fixture(scope="module")
def reference(batch: Any) -> Any:
    return ReferenceEvaluator(onnx.load(MODEL), new_ops=[GlobalMaxPool]).run(
        None, {"bytes": batch}
    )[0]


def test_there_are_enough_files_of_many_kinds(batch: Any, session: Any) -> None:
    (scores,) = session.run(None, {"bytes": batch})

    assert len(FILES) >= 50
    assert len({*scores.argmax(1)}) >= 25


@pytest.mark.parametrize("library", ["numpy", "jax"])
def test_the_labels_are_those_of_onnxruntime(
    library: str, batch: Any, session: Any, reference: Any
) -> None:
    """And the scores are, to the last bit, those of the evaluator with its own Max."""
    pytest.importorskip(library)
    (expected,) = session.run(None, {"bytes": batch})

    evaluator = ReferenceEvaluator(onnx.load(MODEL), new_ops=[*operators(library), GlobalMaxPool])
    (scores,) = evaluator.run(None, {"bytes": batch})

    labels = CONFIG["target_labels_space"]
    for (name, _), ours, theirs in zip(FILES, scores.argmax(1), expected.argmax(1), strict=True):
        assert labels[ours] == labels[theirs], name
    assert_same(scores, reference)


def test_the_labels_are_those_of_magika_itself(batch: Any, session: Any) -> None:
    """So the model was fed what it is fed in use."""
    whole = magika.Magika()
    (scores,) = session.run(None, {"bytes": batch})

    labels = [CONFIG["target_labels_space"][index] for index in scores.argmax(1)]
    assert labels == [str(whole.identify_bytes(data).dl.label) for _, data in FILES]


@pytest.mark.parametrize("library", ["numpy", "jax"])
def test_the_regions_of_max_give_the_bytes_of_the_reference(library: str, batch: Any) -> None:
    pytest.importorskip(library)
    graph = mh.from_onnx(MODEL, cut=True)
    assert len([node for node in graph.nodes if isinstance(node, mh.Max)]) == 3
    proto = onnx.load(MODEL)
    names = [*(x.name for x in graph.inputs), *graph.outputs]
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    reference = ReferenceEvaluator(proto, new_ops=[GlobalMaxPool])
    values = dict(zip(names, reference.run(names, {"bytes": batch[:8]}), strict=True))

    results = mh.compile(graph, library)(**{x.name: values[x.name] for x in graph.inputs})

    assert len(results) == 3
    for name, result in results.items():
        assert_same(np.asarray(result), values[name])
