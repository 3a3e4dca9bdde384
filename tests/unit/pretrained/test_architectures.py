"""What becomes of every text architecture: docs/models.md says it, and none is shown with other numbers than eager."""

from __future__ import annotations

import re
from functools import cache

import pytest
import transformers as tf

from tests.unit.pretrained import architectures
from tests.unit.pretrained.architectures import Outcome, table, written

ROWS = [
    tuple(cell.strip() for cell in line.split("|")[1:4]) for line in written().splitlines() if line.startswith("| ")
][2:]
PYTHON = re.compile(r"object has no|attribute|NoneType|<class|Error\b|\bself\b|\w+\(\)|__|None\b|tensor")


@cache
def found() -> dict[str, Outcome]:
    return architectures.outcomes()


@pytest.mark.parametrize("model_type", [row[0] for row in ROWS])
def test_a_model_is_shown_as_its_own_eager_attention_or_refused_in_one_sentence(model_type: str) -> None:
    one = found()[model_type]
    assert one.state != "different", one.words
    if one.state == "refused":
        assert one.words.endswith(".")
        assert "\n" not in one.words
        assert not PYTHON.search(one.words.removesuffix(".")), one.words


def test_the_table_names_every_architecture_and_is_up_to_date() -> None:
    assert len(ROWS) > 200
    assert tf.__version__ in written()
    assert written() == table(found()), "run: python -m tests.unit.pretrained.architectures"


@pytest.mark.parametrize("model_type", ["phi3", "glm", "glm4", "nemotron", "arcee", "persimmon"])
def test_attention_is_shown_though_what_follows_it_is_not_known(model_type: str) -> None:
    model = architectures.made(found()[model_type].name, model_type)
    opened = architectures.open_model(model, architectures.tokenizer())
    assert opened.trace(architectures.TEXT).attentions(0).shape[0] == 4
    assert "after its attention is not known" in opened.description.unavailable["attention_residual"]
