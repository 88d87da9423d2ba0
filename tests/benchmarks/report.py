"""The page of results: the goals and the rows that miss them, tables, pictures."""

import os
import platform
from collections.abc import Iterable, Iterator
from html import escape
from importlib import metadata
from importlib.util import find_spec
from math import exp, log, log10
from pathlib import Path
from typing import Any

Row = dict[str, Any]
LIBRARIES = ("numpy", "jax", "jaxlib", "onnxruntime", "onnx", "torch", "ml_dtypes")
SLACK = 1.05  # what is no slower: the noise of a median
COLOURS = {"maxhard": "#2a6f97", "jax": "#bc6c25"}


def machine(threads: int, clock: str) -> Row:
    """Where the numbers are from."""
    return {
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "load when the run began": f"{os.getloadavg()[0]:.1f}",
        "threads of each library": threads,
        "clock": "elapsed time" if clock == "wall" else "processor time of all threads",
    } | {name: metadata.version(name) for name in LIBRARIES if find_spec(name)}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} x {names[0]}" if names else platform.processor()


def label(row: Row) -> str:
    return f"{row['op']} {row['case']} {row['dtype']} {row.get('data', '')}".strip()


def goals(found: Row) -> Iterator[tuple[str, float, float]]:
    """Each goal, the number reached, and the most that it may be."""
    for row in found["rows"]:
        if "jax to naive" in row:
            yield f"{label(row)}: on JAX, to naive JAX", row["jax to naive"], SLACK
        if row["tiny"]:
            if "onnxruntime" in row["ms"]:
                reached = row["ms"]["maxhard"] / row["ms"]["onnxruntime"]
                yield f"{label(row)}: to onnxruntime", reached, SLACK
            continue
        yield f"{label(row)}: to the best peer, {row['best peer']}", row["to best"], SLACK
        if row["data"] == "normal" and row["dtype"] in ("float32", "float16"):
            yield from _special(row)
    for row in found["spread"]:
        yield f"{label(row)}: {row['worst data']} to ordinary data", row["to ordinary"], 2.0
    hardmax = [row["jax to naive"] for row in found["rows"] if _is_hardmax_on_jax(row)]
    if hardmax:
        yield "Hardmax on JAX, to naive JAX: geometric mean", geometric_mean(hardmax), 1 / 2.5
    for row in found.get("memory", ()):
        yield f"Hardmax(Max) {row['shape']}: MiB beyond the result", row["beyond it"], 8.0


def _special(row: Row) -> Iterator[tuple[str, float, float]]:
    name = f"{row['op']} {row['case']} {row['dtype']}"
    if name == "Hardmax (2048, 2048) axis 0 float32":
        yield f"{name}: to NumPy's argmax", row["to numpy"], 1 / 8
        yield f"{name}: to a copy", row["to copy"], 4.0
    if name == "Max 2 x (2048, 2048) float16":
        yield f"{name}: to np.maximum", row["to numpy"], 0.1
    if name == "Max 8 x (2048, 2048) float32":
        yield f"{name}: to the chain with out=", row["to numpy"], 1 / 1.8


def _is_hardmax_on_jax(row: Row) -> bool:
    return row["op"] == "Hardmax" and "jax to naive" in row and not row["tiny"]


def missed(found: Row) -> list[str]:
    return [
        f"{name}: {reached:.2f}, goal at most {most:.2f}"
        for name, reached, most in goals(found)
        if reached > most
    ]


def geometric_mean(values: Iterable[float]) -> float:
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs))


def write(found: Row, docs: Path, command: str) -> None:
    """docs/performance.md, and a picture for each operator in docs/_static."""
    pictures = docs / "_static"
    pictures.mkdir(parents=True, exist_ok=True)
    names = {"Hardmax": "performance-hardmax.svg", "Max": "performance-max.svg"}
    for op, name in names.items():
        rows = [r for r in found["rows"] if r["op"] == op and r["data"] == "normal"]
        (pictures / name).write_text(picture([r for r in rows if not r["tiny"]]))
    page = (Path(__file__).parent / "performance.md").read_text()
    all_goals = list(goals(found))
    misses = missed(found)
    for mark, text in {
        "command": command,
        "machine": table([{"": k, " ": v} for k, v in found["machine"].items()]),
        "goals": f"{len(all_goals) - len(misses)} of {len(all_goals)} goals are met.",
        "missed": "\n".join(f"- {line}" for line in misses) or "None.",
        "hardmax": table(map(_cells, (r for r in found["rows"] if r["op"] == "Hardmax"))),
        "max": table(map(_cells, (r for r in found["rows"] if r["op"] == "Max"))),
        "both": table(map(_cells, (r for r in found["rows"] if r["op"] == "Hardmax(Max)"))),
        "spread": table(found["spread"]),
        **{key: table(found.get(key, [])) for key in ("nodes", "operands", "memory")},
        "import": f"{found.get('import ms', 0):.0f}",
    }.items():
        page = page.replace(f"<!-- {mark} -->", text)
    (docs / "performance.md").write_text(page)


def _cells(row: Row) -> Row:
    cells = {"operands": row["case"], "dtype": row["dtype"], "data": row["data"]}
    cells |= {"ms": row["ms"]["maxhard"], "best peer": row["best peer"]}
    cells |= {"to it": row["to best"], "to NumPy": row["to numpy"], "to a copy": row["to copy"]}
    return cells | {"JAX to naive": row.get("jax to naive", "")}


def table(rows: Iterable[Row]) -> str:
    """A table in Markdown; the keys of the first row are its head."""
    rows = list(rows)
    if not rows:
        return "Not measured in this run."
    lines = [" | ".join(rows[0]), " | ".join("---" for _ in rows[0])]
    lines += [" | ".join(map(_text, row.values())) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _text(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4f}" if value < 0.1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def picture(rows: list[Row]) -> str:
    """Bars of the ratios to the best peer and to naive JAX, on a logarithmic scale; left of the
    line is faster."""
    left, width, bar, top = 330, 360, 8, 34
    height = top + len(rows) * (2 * bar + 8) + 10

    def x(ratio: float) -> float:
        return left + width * (min(max(log10(ratio), -1.6), 0.8) + 1.6) / 2.4

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 70} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="100%" height="{height}" fill="white"/>',
        _caption(left, COLOURS["maxhard"], "NumPy backend to the best peer"),
        _caption(left + 190, COLOURS["jax"], "JAX backend to naive JAX"),
    ]
    for tick in (0.03, 0.1, 0.3, 1, 3):
        stroke = "#333" if tick == 1 else "#ccc"
        parts.append(
            f'<line x1="{x(tick):.0f}" x2="{x(tick):.0f}" y1="{top - 4}" y2="{height}" '
            f'stroke="{stroke}"/><text x="{x(tick):.0f}" y="{top - 8}" fill="#666" '
            f'text-anchor="middle">{tick:g}</text>'
        )
    for i, row in enumerate(rows):
        y = top + i * (2 * bar + 8)
        name = escape(f"{row['case']} {row['dtype']}")
        parts.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{name}</text>')
        for j, (kind, key) in enumerate((("maxhard", "to best"), ("jax", "jax to naive"))):
            if key in row:
                start, end = sorted((x(1), x(row[key])))
                parts.append(
                    f'<rect x="{start:.0f}" y="{y + j * bar}" width="{max(end - start, 1):.0f}" '
                    f'height="{bar - 1}" fill="{COLOURS[kind]}"/>'
                )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _caption(x: float, colour: str, text: str) -> str:
    return f'<text x="{x}" y="14" fill="{colour}">{text}</text>'
