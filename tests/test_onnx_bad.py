"""Models that are broken, odd or hostile: each is refused by an error of ours that says why."""

import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, SparseTensorProto, TensorProto, helper

import maxhard as mh
from models import array, constant, model, node, value

MAX = [node("Max", ["x", "x"], ["y"])]
GOOD = model(MAX)


def raises(source: Any, *phrases: str, kind: type[Exception] = mh.OnnxError, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        mh.from_onnx(source, **options)
    text = str(caught.value)
    assert isinstance(caught.value, mh.GraphError)
    for phrase in phrases:
        assert phrase in text, text
    return text


class TestWhatIsNoModel:
    def test_other_bytes(self) -> None:
        raises(b"\x89PNG\r\n\x1a\n" + bytes(100), "is not an ONNX model")

    def test_nothing(self) -> None:
        raises(b"", "is not an ONNX model: it has no graph")

    def test_text(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.txt"
        path.write_text("Max and Hardmax")

        raises(path, "notes.txt is not an ONNX model")

    def test_cut_off_anywhere(self) -> None:
        data = model([node("Hardmax", ["x"], ["y"], axis=1)]).SerializeToString()
        refused = 0
        for end in range(len(data)):
            try:
                mh.from_onnx(data[:end])
            except mh.GraphError:
                refused += 1

        assert refused >= len(data) - 3  # without its last field, the opset, it is no model either

    @pytest.mark.parametrize("other", [array([1, 2], "float32", "t"), GOOD.graph, MAX[0]])
    def test_another_protobuf(self, other: Any) -> None:
        raises(other.SerializeToString(), "is not an ONNX model")

    @pytest.mark.parametrize("source", [None, 5, GOOD.graph, [GOOD]])
    def test_another_object(self, source: Any) -> None:
        raises(source, "is no model", "Give a path", kind=mh.TypeInferenceError)

    def test_no_such_file(self, tmp_path: Path) -> None:
        raises(tmp_path / "absent.onnx", "absent.onnx", "No such file", "Check the path")

    def test_a_folder(self, tmp_path: Path) -> None:
        raises(tmp_path, "is not a file")

    def test_a_path_with_a_nul(self) -> None:
        raises("model\0.onnx", "cannot be read")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.onnx")

        raises(tmp_path / "pipe.onnx", "is not a file")

    def test_a_name_that_is_no_text(self) -> None:
        data = model([node("Max", ["x", "x"], ["yyyy"])], outputs=["yyyy"]).SerializeToString()

        raises(data.replace(b"yyyy", b"\xff\xfeyy"), "a name in it is b'\\xff\\xfeyy', no text")


class TestHeader:
    def test_no_opset(self) -> None:
        proto = model(MAX, opset_imports=[])
        raises(proto, "imports no opset", "Import one opset")

    @pytest.mark.parametrize("opset", [0, -1, 29, 2**40])
    def test_an_unknown_opset(self, opset: int) -> None:
        raises(model(MAX, opset=opset), f"opset {opset} is not known", kind=mh.OpsetError)

    def test_another_domain(self) -> None:
        proto = model(MAX, opset_imports=[helper.make_opsetid("com.example", 1)])
        raises(proto, "imports com.example 1, so Max and Hardmax have no version")

    def test_two_opsets(self) -> None:
        imports = [helper.make_opsetid("", 13), helper.make_opsetid("", 12)]
        raises(model(MAX, opset_imports=imports), "imports ai.onnx 12, ai.onnx 13")

    def test_no_ir_version(self) -> None:
        proto = model(MAX)
        proto.ClearField("ir_version")
        raises(proto, "it has no IR version")


class TestNames:
    def test_an_empty_operand(self) -> None:
        raises(model([node("Max", ["x", ""], ["y"])]), "node #0 (Max) has an empty operand name")
        raises(model([node("Hardmax", [""], ["y"])]), "has an empty operand name")

    def test_nodes_out_of_order(self) -> None:
        nodes = [node("Hardmax", ["v"], ["y"], name="h"), node("Max", ["x", "x"], ["v"])]
        raises(model(nodes), "node h (Hardmax) uses 'v' before it is made", "topological order")

    def test_a_cycle(self) -> None:
        nodes = [node("Max", ["x", "b"], ["a"]), node("Max", ["a", "x"], ["b"])]
        raises(model(nodes, outputs=["b"]), "tensor 'b'", "is part of a cycle")
        raises(model([node("Max", ["y", "x"], ["y"])]), "tensor 'y'", "is part of a cycle")

    def test_a_tensor_made_twice(self) -> None:
        raises(model(MAX * 2), "tensor 'y' is made twice, by node #1 (Max)")
        raises(model([node("Max", ["x"], ["x"])], outputs=["x"]), "tensor 'x' is made twice")

    def test_two_inputs_or_initializers_of_one_name(self) -> None:
        raises(model(MAX, ["x", "x"]), "two inputs are named 'x'")
        twice = [array([1], "int8", "c"), array([2], "int8", "c")]
        raises(model(MAX, initializers=twice), "two initializers are named 'c'")

    def test_a_tensor_never_made(self) -> None:
        raises(model([node("Max", ["x", "ghost"], ["y"])]), "tensor 'ghost' is never made")
        raises(model(MAX, outputs=["ghost"]), "tensor 'ghost' is never made", "outputs")

    def test_inside_a_subgraph(self) -> None:
        body = helper.make_graph([node("Relu", ["ghost"], ["r"])], "body", [], [value("r")])
        nodes = [node("If", ["x"], ["y"], then_branch=body, else_branch=body)]
        raises(model(nodes), "tensor 'ghost' is never made")

    def test_no_outputs(self) -> None:
        raises(model(MAX, outputs=[]), "has no outputs")

    def test_an_output_that_is_not_there(self) -> None:
        raises(GOOD, "has no tensor 'z'", "Its outputs are y", outputs=["z"])
        raises(GOOD, "has no tensor 5", outputs=[5])


class TestNodes:
    @pytest.mark.parametrize(
        ("kind", "given", "made"),
        [
            ("Max", [], ["y"]),
            ("Max", ["x"], ["y", "z"]),
            ("Hardmax", [], ["y"]),
            ("Hardmax", ["x", "x"], ["y"]),
            ("Hardmax", ["x"], ["y", ""]),
            ("Identity", ["x", "x"], ["y"]),
        ],
    )
    def test_wrong_numbers_of_operands(self, kind: str, given: list[str], made: list[str]) -> None:
        raises(model([node(kind, given, made)]), f"{len(given)} operands and {len(made)} results")

    def test_an_axis_out_of_range(self) -> None:
        for axis, opset in ((33554432, 13), (2, 13), (-3, 11)):
            text = raises(
                model([node("Hardmax", ["x"], ["y"], axis=axis)], opset=opset), kind=mh.AxisError
            )
            assert f"axis {axis} lies outside [-2, 1] for rank 2" in text

    @pytest.mark.parametrize("axis", [1.0, "1", [1], array([1], "int64")])
    def test_an_axis_of_another_type(self, axis: Any) -> None:
        raises(model([node("Hardmax", ["x"], ["y"], axis=axis)]), "axis of node #0", "not int")

    def test_an_axis_that_lies_about_its_type(self) -> None:
        proto = model([node("Hardmax", ["x"], ["y"], axis=1)])
        proto.graph.node[0].attribute[0].type = AttributeProto.INTS
        raises(proto, "is of type ints, not int")

    def test_attributes_that_are_not_there(self) -> None:
        raises(model([node("Max", ["x"], ["y"], axis=1)]), "attribute 'axis', which is none")
        raises(model([node("Max", ["x"], ["y"], consumed_inputs=[0])]), "'consumed_inputs'")
        twice = model([node("Hardmax", ["x"], ["y"], axis=1)])
        twice.graph.node[0].attribute.append(twice.graph.node[0].attribute[0])
        raises(twice, "attribute 'axis' twice")

    def test_an_attribute_of_a_function(self) -> None:
        proto = model([node("Hardmax", ["x"], ["y"], axis=1)])
        proto.graph.node[0].attribute[0].ref_attr_name = "a"
        raises(proto, "refers to an attribute of a function")

    def test_shapes_and_dtypes(self) -> None:
        other = value("z", (4,))
        proto = model([node("Max", ["x", "z"], ["y"])], ["x", other])
        raises(proto, "Max-13", "do not broadcast", kind=mh.ShapeError)
        old = model([node("Max", ["x", "z"], ["y"])], ["x", value("z", (3,))], opset=7)
        raises(old, "Max-6", "same shape", kind=mh.ShapeError)
        ints = value("z", (3,), TensorProto.INT32)
        proto = model([node("Max", ["x", "z"], ["y"])], ["x", ints])
        raises(proto, "one dtype, got float32 and int32", kind=mh.TypeInferenceError)
        proto = model([node("Hardmax", ["x"], ["y"])], [value("x", (3,), TensorProto.INT8)])
        raises(proto, "Hardmax-13 takes", "not int8", kind=mh.TypeInferenceError)

    def test_an_output_declared_to_be_what_it_is_not(self) -> None:
        for wrong in (value("y", (3,)), value("y", ("N", 4)), value("y", dtype=TensorProto.DOUBLE)):
            proto = model(MAX)
            proto.graph.output[0].CopyFrom(wrong)
            raises(proto, "output 'y' is declared", "and is float32[N, 3]")

    @pytest.mark.parametrize("count", [0, 2])
    def test_constants_without_one_value(self, count: int) -> None:
        proto = model([constant("c", 1, "int8"), node("Max", ["c"], ["y"])], [])
        attribute = proto.graph.node[0].attribute[0]
        del proto.graph.node[0].attribute[:]
        proto.graph.node[0].attribute.extend([attribute] * count)
        raises(proto, f"has {count} attributes")


class TestForeign:
    def test_each_operator_is_listed_once(self) -> None:
        nodes = [
            node("Relu", ["x"], ["a"], name="first"),
            node("Relu", ["a"], ["b"]),
            node("Gelu", ["b"], ["c"]),
            node("Max", ["c", "x"], ["y"]),
            node("Sigmoid", ["x"], ["elsewhere"]),
        ]
        text = raises(model(nodes), "cut=True to take the tensors that they make as inputs")
        assert text.splitlines()[:3] == [
            "the model",
            "  2 x Relu: node first",
            "  1 x Gelu: node #2",
        ]
        assert "Sigmoid" not in text

    def test_another_domain(self) -> None:
        imports = [helper.make_opsetid("", 13), helper.make_opsetid("com.example", 1)]
        nodes = [node("Max", ["x", "x"], ["y"], domain="com.example")]
        raises(model(nodes, opset_imports=imports), "1 x com.example.Max")

    def test_subgraphs(self) -> None:
        body = helper.make_graph([node("Relu", ["x"], ["r"])], "body", [], [value("r")])
        nodes = [
            node("If", ["c"], ["y"], then_branch=body, else_branch=body),
        ]
        proto = model(nodes, ["x", value("c", (), TensorProto.BOOL)])
        raises(proto, "1 x If, which has a subgraph")

    def test_functions_of_the_model(self) -> None:
        """Even one that is named as an operator of ours is."""
        for domain in ("", "com.example"):
            function = helper.make_function(
                domain,
                "Max",
                ["a"],
                ["b"],
                [node("Relu", ["a"], ["b"])],
                [helper.make_opsetid("", 13)],
            )
            imports = [helper.make_opsetid("", 13), helper.make_opsetid("com.example", 1)]
            nodes = [node("Max", ["x"], ["y"], domain=domain)]
            proto = model(nodes, opset_imports=imports, functions=[function])
            raises(proto, "Max, a function of the model")

    def test_sparse_initializers(self) -> None:
        sparse = SparseTensorProto(
            values=array([1], "float32", "s"), indices=array([0], "int64"), dims=[3]
        )
        proto = model([node("Max", ["x", "s"], ["y"])])
        proto.graph.sparse_initializer.append(sparse)
        raises(proto, "'s' is a sparse initializer", "Make it dense")
        raises(proto, "'s' is a sparse initializer", cut=True)

    def test_sequences_and_the_like(self) -> None:
        tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
        for kind, type_ in {
            "sequence": helper.make_sequence_type_proto(tensor),
            "optional": helper.make_optional_type_proto(tensor),
            "sparse tensor": helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [3]),
        }.items():
            info = onnx.ValueInfoProto(name="x", type=type_)
            raises(model(MAX, [info]), f"input 'x' is a {kind}, not a tensor")

    def test_a_sequence_that_would_be_cut_at(self) -> None:
        nodes = [node("SequenceConstruct", ["x"], ["s"]), node("Max", ["s", "x"], ["y"])]
        raises(model(nodes), "1 x SequenceConstruct")
        raises(model(nodes), "tensor 's' is a sequence, not a tensor", cut=True)

    @pytest.mark.parametrize("name", ["BOOL", "STRING", "COMPLEX64", "FLOAT8E4M3FN", "INT4"])
    def test_dtypes_that_are_none_of_the_twelve(self, name: str) -> None:
        dtype = getattr(TensorProto, name)
        raises(
            model(MAX, [value("x", (3,), dtype)]), "input 'x'", name.lower(), "They take bfloat16"
        )

    def test_constants_of_text_and_sparse_ones(self) -> None:
        for attribute in ({"value_string": "a"}, {"value_strings": ["a"]}):
            nodes = [node("Constant", [], ["c"], **attribute), node("Max", ["c"], ["y"])]
            raises(model(nodes, []), "1 x Constant")


def tensor(**fields: Any) -> TensorProto:
    return TensorProto(name="c", **{"data_type": TensorProto.FLOAT, **fields})


class TestInitializers:
    """Sizes are checked before anything is allocated."""

    WRONG: ClassVar[dict[str, tuple[TensorProto, str]]] = {
        "too few bytes": (tensor(dims=[3], raw_data=bytes(8)), "float32[3], and its data has 8"),
        "too many bytes": (tensor(dims=[3], raw_data=bytes(16)), "its data has 16 bytes"),
        "bytes that are no elements": (tensor(dims=[2], raw_data=bytes(7)), "has 7 bytes"),
        "too few elements": (tensor(dims=[3], float_data=[1]), "1 elements in float_data"),
        "another field": (tensor(dims=[1], double_data=[1]), "0 elements in float_data"),
        "no data": (tensor(dims=[3]), "0 elements in float_data"),
        "a size below 0": (tensor(dims=[-1], float_data=[1]), "shape [-1], which no array has"),
        "an absurd size": (tensor(dims=[2**40], raw_data=bytes(4)), "float32[1099511627776]"),
        "an absurd product": (tensor(dims=[2**31] * 8, raw_data=bytes(4)), "which no array has"),
        "an absurd size of nothing": (tensor(dims=[0, 2**62, 2**62]), "which no array has"),
        "an absurd rank": (tensor(dims=[1] * 100000, float_data=[1]), "1, ...], which no array"),
        "elements that do not fit": (
            tensor(data_type=TensorProto.INT8, dims=[1], int32_data=[300]),
            "int32_data that do not fit int8",
        ),
        "no dtype": (tensor(data_type=0, dims=[1], raw_data=bytes(4)), "element type undefined"),
        "an unknown dtype": (tensor(data_type=99, dims=[1], raw_data=b"a"), "element type 99"),
        "text": (tensor(data_type=TensorProto.STRING, dims=[1], string_data=[b"a"]), "string"),
        "segments": (
            tensor(dims=[1], float_data=[1], segment=TensorProto.Segment(begin=0, end=1)),
            "stored in segments",
        ),
    }

    @pytest.mark.parametrize(("proto", "phrase"), WRONG.values(), ids=WRONG)
    def test_data_that_do_not_fit(self, proto: TensorProto, phrase: str) -> None:
        source = model([node("Max", ["c"], ["y"])], [], initializers=[proto])
        tracemalloc.start()
        try:
            raises(source, "constant 'c'", phrase)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert peak < 10 * 2**20

    @pytest.mark.parametrize("cut", [False, True])
    def test_of_no_interest_they_are_not_looked_at(self, cut: bool) -> None:
        nodes = [*MAX, node("Relu", ["c"], ["unused"])]

        mh.from_onnx(model(nodes, initializers=[tensor(dims=[2**50])]), cut=cut)

    def test_a_huge_input_costs_nothing_until_it_is_passed(self) -> None:
        graph = mh.from_onnx(model(MAX, [value("x", (2**40, 2**20))]))

        assert graph.inputs[0].shape == (2**40, 2**20)

    def test_huge_constants_inside_patterns(self) -> None:
        nodes = [
            node("ArgMax", ["x"], ["i"], axis=1),
            constant("n", 2**62, "int64"),
            constant("zero", 0, "int64"),
            constant("one", 1, "int64"),
            node("Range", ["zero", "n", "one"], ["r"]),
            constant("shape", [2**40, 2**20], "int64"),
            node("ConstantOfShape", ["shape"], ["zeros"]),
            node("Expand", ["one", "shape"], ["ones"]),
            node("Equal", ["i", "r"], ["e"]),
            node("Cast", ["e"], ["y"], to=1),
        ]

        raises(model(nodes), "1 x ArgMax")


def save_external(folder: Path, **entries: str) -> Path:
    """A model whose constant, float32[3], lies in `data.bin`; the location can be any."""
    folder.mkdir(exist_ok=True)
    (folder / "data.bin").write_bytes(np.float32([9, 1, 2, 3]).tobytes())
    entries = {"location": "data.bin", "offset": "4", **entries}
    proto = TensorProto(name="c", data_type=TensorProto.FLOAT, dims=[3])
    proto.data_location = TensorProto.EXTERNAL
    for key, text in entries.items():
        proto.external_data.add(key=key, value=text)
    path = folder / "model.onnx"
    path.write_bytes(
        model([node("Max", ["c"], ["y"])], [], initializers=[proto]).SerializeToString()
    )
    return path


class TestExternalData:
    @pytest.mark.parametrize("entries", [{}, {"length": "12"}, {"location": "./data.bin"}])
    def test_in_the_folder_of_the_model(self, tmp_path: Path, entries: dict[str, str]) -> None:
        graph = mh.from_onnx(save_external(tmp_path, **entries))

        assert graph.outputs["y"].operands[0].elements == np.float32([1, 2, 3]).tobytes()

    def test_in_a_folder_below(self, tmp_path: Path) -> None:
        path = save_external(tmp_path, location="parts/data.bin")
        (tmp_path / "parts").mkdir()
        (tmp_path / "data.bin").rename(tmp_path / "parts" / "data.bin")

        mh.from_onnx(path)

    def test_as_onnx_saves_it(self, tmp_path: Path) -> None:
        big = np.arange(1000, dtype="float32")
        proto = model([node("Max", ["c"], ["y"])], [], initializers={"c": big})
        onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin")

        assert mh.from_onnx(tmp_path / "m.onnx").outputs["y"].operands[0].elements == big.tobytes()

    REFUSED: ClassVar[dict[str, tuple[dict[str, str], str]]] = {
        "missing": ({"location": "absent.bin"}, "cannot be read: No such file"),
        "too short": ({"offset": "8"}, "needs the bytes 8 to 20"),
        "far too short": ({"offset": str(2**62)}, "which has 16"),
        "another length": ({"length": "8"}, "has 8 bytes of external data, and its shape needs 12"),
        "a negative offset": ({"offset": "-4"}, "the offset of constant 'c'"),
        "no number": ({"length": "many"}, "the length of constant 'c'"),
        "no location": ({"location": ""}, "no plain path"),
        "an absolute path": ({"location": "/etc/hostname"}, "which is absolute"),
        "a drive": ({"location": "C:\\data.bin"}, "which is absolute"),
        "a step out": ({"location": "../data.bin"}, "no plain path below the model's folder"),
        "a step out and in": ({"location": "parts/../../data.bin"}, "no plain path"),
        "a NUL": ({"location": "data\0.bin"}, "no plain path"),
        "a folder": ({"location": "."}, "no plain path"),
    }

    @pytest.mark.parametrize(("entries", "phrase"), REFUSED.values(), ids=REFUSED)
    def test_refused(self, tmp_path: Path, entries: dict[str, str], phrase: str) -> None:
        raises(save_external(tmp_path, **entries), "constant 'c'", phrase)

    def test_a_link(self, tmp_path: Path) -> None:
        path = save_external(tmp_path / "model", location="link.bin")
        (tmp_path / "secret").write_bytes(bytes(100))
        (path.parent / "link.bin").symlink_to(tmp_path / "secret")

        raises(path, "is a link")

    def test_a_linked_folder(self, tmp_path: Path) -> None:
        path = save_external(tmp_path / "model", location="parts/secret")
        (tmp_path / "secret").write_bytes(bytes(100))
        (path.parent / "parts").symlink_to(tmp_path)

        raises(path, "lies behind one")

    def test_a_hard_link(self, tmp_path: Path) -> None:
        path = save_external(tmp_path / "model", location="hard.bin")
        (tmp_path / "secret").write_bytes(bytes(100))
        os.link(tmp_path / "secret", path.parent / "hard.bin")

        raises(path, "is a link")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
    def test_a_pipe(self, tmp_path: Path) -> None:
        path = save_external(tmp_path, location="pipe")
        os.mkfifo(tmp_path / "pipe")

        raises(path, "no plain file")

    def test_of_a_model_without_a_folder(self, tmp_path: Path) -> None:
        path = save_external(tmp_path)

        raises(path.read_bytes(), "came without a folder", "Give the path")
        raises(onnx.load(path, load_external_data=False), "came without a folder")


def test_deep_nesting_is_no_crash() -> None:
    """Subgraphs in subgraphs, beyond protobuf's own limit of 100 levels."""

    def field(number: int, data: bytes) -> bytes:
        size, low = divmod(len(data), 128)
        length = bytes([low | 128 * bool(size)]) + (encoded(size) if size else b"")
        return bytes([number << 3 | 2]) + length + data

    def encoded(number: int) -> bytes:
        more, low = divmod(number, 128)
        return bytes([low | 128, *encoded(more)]) if more else bytes([low])

    graph = b""
    for _ in range(2000):
        graph = field(1, field(5, field(6, graph)))  # GraphProto.node, .attribute, .g

    raises(bytes([1 << 3, 8]) + field(7, graph), "is not an ONNX model, or is cut off")


def test_names_cost_no_more_than_their_number() -> None:
    """20000 nodes, each of which could be looked for in all others."""
    count = 20000
    nodes = [node("Max", ["x"], [f"m{i}"]) for i in range(count)]

    graph = mh.from_onnx(model(nodes, outputs=[f"m{i}" for i in range(count)]))

    assert len(graph.nodes) == count + 1


WITHOUT_ONNX = """
import sys
sys.modules["onnx"] = None
import maxhard as mh, maxhard.onnx
x = mh.Input("x", "float32", (3,))
for call in (
    lambda: mh.from_onnx("model.onnx"),
    lambda: mh.to_onnx(x),
    lambda: maxhard.onnx.backend_class("numpy"),
    lambda: maxhard.onnx.operators(),
):
    try:
        call()
    except mh.MissingBackendError as error:
        print(error)
"""


def test_without_onnx_the_calls_say_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ONNX], capture_output=True, text=True, check=True
    )

    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert all("Run: pip install 'maxhard[onnx]'." in line for line in lines)


def test_an_unknown_backend_of_the_official_interface() -> None:
    calls: list[Callable[[str], Any]] = []
    import maxhard.onnx

    calls += [maxhard.onnx.backend_class, maxhard.onnx.operators]
    for call in calls:
        with pytest.raises(mh.BackendError, match="'nonsense' is not known"):
            call("nonsense")
