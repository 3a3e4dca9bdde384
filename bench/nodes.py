"""`python -m bench.nodes FILE`: a node of a Ray cluster is killed in the middle of a corpus.

Two nodes, each a process of its own on this machine. The result must be that of one process, bit for bit.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from pathlib import Path

from attnviz.cluster import ENVIRONMENT
from attnviz.corpus.blocks import read_block, sources
from attnviz.corpus.engines import run_ray
from attnviz.corpus.run import Job, Run

JOB = Job("minilm", lines=64)


def main() -> None:
    """Read a file twice and compare."""
    os.environ |= {**ENVIRONMENT, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    import ray
    from ray.cluster_utils import Cluster

    files = sources([Path(sys.argv[1])])
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 2**28})
    second = cluster.add_node(num_cpus=1, object_store_memory=2**28)
    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
    found, began = Run(JOB, files), time.perf_counter()
    for number, read in enumerate(run_ray(JOB, found.remaining(), actors=2, gpus=0.0, address=None)):
        found.fold(read)
        if number == 3:
            cluster.remove_node(second, allow_graceful=False)
            sys.stdout.write(f"node killed after {found.lines} of {found.total} lines\n")
    took = time.perf_counter() - began
    ray.shutdown()
    cluster.shutdown()

    alone, reader = Run(JOB, files), JOB.reader()
    for block in alone.remaining():
        alone.fold(read_block(reader, block))
    assert found.statistics is not None and alone.statistics is not None
    mine, theirs = found.statistics.arrays(), alone.statistics.arrays()
    equal = all((mine[name] == theirs[name]).all() for name in theirs) and found.lines == alone.lines
    sys.stdout.write(f"{found.lines} lines in {took:.0f} s; {'equal, bit for bit' if equal else 'NOT EQUAL'}\n")
    sys.exit(not equal)


if __name__ == "__main__":
    main()
