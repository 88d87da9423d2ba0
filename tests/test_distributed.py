"""One global JAX array in two processes, on the loopback address."""

import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import maxhard as mh
from cases import bits_of

pytest.importorskip("jax")

import two_processes


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port: int = server.getsockname()[1]
        return port


@pytest.mark.slow
def test_two_processes_give_the_bytes_of_one(tmp_path: Path) -> None:
    port = str(free_port())
    paths = [tmp_path / f"{rank}.npz" for rank in (0, 1)]
    script = two_processes.__file__
    workers = [
        subprocess.Popen(
            [sys.executable, script, str(rank), port, str(path)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, path in enumerate(paths)
    ]
    try:
        errors = [worker.communicate(timeout=240)[1] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert [worker.returncode for worker in workers] == [0, 0], "\n".join(errors)

    parts = [np.load(path) for path in paths]

    assert len(parts[0].files) == 6
    for key in parts[0].files:
        dtype, axis, _ = key.split()
        expected = mh.hardmax(mh.maximum(*two_processes.data(dtype)), int(axis))
        actual = np.concatenate([part[key] for part in parts])
        assert np.array_equal(actual, bits_of(expected)), key
