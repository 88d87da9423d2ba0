"""The router example learns with the surrogate, not without, and splits no tie."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")

EXAMPLE = Path(__file__).parents[1] / "docs/examples/router.py"


@pytest.mark.slow
def test_router() -> None:
    run = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, timeout=240)
    assert run.returncode == 0, run.stderr
    print(run.stdout)

    rows = re.findall(r"^(zero|softmax) +([\d.]+)  \[(.*)\] +(\d+)%$", run.stdout, re.MULTILINE)
    (_, zero_loss, _, zero_purity), (_, loss, load, purity) = rows
    tied, total = map(int, re.findall(r"bfloat16: (\d+) of (\d+) rows", run.stdout)[0])
    ours, naive = map(int, re.findall(r"one: (\d+) by Hardmax, (\d+) by", run.stdout)[0])

    assert float(loss) < float(zero_loss) / 10
    assert int(purity) > 95 > 85 > int(zero_purity)
    assert min(map(int, load.split(","))) > 200
    assert tied > 2000
    assert ours == total
    assert naive == total - tied
