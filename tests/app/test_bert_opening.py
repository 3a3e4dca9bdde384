"""What a part of BERT, or a model trained here, does when it is opened first: nothing that is not shown."""

from __future__ import annotations

import subprocess
import sys

from tests.browser.server import ROOT

SCRIPT = """
import sys
from attnviz.links.bert import BERT_KEYS
from tests.app.pages import open_page

at = open_page("bert")
assert any("30,522" in one.proto.body for one in at.get("html"))
assert "torch" not in sys.modules, "the first part waits for it"

from attnviz.pretrained.built_in import BuiltInModel

made = []
graph = BuiltInModel.graph
BuiltInModel.graph = lambda self: (made.append(part), graph(self))[1]
for part in BERT_KEYS["bert_part"].titles:
    at = open_page("bert", bert_part=part)
    assert not at.code and not at.table, part  # no listing and no table is sent before it is opened
    assert not {"pandas", "transformers"} & set(sys.modules), part
open_page(source="trained", model="stories", step="tokens")  # it can write on, as a model of transformers can
assert "transformers" not in sys.modules
assert not {"configuration", "back", "language", "subsets"} & set(made), made
"""


def test_no_part_needs_pandas_transformers_or_a_listing_the_first_no_torch_and_four_no_forward_pass() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True, cwd=ROOT)
