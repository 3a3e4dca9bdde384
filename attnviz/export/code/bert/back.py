"""Exports a text through an embedding table and back as a script of plain torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attnviz.export.code.cells import literals
from attnviz.export.code.pretrained import BUILT_IN_NAME
from attnviz.pretrained import BUILT_IN

TABLE = """\
weight = model.get_input_embeddings().weight.detach()  # the table of token embeddings
V, C = weight.shape\
"""
TIED = """\
embedding = nn.Embedding.from_pretrained(weight)
output = nn.Linear(C, V, bias=False)
output.weight = embedding.weight  # tied: (V, C) at both ends\
"""
UNIT = "weight = nn.functional.normalize(weight, dim=1)  # rows of length 1\n"
RANDOM = """\
torch.manual_seed({seed})
embedding = nn.Embedding(V, C)
output = nn.Linear(C, V, bias=False)  # drawn by itself, so no row belongs to a token\
"""
WAY = """\
with torch.inference_mode():
    x = embedding(ids)  # (T,) -> (T, C)
    logits = output(x)  # (T, C) -> (T, V)
    probabilities = torch.softmax({scale}logits, dim=-1)
    back = probabilities.argmax(-1)  # (T,)\
"""

SCRIPT = '''\
"""A text to embeddings, and through an output layer of the transposed shape to a text again.

It prints what attnviz shows. It needs torch and transformers, but not attnviz.
"""

import torch
from torch import nn
from transformers import {auto}, AutoTokenizer

{name}
TEXT = {text}
IDS = {ids}
PLACE = {place}  # the token that is written out
TOKEN = {token}  # the id whose neighbours are printed
SHOWN = {shown}  # the ids that come back, as attnviz showed them

tokenizer = AutoTokenizer.from_pretrained(MODEL)
assert tokenizer(TEXT, truncation=True, max_length={limit})["input_ids"] == IDS, "this tokenizer gives other tokens"
model = AutoModel.from_pretrained(MODEL, dtype=torch.float32, use_safetensors=True).eval()
{table}
{ends}

ids = torch.tensor(IDS)
{way}
    best = logits.topk(min(5, V), dim=-1)

name = tokenizer.convert_ids_to_tokens
print("text", repr(tokenizer.decode(back.tolist(), skip_special_tokens=True)))
for place, token in enumerate(IDS):
    candidates = ", ".join(
        f"{{name(one)}} {{probabilities[place, one]:.6g}}" for one in best.indices[place].tolist()
    )
    margin = best.values[place, 0] - best.values[place, 1]
    print(place, name(token), token, "back" if back[place] == token else "lost", f"margin {{margin:.4f}}:", candidates)

winner = back[PLACE].item()
with torch.inference_mode():
    logit = x[PLACE] @ output.weight[winner]
    total = ({scale}(logits[PLACE] - logit)).exp().sum()
print(f"\\n{{name(IDS[PLACE])}} -> {{name(winner)}}: logit {{logit:.4f}}, sum of exponentials {{total:.4f}}, "
      f"probability {{1 / total:.6g}}")

with torch.inference_mode():
    row = embedding.weight[TOKEN]
    for title, near in (
        ("cosine", nn.functional.cosine_similarity(embedding.weight, row[None])),
        ("dot product", embedding.weight @ row),
    ):
        nearest = near.topk(min(8, V))
        print(f"\\nnearest to {{name(TOKEN)}} by {{title}}:")
        for one, similarity in zip(nearest.indices.tolist(), nearest.values.tolist()):
            print(f"  {{name(one)}} {{similarity:.4f}}")

{favoured}
clear = best.values[:, 0] - best.values[:, 1] > 1e-5  # equal logits may change places on another machine
assert torch.equal(back[clear], torch.tensor(SHOWN)[clear])
'''


FAVOURED = """
with torch.inference_mode():
    {numbers}
    for title, is_largest in (("largest", True), ("smallest", False)):
        listed = numbers.topk(min(8, V), largest=is_largest)
        print(f"\\n{{title}} {by} of the output layer:", end="")
        for one, number in zip(listed.indices.tolist(), listed.values.tolist()):
            print(f" {{name(one)}} {{number:.4f}}", end="")
    print()
"""
LENGTHS = "numbers = output.weight.norm(dim=1)  # (V,)"
BIAS = """\
whole = AutoModelFor{kind}.from_pretrained(MODEL, dtype=torch.float32, use_safetensors=True)
    numbers = whole.get_output_embeddings().bias  # (V,): the logits where the layer reads zeros\
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """Which ends the text goes through."""

    is_random: bool
    is_unit: bool
    seed: int
    scale: float
    bias_of: Literal["MaskedLM", "CausalLM"] | None = None
    """The kind of the model's language head, if this has a bias; None to print the lengths of rows in its place"""


def in_lines(settings: Settings) -> str:
    """Return the lines that compute what is shown, for the page."""
    return f"{TABLE}\n{_ends(settings)}\n\n{_way(settings)}"


def back_script(
    settings: Settings,
    *,
    model: str,
    text: str,
    ids: Sequence[int],
    limit: int,
    place: int,
    token: int,
    shown: Sequence[int],
) -> str:
    """Return the script.

    Args:
        settings: which ends the text goes through.
        model: the model's name.
        text: what is read.
        ids: its tokens.
        limit: the most tokens that are read.
        place: the position of the token that is written out.
        token: the id whose neighbours are printed.
        shown: the ids that come back.
    """
    head = settings.bias_of
    favoured = FAVOURED.format(
        numbers=LENGTHS if head is None else BIAS.format(kind=head), by="length" if head is None else "bias"
    )
    return SCRIPT.format(
        name=BUILT_IN_NAME if model == BUILT_IN else f"MODEL = {model!a}",
        text=ascii(text), ids=literals(ids), place=place, token=token, shown=literals(shown), limit=limit,
        table=TABLE, favoured=favoured,
        auto="AutoModel" if head is None else f"AutoModel, AutoModelFor{head}",
        ends=_ends(settings), way=_way(settings), scale=_scale(settings),
    )  # fmt: skip


def _ends(settings: Settings) -> str:
    if settings.is_random:
        return RANDOM.format(seed=settings.seed)
    return f"{UNIT if settings.is_unit else ''}{TIED}"


def _way(settings: Settings) -> str:
    return WAY.format(scale=_scale(settings))


def _scale(settings: Settings) -> str:
    return "" if settings.scale == 1 else f"{settings.scale:g} * "
