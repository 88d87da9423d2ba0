"""The command `maxhard`: models shown, run, checked and converted."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import __version__, backends
from .graph.errors import GraphError
from .onnx import from_onnx, to_onnx
from .progress import Progress
from .structure import Graph

_EXIT = """exit status:
  0  all went well
  1  a check failed
  2  the command was used wrongly, or a model was refused"""
_EXAMPLES = """examples:
  maxhard show model.onnx
  maxhard run model.onnx -i x=x.npy -i y=y.npy -o out.npz --backend jax
  maxhard run model.onnx -i test_data_set_0
  maxhard check model.onnx
  maxhard convert model.onnx model13.onnx --opset 13

"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(argv)
    try:
        status: int = options.command(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever read our output has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _fail("stopped", 130)
    except (GraphError, OSError) as error:
        return _fail(error)


def _fail(error: object, status: int = 2) -> int:
    lines = (line.strip() for line in str(error).splitlines())
    print(f"maxhard: error: {'; '.join(filter(None, lines))}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="maxhard",
        description="Max and Hardmax of ONNX models, with the same bytes on every array library.",
        epilog=_EXAMPLES + _EXIT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"maxhard {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    show = commands.add_parser("show", help="print a model, one typed node a line")
    _add_model(show)
    show.set_defaults(command=_show)

    run = commands.add_parser("run", help="run a model on arrays from files")
    _add_model(run)
    run.add_argument(
        "-i",
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="an array (.npy, or a tensor in .pb), several by name (.npz), or a folder of "
        "input_0.pb, input_1.pb, ...; without NAME, arrays go to the inputs in their order",
    )
    run.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help=".npz, or .npy for one output; else print"
    )
    run.add_argument(
        "--backend", default="numpy", metavar="NAME", help="see `maxhard backends` (default: numpy)"
    )
    run.set_defaults(command=_run)

    check = commands.add_parser(
        "check", help="run a model on every installed backend and compare the bytes"
    )
    _add_model(check)
    check.set_defaults(command=_check)

    convert = commands.add_parser("convert", help="write a model at another opset, meaning kept")
    convert.add_argument("model", metavar="MODEL", help="an ONNX file")
    convert.add_argument("out", metavar="OUT", type=Path, help="where to write the new one")
    convert.add_argument("--opset", type=int, default=13, metavar="N", help="default: 13")
    convert.set_defaults(command=_convert, cut=False, outputs=None)

    listing = commands.add_parser("backends", help="list the array libraries")
    listing.set_defaults(command=_backends)
    return parser


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="an ONNX file")
    parser.add_argument(
        "--tensor",
        action="append",
        dest="outputs",
        metavar="NAME",
        help="a tensor to take as output, instead of the model's own; may be repeated",
    )
    parser.add_argument(
        "--cut",
        action="store_true",
        help="take tensors that other operators make as inputs",
    )


def _graph(options: argparse.Namespace) -> Graph:
    with Progress(f"reading {options.model}"):
        return from_onnx(options.model, options.outputs, cut=options.cut)


def _show(options: argparse.Namespace) -> int:
    print(_graph(options))
    return 0


def _run(options: argparse.Namespace) -> int:
    from .files import as_text, check_writable, read_arrays, write_arrays

    graph = _graph(options)
    check_writable(options.output, len(graph.output_nodes))
    arrays = read_arrays(options.input, graph.inputs)
    with Progress(f"running on {options.backend}"):
        from .check import run_on

        results = run_on(graph, options.backend, arrays)
    if options.output is None:
        print(as_text(results))
    else:
        write_arrays(options.output, results)
    return 0


def _check(options: argparse.Namespace) -> int:
    from .check import check

    graph = _graph(options)
    with Progress("checking") as progress:
        report = check(graph, progress.step)
    print(report.text)
    return 0 if report.passed else 1


def _convert(options: argparse.Namespace) -> int:
    graph = _graph(options)
    model = to_onnx(graph, options.opset)
    options.out.write_bytes(model.SerializeToString())
    return 0


def _backends(options: argparse.Namespace) -> int:
    found = backends()
    width = max(map(len, found))
    for name, version in found.items():
        print(f"{name:{width}}  {version}")
    return 0
