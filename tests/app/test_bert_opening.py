"""What a part of BERT at work does when it is opened for the first time: nothing that is not shown."""

from __future__ import annotations

import subprocess
import sys

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.links.bert import BERT_PARTS
from tests.app.pages import open_page
from tests.browser.server import ROOT

SCRIPT = """
import sys
from attnviz.links.bert import BERT_PARTS
from attnviz.pretrained.built_in import BuiltInModel
from tests.app.pages import open_page

made = []
graph = BuiltInModel.graph
BuiltInModel.graph = lambda self: (made.append(part), graph(self))[1]
for part in BERT_PARTS:
    open_page("bert", bert_part=part)
    assert not {"pandas", "transformers"} & set(sys.modules), part
assert not {"configuration", "back", "language", "subsets", "blank"} & set(made), made
"""


def test_no_part_imports_pandas_or_transformers_and_five_run_no_forward_pass() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, cwd=ROOT)


@pytest.mark.parametrize("part", BERT_PARTS)
def test_no_listing_and_no_table_is_sent_before_it_is_opened(part: str) -> None:
    at: AppTest = open_page("bert", bert_part=part)
    assert not at.code
    assert not at.table
