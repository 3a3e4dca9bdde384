"""What ships: labels are read alone as with all the rest, and no session can write what all share."""

from __future__ import annotations

import pytest

from attnviz.corpus.names import NAMES
from attnviz.corpus.shipped import shipped, shipped_labels


@pytest.mark.parametrize("name", NAMES)
def test_labels_read_alone_are_those_of_the_statistics(name: str) -> None:
    statistics, card = shipped(name)
    found = shipped_labels(name)
    assert card.model == name and found.sentences == statistics.sentences
    for (layer, head), own in found.shares.items():
        shares = dict(zip(statistics.labels, statistics.label_share[:, layer, head].tolist(), strict=True))
        assert dict(own) == {label: share for label, share in shares.items() if share}
        assert [share for _, share in own] == sorted((share for _, share in own), reverse=True)
    assert set(found.shares) == set(zip(*statistics.label_count.sum(0).nonzero(), strict=True))
    with pytest.raises(ValueError, match="read-only"):
        statistics.mean[0, 0, 0] = 1


def test_a_model_without_statistics() -> None:
    for read in (shipped, shipped_labels):
        with pytest.raises(KeyError):
            read("other")
