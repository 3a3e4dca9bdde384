"""What the tests of the parts of BERT share."""

from __future__ import annotations

import pytest
from transformers import BertModel

from attnviz.pretrained.described import find_folder


@pytest.fixture(scope="session")
def theirs() -> BertModel:
    """Return the built-in model as transformers computes it; nobody may change it."""
    return BertModel.from_pretrained(find_folder(), attn_implementation="eager").eval().requires_grad_(False)
