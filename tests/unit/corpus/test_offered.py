"""What the app offers: own files and what ships; labels are read alone as with all the rest; nothing can be written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attnviz.corpus import LABELS, offered, table
from attnviz.corpus.offered import SHIPPED, OfferedError, about, corpora, labels, statistics
from attnviz.measures.summary import BROAD_HEAD, DIAGONAL
from attnviz.settings import Settings

MINILM = "minilm", "encoder", tuple(range(6)), 12


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of other words, which the setting names."""
    file = tmp_path / "news.parquet"
    found, card = table.read(SHIPPED)
    table.write(file, found, replace(card, corpus="News"))
    monkeypatch.setattr(offered, "settings", lambda: Settings(corpora=(str(file),)))
    return file


def test_labels_read_alone_are_those_of_the_statistics() -> None:
    found, card = statistics(SHIPPED)
    of_labels, said = labels(SHIPPED), about(SHIPPED)
    assert (card.model, card.kind, found.numbers, found.shape[1]) == MINILM
    assert (said.model, said.kind, said.layers, said.heads) == MINILM
    assert said.sentences == of_labels.sentences == found.sentences and said.corpus == card.corpus
    for (layer, head), own in of_labels.shares.items():
        shares = dict(zip(found.labels, found.label_share[:, layer, head].tolist(), strict=True))
        assert dict(own) == {label: share for label, share in shares.items() if share}
        assert [share for _, share in own] == sorted((share for _, share in own), reverse=True)
    assert set(of_labels.shares) == set(zip(*found.label_count.sum(0).nonzero(), strict=True))
    with pytest.raises(ValueError, match="read-only"):
        found.mean[0, 0, 0] = 1


def test_own_files_come_before_what_ships_for_their_model_only(own: Path) -> None:
    assert corpora(*MINILM) == {"news": own, "minilm": SHIPPED}
    assert list(corpora(*MINILM)) == ["news", "minilm"]
    assert about(own).corpus == "News"
    assert corpora("other", "encoder", range(6), 12) == {}
    assert corpora("minilm", "decoder", range(6), 12) == {}
    assert corpora("minilm", "encoder", range(2), 4) == {}
    for name in ("x" * 400, "~nobody/bert", "\0"):  # no path can have such a name
        assert corpora(name, "encoder", range(6), 12) == {}


def test_a_folder_is_the_same_model_however_it_is_named(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bert").mkdir()
    found, card = table.read(SHIPPED)
    table.write(own, found, replace(card, model="./bert"))
    monkeypatch.chdir(tmp_path)
    assert corpora(str(tmp_path / "bert"), "encoder", range(6), 12) == {"news": own}
    assert corpora(str(tmp_path), "encoder", range(6), 12) == {}


DAMAGED = (
    r"^(news\.parquet has no statistics of a corpus, or it can't be read"
    r"|news\.parquet can't be shown: news\.parquet has no statistics of a corpus, or it is damaged)\.$"
)


@pytest.mark.parametrize("size", [0, 3, 1000, -100])
def test_a_damaged_file_is_one_sentence(own: Path, size: int) -> None:
    own.write_bytes(own.read_bytes()[:size])
    for read in (about, labels, statistics):
        with pytest.raises(OfferedError, match=DAMAGED):
            read(own)
    refused: list[str] = []
    assert corpora(*MINILM, on_error=refused.append) == {"minilm": SHIPPED}
    assert len(refused) == 1 and "news.parquet" in refused[0]


def test_a_file_that_was_replaced_is_read_anew(own: Path) -> None:
    before, share = statistics(own)[0], labels(own).shares
    table.write(own, before, replace(table.read(own)[1], corpus="News of today"))
    assert about(own).corpus == "News of today" and statistics(own)[0] is not before
    assert labels(own).shares == share


OTHER = "are of another version of this program; compute them again."


@pytest.mark.parametrize(
    ("change", "what"),
    [({"format": 1}, OTHER), ({"labels": ["new"]}, OTHER), ({"sentences": 0}, "are of no sentence.")],
)
def test_files_of_another_version_or_of_nothing_are_not_offered(
    own: Path, change: dict[str, object], what: str
) -> None:
    found = pq.read_table(own)
    said = json.loads(found.schema.metadata[b"attnviz"]) | change
    pq.write_table(found.replace_schema_metadata({**found.schema.metadata, b"attnviz": json.dumps(said)}), own)
    with pytest.raises(OfferedError) as refused:
        about(own)
    assert str(refused.value) == f"The statistics in news.parquet {what}"


@pytest.mark.parametrize("limited", [None, [], [True] * 5, "no", 3])
def test_a_file_without_the_masks_of_its_layers_is_refused_in_a_sentence(own: Path, limited: object) -> None:
    found = pq.read_table(own)
    said = json.loads(found.schema.metadata[b"attnviz"]) | {"limited": limited}
    if limited is None:
        del said["limited"]
    pq.write_table(found.replace_schema_metadata({**found.schema.metadata, b"attnviz": json.dumps(said)}), own)
    for read in (about, labels, statistics):
        with pytest.raises(OfferedError, match=r"^news\.parquet .*has no statistics of a corpus, or it .*\.$"):
            read(own)
    assert corpora(*MINILM) == {"minilm": SHIPPED}


def test_columns_of_other_types_are_another_version(own: Path) -> None:
    found = pq.read_table(own)
    pq.write_table(found.set_column(1, "layer", found["layer"].cast(pa.int64())), own)
    for read in (about, labels, statistics):
        with pytest.raises(OfferedError, match="another version"):
            read(own)


def test_the_words_of_files_are_those_of_measures() -> None:
    assert LABELS[-2:] == (DIAGONAL, BROAD_HEAD)
