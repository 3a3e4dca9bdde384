"""What Export gives of the configuration: the sizes, the numbers of parameters by part, and the script."""

from __future__ import annotations

import pandas as pd

from attnviz.bert.configuration import BERT_BASE, configuration_of
from attnviz.export.code.bert_use import configuration_script
from attnviz.ui.bert.configuration import parameters, title_of
from attnviz.ui.bert.configuration.words import sizes
from attnviz.ui.bert.models import current


def tables() -> dict[str, pd.DataFrame]:
    """Return the sizes, and the numbers of parameters by part."""
    own = configuration_of(current())
    rows = [(one.title, one.field, one.own, one.base, one.meaning) for one in sizes(own, BERT_BASE)]
    named = pd.DataFrame(rows, columns=["size", "field", title_of(own), BERT_BASE.name, "meaning"]).set_index("size")
    return {"configuration": named, "parameters": parameters(own)}


def script() -> str:
    """Return the script that prints the sizes and counts the parameters."""
    return configuration_script(current().name.strip(), configuration_of(current()))
