"""Configuration: what shapes the loaded model, in words, beside BERT-base."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from attnviz.measures.transformer.parameters import BERT_BASE, parameters
from attnviz.ui.bert.look import built_in, in_torch, notice
from attnviz.ui.bert.part import Part

CODE = """from transformers import AutoModel

model = AutoModel.from_pretrained("bert-base-uncased")
print(model.config, sum(weight.numel() for weight in model.parameters()))"""


def tables() -> dict[str, pd.DataFrame]:
    """Return the numbers of parameters by part."""
    own = {name.replace("_", "-"): count for name, count in built_in().description.parameters.items()}
    columns = {"built-in model": own, "BERT-base": parameters(BERT_BASE)}
    parts = list(dict.fromkeys(part for counts in columns.values() for part in counts))
    counted = {name: [counts.get(part, 0) for part in parts] for name, counts in columns.items()}
    return {"parameters": pd.DataFrame(counted, index=parts)}


def show() -> None:
    """Show the parameters by part."""
    st.table(tables()["parameters"].map(lambda count: f"{count:,}" if count else "–"))
    notice("A quarter of BERT-base's parameters, and half of the built-in model's, are a table of vectors for tokens.")
    in_torch(CODE)


PART = Part(show, tables=tables)
