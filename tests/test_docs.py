"""What the documentation says is what happens."""

import doctest
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

import maxhard

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
EXAMPLES = sorted(ROOT.glob("docs/examples/*.py"))
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(
    r"^python3 -m venv \.venv && \.venv/bin/python -m pip install -e '\.\[(\w+)\]' && "
    r"\.venv/bin/python (.+)$",
    re.MULTILINE,
)


class InApp(doctest.OutputChecker):
    """Reads the origin of a node in a snippet as a line of `app.py`."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, re.sub(r"<doctest [^>]*>", "app.py", got), optionflags)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_of_a_page_print_what_they_show(page: Path) -> None:
    snippets = "\n".join(PYTHON.findall(page.read_text()))
    for library in ("array_api_strict", "jax"):
        if f"import {library}" in snippets:
            pytest.importorskip(library)

    test = doctest.DocTestParser().get_doctest(snippets, {}, page.name, str(page), 0)
    result = doctest.DocTestRunner(InApp()).run(test)

    assert result.failed == 0
    assert result.attempted == snippets.count("\n>>> ") + snippets.startswith(">>> ")


def test_the_reference_has_every_public_name() -> None:
    documented = re.findall(r"^\.\. auto\w+:: (\w+)$", (ROOT / "docs/api.md").read_text(), re.M)

    assert sorted(documented) == sorted(maxhard.__all__)


def test_the_readme_has_two_complete_commands() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]

    commands = COMMAND.findall((ROOT / "README.md").read_text())

    assert [what for _, what in commands] == ["docs/examples/digits.py", "-m pytest"]
    assert {extra for extra, _ in commands} <= set(extras)


@cache
def output_of(example: Path) -> str:
    for library in ("jax", "sklearn"):
        pytest.importorskip(library)
    run = subprocess.run([sys.executable, example], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(example: Path) -> None:
    assert output_of(example)


@pytest.mark.slow
def test_digits_are_classified_with_the_same_bytes_everywhere() -> None:
    output = output_of(ROOT / "docs/examples/digits.py")

    (accuracy,) = re.findall(r"^([\d.]+)% of", output, re.MULTILINE)
    assert float(accuracy) > 97
    assert {"numpy", "jax"} <= set(re.findall(r"^(\S+) .* the same bytes$", output, re.MULTILINE))
