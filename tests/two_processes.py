"""One of two processes that hold half of a global array each; run by `test_distributed.py`.

Arguments: the rank, the port of the coordinator, and the file to write this process's part to.
"""

import sys
from pathlib import Path

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import maxhard as mh
from cases import patterns, to_array

SHAPE = (8, 6)
DTYPES = ("float32", "float64")


def data(dtype: str) -> list[np.ndarray]:
    """The same in every process."""
    return [to_array(dtype, patterns(dtype, SHAPE, kind)) for kind in ("ties", "sparse NaN")]


def main(rank: int, port: str, path: Path) -> None:
    jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=rank)
    rows = NamedSharding(Mesh(np.array(jax.devices()), ("rows",)), PartitionSpec("rows"))
    assert len(jax.local_devices()) == 1
    parts = {}
    for dtype in DTYPES:
        mine = [x[4 * rank : 4 * rank + 4] for x in data(dtype)]
        with jax.enable_x64(True):
            x, y = (jax.make_array_from_process_local_data(rows, part, SHAPE) for part in mine)
        for axis in (0, 1):
            program = mh.compile(mh.hardmax(mh.maximum(mh.Input("x"), mh.Input("y")), axis))
            results = {"program": program(x, y)}
            if dtype == "float32":
                results["eager"] = mh.hardmax(mh.maximum(x, y), axis)
            for label, result in results.items():
                assert result.sharding.is_equivalent_to(rows, 2), result.sharding
                (shard,) = result.addressable_shards
                bits = np.asarray(shard.data).view(f"uint{8 * shard.data.dtype.itemsize}")
                parts[f"{dtype} {axis} {label}"] = bits
    np.savez(path, **parts)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
