"""Blocks read by actors of Ray: the result is that of one process, also if an actor dies or the driver is killed."""

from __future__ import annotations

import gc
import pickle
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pyarrow as pa
import pytest

from attnviz import cli
from attnviz.cluster import ENVIRONMENT, ClusterError, check_address, connected
from attnviz.corpus import engines as engine
from attnviz.corpus import table
from attnviz.corpus.blocks import Block, Read, Source, read_block, sources
from attnviz.corpus.engines import EngineError
from attnviz.corpus.run import Job, Run
from attnviz.corpus.sentences import Reader
from attnviz.pretrained import ModelError
from tests.browser.server import free_port
from tests.unit.corpus.conftest import JOB, SENTENCES, equal
from tests.unit.corpus.dying import DyingJob

SETTINGS = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a-secret-of-these-tests-of-32-letters", **ENVIRONMENT}
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")  # Ray's own, of its own settings
run_here = partial(engine.run_ray, gpus=0.0, address=None)
DEADLY = "Here the actor dies."
HELPERS = ("start_monitor", "start_log_monitor", "start_api_server")
"""Processes that Ray starts beside those that compute: for more nodes, for the logs of actors, for its dashboard"""
PORTS = ("metrics_agent_port", "metrics_export_port", "runtime_env_agent_port", "dashboard_agent_listen_port")
"""Of processes that write the port that they have chosen into a file"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Ray with one processor; this process has started it, left it, and connected to it. Yields its address."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in SETTINGS.items():
            patched.setenv(name, value)
        import ray
        from ray._private import worker
        from ray._private.node import Node
        from ray._private.parameter import RayParams
        from ray.data._internal import stats

        for name in HELPERS:  # Ray starts eight processes one after another, in more than its 30 s on a busy machine
            patched.setattr(Node, name, lambda *_, **__: None)
        # A port that is not given is read from a file, for which Ray waits no longer than 15 s before it starts anew.
        init = RayParams.__init__

        def with_ports(*own: Any, **given: Any) -> None:
            init(*own, **given | {name: free_port() for name in PORTS})  # others at each start

        patched.setattr(RayParams, "__init__", with_ports)
        patched.setattr(stats, "get_or_create_stats_actor", MagicMock())  # an actor for the dashboard
        patched.setattr("attnviz.cluster.STARTS", 4)
        with ExitStack() as running:
            with warnings.catch_warnings():  # a start that fails leaves processes for which Ray does not wait
                warnings.simplefilter("ignore", ResourceWarning)
                running.enter_context(connected(None, processors=1, store_bytes=engine.STORE_BYTES))
                gc.collect()
            address, node = ray.get_runtime_context().gcs_address, worker._global_node
            worker._global_node = None  # or `ray.shutdown` would end what this node has started
            ray.shutdown()
            with connected(address, processors=1, store_bytes=0):
                assert ray.get_runtime_context().gcs_address == address
                yield address
            assert not ray.is_initialized()
            worker._global_node = node


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Source]:
    """Six blocks of three lines; the actor dies in the fifth."""
    file = tmp_path_factory.mktemp("corpus") / "one.txt"
    lines = [*SENTENCES, "", *SENTENCES[:4], DEADLY, SENTENCES[4]]
    file.write_bytes("\n".join(lines).encode() + b"\n\xff\n")
    return sources([file])


def test_an_actor_dies_and_what_it_would_leave_goes_on(
    cluster: str,
    files: list[Source],
    reader: Reader,
    undisturbed: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The command writes the table of one process; before that a checkpoint, of which the actor makes a copy and dies.

    Of the copy the run goes on as it would if the driver had been killed then.
    """
    out, copy = tmp_path / "stats.parquet", tmp_path / "copy"
    checkpoint = out.with_name("stats.parquet.checkpoint")
    run_ray = engine.run_ray

    def with_death(job: Job, blocks: Iterator[Block], **on: Any) -> Iterator[Read]:
        assert job == JOB
        assert on["address"] == cluster
        return run_ray(DyingJob(f"minilm|{checkpoint}|{copy}|{DEADLY}", 4, 2, 3), blocks, **on)

    monkeypatch.setattr(engine, "run_ray", with_death)
    monkeypatch.setattr("attnviz.cli.corpus.SAVED_EVERY", 0)
    words = ["corpus", files[0].path, "--engine", "ray", "--out", str(out), "--quiet", "--batch", "4"]
    words += ["--pairs-every", "2", "--lines", "3", "--processes", "1", "--address", cluster]
    assert cli.main(words) == 0
    assert copy.exists() and not checkpoint.exists()
    assert undisturbed.statistics is not None
    statistics, card = table.read(out)
    assert card.files[0].lines == undisturbed.total
    expected = undisturbed.statistics.finish()
    for name in ("mean", "std", "quantiles", "histograms", "label_share", "offset_mean", "part_mean", "divergence"):
        np.testing.assert_array_equal(getattr(statistics, name), getattr(expected, name), err_msg=name)

    half = Run.resume(copy, JOB, files)
    assert 0 < half.lines <= 12 < half.total  # results come while others are read
    for block in half.remaining():
        half.fold(read_block(reader, block))
    assert equal(half, undisturbed)


class Begun:
    """Counts nothing: says how often a block was begun."""

    def __init__(self, times: int) -> None:
        self.begin = SimpleNamespace(remote=lambda _: times)


def read_by_an_actor(job: Job, block: Block, monkeypatch: pytest.MonkeyPatch, begun: int = 1) -> Read:
    """Read a block as an actor does, in this process."""
    monkeypatch.setattr("ray.get", lambda value: value)
    table = engine.Actor(job, "cpu", Begun(begun))(pa.table({"block": [pickle.dumps(block)]}))
    return engine.unpacked(table["read"][0].as_py())


def test_what_can_not_be_read_is_said_as_by_local(
    files: list[Source], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = list(Run(JOB, files).remaining())[1]
    assert read_by_an_actor(JOB, block, monkeypatch).block == block
    with pytest.raises(FileNotFoundError, match=r"gone\.txt"):
        read_by_an_actor(JOB, block._replace(path=str(tmp_path / "gone.txt")), monkeypatch)
    with pytest.raises(ModelError, match="nowhere"):
        read_by_an_actor(Job("./nowhere"), block, monkeypatch)
    with pytest.raises(EngineError, match=r"5 actors ended at lines 4 to 6 of .*one\.txt"):
        read_by_an_actor(JOB, block, monkeypatch, begun=engine.MOST_ATTEMPTS + 1)
    with pytest.raises(ValueError, match="at least 1"):
        list(run_here(JOB, [], actors=0))
    with pytest.raises(ValueError, match="negative"):
        list(engine.run_ray(JOB, [], actors=1, gpus=-1.0, address=None))


def test_without_ray_or_a_cluster_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match=r"127\.0\.0\.1:9 can't be reached"):
        check_address("127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineError, match=r"pip install 'attnviz\[ray\]'"):
        list(run_here(JOB, [], actors=1))
