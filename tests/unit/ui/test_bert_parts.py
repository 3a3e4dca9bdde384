"""The parts of BERT: each value that a link may hold opens a part or a view, in the order of the page."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import pytest

from attnviz.links.bert import BERT_KEYS
from attnviz.ui.bert import MODULES, agent, classifier
from attnviz.ui.bert.ablation import views as ablation
from attnviz.ui.bert.parts import Part
from attnviz.ui.bert.round_trip import views as round_trip
from attnviz.ui.bert.search import views as search


def test_each_part_of_a_link_has_a_module_with_a_part() -> None:
    assert [*MODULES] == [*BERT_KEYS["bert_part"].titles]
    assert all(isinstance(import_module(module).PART, Part) for module in MODULES.values())


@pytest.mark.parametrize(
    ("key", "views"),
    [
        ("back_view", round_trip.VIEWS),
        ("find_view", search.VIEWS),
        ("off_view", ablation.VIEWS),
        ("class_view", classifier.VIEWS),
        ("agent_view", agent.VIEWS),
    ],
)
def test_each_view_of_a_link_is_shown(key: str, views: Mapping[str, object]) -> None:
    assert list(views) == list(BERT_KEYS[key].titles)
