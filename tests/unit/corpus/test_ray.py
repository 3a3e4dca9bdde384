"""Blocks read by actors of Ray: the result is that of one process, also if an actor or the driver is killed."""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

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
from tests.browser.server import ROOT
from tests.unit.corpus.conftest import JOB, SENTENCES, equal
from tests.unit.corpus.dying import DyingJob

SETTINGS = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a-secret-of-these-tests-of-32-letters", **ENVIRONMENT}
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")  # Ray's own, of its own settings
run_here = partial(engine.run_ray, gpus=0.0, address=None)


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Ray with two processors; this process is connected to it. Yields its address."""
    with pytest.MonkeyPatch.context() as patched:
        for name, value in SETTINGS.items():
            patched.setenv(name, value)
        import ray

        with connected(None, processors=2, store_bytes=engine.STORE_BYTES):
            yield ray.get_runtime_context().gcs_address


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Source]:
    file = tmp_path_factory.mktemp("corpus") / "one.txt"
    file.write_bytes("\n".join([*SENTENCES, "", *SENTENCES[:5]] * 3).encode() + b"\n\xff\n")
    return sources([file])


def test_the_result_is_that_of_one_process_though_an_actor_dies(
    cluster: str, files: list[Source], undisturbed: Run, tmp_path: Path
) -> None:
    found, marker = Run(JOB, files), tmp_path / "died"
    for read in run_here(DyingJob(f"minilm|{marker}|{SENTENCES[2]}", 4, 2, 3), found.remaining(), actors=1):
        found.fold(read)
    assert marker.exists()
    assert equal(found, undisturbed)


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


def test_a_killed_driver_goes_on_from_its_checkpoint(
    cluster: str,
    files: list[Source],
    reader: Reader,
    undisturbed: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "stats.parquet"
    words = ["corpus", files[0].path, "--engine", "ray", "--out", str(out), "--quiet", "--batch", "4"]
    words += ["--pairs-every", "2", "--lines", "3", "--processes", "1"]
    often = "import sys\nfrom attnviz import cli\nfrom attnviz.cli import corpus\n"
    often += "corpus.SAVED_EVERY = 0\nsys.exit(cli.main(sys.argv[1:]))"
    driver = subprocess.Popen([sys.executable, "-c", often, *words, "--address", cluster], cwd=ROOT)
    until = time.monotonic() + 120
    while not out.with_name("stats.parquet.checkpoint").exists():
        assert driver.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    driver.kill()
    driver.wait()
    half = Run.resume(out.with_name("stats.parquet.checkpoint"), JOB, files)
    assert 0 < half.lines < half.total
    here = partial(map, partial(read_block, reader))  # reads what is left, without Ray
    monkeypatch.setattr("attnviz.cli.corpus._engine", lambda *_: here)
    assert cli.main(words) == 0
    assert undisturbed.statistics is not None
    statistics, card = table.read(out)
    assert card.files[0].lines == undisturbed.total
    expected = undisturbed.statistics.finish()
    for name in ("mean", "std", "quantiles", "histograms", "label_share", "offset_mean", "part_mean", "divergence"):
        np.testing.assert_array_equal(getattr(statistics, name), getattr(expected, name), err_msg=name)


def test_without_ray_or_a_cluster_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match=r"127\.0\.0\.1:9 can't be reached"):
        check_address("127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineError, match=r"pip install 'attnviz\[ray\]'"):
        list(run_here(JOB, [], actors=1))
