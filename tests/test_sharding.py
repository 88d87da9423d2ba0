"""Arrays spread over devices: the tests of `eight_devices.py`, where the host has eight."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")

TESTS = Path(__file__).with_name("eight_devices.py")


@pytest.mark.slow
def test_over_eight_devices() -> None:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS)],
        cwd=TESTS.parents[1],
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    (passed,) = re.findall(r"(\d+) passed in", run.stdout)
    assert int(passed) > 60
