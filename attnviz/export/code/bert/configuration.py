"""Exports the configuration of a model as a script that reads it with transformers and counts the parameters."""

from __future__ import annotations

from attnviz.bert.configuration import Configuration
from attnviz.export.code.pretrained import BUILT_IN_NAME
from attnviz.pretrained import BUILT_IN

SCRIPT = '''\
"""Prints what shapes a model, and its parameters by part, beside bert-base-uncased. It needs torch and transformers."""

import re

import torch
from transformers import AutoModel, BertConfig, BertModel

{name}
PATTERNS = {{  # the names of BERT's parameters, by part
    "token embeddings": "word_embeddings|embed_tokens|shared|wte",
    "other embeddings": "^embeddings|position|segment",
    "pooler": "^pooler",
    "norms": "Norm|norm",
    "attention": "attention|attn",
    "feed-forward": "intermediate|output|mlp|ffn|fc1|fc2",
}}


def count(model):
    counts = {{}}
    for name, weight in model.named_parameters():
        part = next((part for part, pattern in PATTERNS.items() if re.search(pattern, name)), "other")
        counts[part] = counts.get(part, 0) + weight.numel()
    return counts


def show(title, config, model):
    print(f"\\n{{title}}")
    for field in (
        "vocab_size", "hidden_size", "intermediate_size", "max_position_embeddings", "num_attention_heads",
        "num_hidden_layers",
    ):
        print(f"  {{field:24}} {{getattr(config, field, None)}}")
    counts = count(model)
    for part, number in (counts | {{"together": sum(counts.values())}}).items():
        print(f"  {{part:24}} {{number:,}}")


model = AutoModel.from_pretrained(MODEL{more})
show(MODEL, model.config, model)
with torch.device("meta"):  # the shapes without the numbers, so nothing is loaded
    base = BertModel(BertConfig())
show("bert-base-uncased", base.config, base)
print(f"\\nnn.Embedding(20000, 32) {{torch.nn.Embedding(20000, 32).weight.numel():,}}")
SHOWN = {shown}  # all parameters, as attnviz showed them
assert sum(count(model).values()) == SHOWN
'''


def configuration_script(name: str, own: Configuration) -> str:
    """Return the script for a model: its name, and what the page shows of it."""
    is_built_in = name == BUILT_IN
    return SCRIPT.format(
        name=BUILT_IN_NAME if is_built_in else f"MODEL = {name!a}",
        more=", add_pooling_layer=False" if is_built_in else "",
        shown=own.together - own.parameters.get("language head", 0),
    )
