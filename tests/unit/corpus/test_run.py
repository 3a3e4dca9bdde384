"""A run over files: its checkpoint, its table, and processes that die; the result is that of an undisturbed run."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from attnviz.corpus import engines, table
from attnviz.corpus.blocks import Read, Source, read_block, sources
from attnviz.corpus.engines import EngineError, run_local
from attnviz.corpus.run import CorpusCard, Job, OtherWeightsError, ResumeError, Run, card_of
from attnviz.corpus.sentences import Reader
from attnviz.corpus.statistics import CorpusStatistics
from attnviz.pretrained import load
from tests.unit.corpus.conftest import JOB, SENTENCES, equal
from tests.unit.corpus.dying import dying
from tests.unit.families import save


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Source]:
    file = tmp_path_factory.mktemp("corpus") / "one.txt"
    file.write_bytes("\n".join([*SENTENCES, "", *SENTENCES[:5]]).encode() + b"\n\xff\n")
    return sources([file])


def test_a_run_goes_on_from_its_checkpoint_wherever_it_ended(
    files: list[Source], reader: Reader, undisturbed: Run, tmp_path: Path
) -> None:
    """Blocks come out of order; after each the run is lost, and goes on from the file."""
    path = tmp_path / "one.checkpoint"
    Run(JOB, files).save(path)
    while left := list(Run.resume(path, JOB, files).remaining()):
        begun = Run.resume(path, JOB, files)
        begun.fold(read_block(reader, left[len(left) // 2]))
        with pytest.raises(ValueError, match=rf"^block {left[len(left) // 2].number} is counted already$"):
            begun.fold(Read(left[len(left) // 2], reader.nothing(), begun.problems, reader.weights))
        begun.save(path)
    assert equal(Run.resume(path, JOB, files), undisturbed)
    assert undisturbed.lines == undisturbed.total == 15


def test_checkpoints_of_something_else_are_refused(files: list[Source], undisturbed: Run, tmp_path: Path) -> None:
    path = tmp_path / "one.checkpoint"
    undisturbed.save(path)
    with pytest.raises(ResumeError, match=r"other settings: .*batch 4.*; not .*batch 5"):
        Run.resume(path, Job("minilm", batch=5, pairs_every=2, lines=3), files)
    other = tmp_path / "two.txt"
    other.write_text("Another text.")
    with pytest.raises(ResumeError, match=r"^The checkpoint is of other files, or they have changed since\.$"):
        Run.resume(path, JOB, sources([other]))
    with pytest.raises(ResumeError, match=r"^The checkpoint quotes sentences of other files\.$"):
        Run.resume(path, JOB, sources([Path(files[0].path)], quoted=[]))
    whole = path.read_bytes()
    for damaged in (b"", b"text", whole[: len(whole) // 2], whole[:-30] + bytes(30)):
        path.write_bytes(damaged)
        with pytest.raises(ResumeError, match=r"^one\.checkpoint is not a checkpoint of a corpus, or it is damaged\.$"):
            Run.resume(path, JOB, files)
    with pytest.raises(FileNotFoundError):
        Run.resume(tmp_path / "none", JOB, files)


def test_another_model_of_the_same_name_is_refused(files: list[Source], reader: Reader, tmp_path: Path) -> None:
    """Its weights have changed since the run was begun, or are others on another node."""
    path, (first, second, *_) = tmp_path / "one.checkpoint", Run(JOB, files).remaining()
    begun = Run(JOB, files)
    begun.fold(read_block(reader, first))
    begun.save(path)
    folder = save("bert", tmp_path / "bert")
    weights = Reader(load(str(folder))).weights
    assert weights == Reader(load(str(folder))).weights != Reader(load(str(save("bert", folder, seed=1)))).weights
    found = Run.resume(path, JOB, files)
    with pytest.raises(OtherWeightsError, match=r"^minilm has other weights than when this was begun, or elsewhere\.$"):
        found.fold(replace(read_block(reader, second), weights=weights))
    assert found.lines == begun.lines
    found.fold(read_block(reader, second))


@pytest.fixture
def quick_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes be forks of one that has imported torch; tests/unit/cli/test_corpus.py starts one as usual."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["tests.unit.corpus.dying", "torch", "attnviz.pretrained.built_in"])
    monkeypatch.setattr(engines.multiprocessing, "get_context", lambda _: forks)
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))  # which each process would import


@pytest.mark.usefixtures("quick_to_start")
def test_processes_give_the_same_bits_also_if_one_dies(
    files: list[Source], undisturbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Run(JOB, files)
    marker = Path(files[0].path).with_suffix(".dies")
    marker.write_text("once")
    monkeypatch.setattr(engines, "_read_here", dying)
    for read in run_local(JOB, found.remaining(), 2):
        found.fold(read)
    assert not marker.exists()
    assert equal(found, undisturbed)


@pytest.mark.usefixtures("quick_to_start")
def test_a_block_that_kills_every_process_is_named(files: list[Source], monkeypatch: pytest.MonkeyPatch) -> None:
    marker = Path(files[0].path).with_suffix(".dies")
    marker.write_text("always")
    monkeypatch.setattr(engines, "_read_here", dying)
    try:
        with pytest.raises(
            EngineError, match=r"^Processes died 3 times while they read .*lines 7 to 9 of .*one\.txt.*\.$"
        ):
            list(run_local(JOB, Run(JOB, files).remaining(), 1))
        assert marker.read_text() == "always again again again"
    finally:
        marker.unlink()


def test_no_processes_and_no_sentences_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^0 processes: there must be at least 1$"):
        list(run_local(JOB, [], 0))
    with pytest.raises(ValueError, match=r"^batch is 0; it must be at least 1$"):
        Job(batch=0, model="minilm")


@pytest.fixture(scope="module")
def written(undisturbed: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CorpusStatistics, CorpusCard]:
    path = tmp_path_factory.mktemp("table") / "stats.parquet"
    assert undisturbed.statistics is not None
    found = undisturbed.statistics.finish()
    card = card_of(undisturbed, corpus="Some “sentences”", licence="CC0", command="python -m attnviz corpus one.txt")
    table.write(path, found, card)
    return path, found, card


def test_the_table_gives_back_what_was_written(written: tuple[Path, CorpusStatistics, CorpusCard]) -> None:
    path, found, card = written
    again, its_card = table.read(path)
    assert its_card == card
    for name in CorpusStatistics.__slots__:
        mine, theirs = getattr(found, name), getattr(again, name)
        if isinstance(mine, np.ndarray):
            np.testing.assert_array_equal(mine, theirs, err_msg=name)
        elif name != "strongest":
            assert mine == theirs, name
    np.testing.assert_array_equal(found.strongest.values, again.strongest.values)
    np.testing.assert_array_equal(found.strongest.places, again.strongest.places)
    assert found.strongest.texts == again.strongest.texts


def test_the_table_has_a_row_for_each_head_and_measure(written: tuple[Path, CorpusStatistics, CorpusCard]) -> None:
    """As pandas reads it, which knows nothing of this project."""
    import pandas as pd

    path, found, _ = written
    rows = pd.read_parquet(path)
    of_measures = rows[rows["kind"] == "measure"].set_index(["layer", "head", "measure"])
    assert len(of_measures) == 6 * 12 * len(found.measures)
    one = of_measures.loc[(0, 2, "previous")]
    number = found.measures.index("previous")
    assert one["mean"] == found.mean[0, 2, number] and one["count"] == found.count[0, 2, number]
    assert one["q50"] == found.quantiles[0, 2, number, 3]
    assert one["strongest"][0]["text"] in SENTENCES
    labels = rows[(rows["kind"] == "label") & (rows["measure"] == "previous")].set_index(["layer", "head"])
    assert labels.loc[(0, 2), "mean"] == found.label_share[found.labels.index("previous"), 0, 2]


def test_a_damaged_table_is_refused(written: tuple[Path, CorpusStatistics, CorpusCard], tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    whole = written[0].read_bytes()
    path, said = tmp_path / "stats.parquet", r"^stats\.parquet has no statistics of a corpus, or it is damaged\.$"
    for damaged in (b"", b"PAR1", whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(table.TableError, match=said):
            table.read(path)
    pq.write_table(pa.table({"one": [1]}), path)
    with pytest.raises(table.TableError, match=said):
        table.read(path)


def test_the_shipped_statistics_are_of_the_built_in_model_and_quote_only_this_project(reader: Reader) -> None:
    from tests.unit.test_layers import ROOT

    found, card = table.read(ROOT / "assets" / "corpus" / "minilm.parquet")
    assert found.sentences > 60_000 and card.model == "minilm" and card.licence
    assert found.shape == (6, 12) and not card.problems.get("not UTF-8")
    own = "\n".join(path.read_text() for path in (ROOT / "assets" / "bert").glob("*.[ct][sx][vt]")).replace('""', '"')
    assert {card.files[place.file].name for place in found.strongest.texts} == set(card.quoted)
    assert all(text in own for text in found.strongest.texts.values())
    # And they are what this model does: some sentences again.
    texts = list(found.strongest.texts.values())[:40]
    again = reader.read(texts).finish()
    number = found.measures.index("previous")
    assert np.corrcoef(again.mean[..., number].ravel(), found.mean[..., number].ravel())[0, 1] > 0.98


@pytest.fixture(autouse=True)
def _no_waiting() -> Iterator[None]:
    engines._reader.cache_clear()
    yield
    engines._reader.cache_clear()
