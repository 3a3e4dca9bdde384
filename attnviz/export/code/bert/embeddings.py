"""Scripts for BERT's configuration and its embeddings.

The embedding scripts are: a text through the embedding table and back; a first language model, whose attention has no
parameters; and heads on subsets of the table's columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attnviz.bert.blocks import Setup
from attnviz.bert.configuration import Configuration
from attnviz.export.code.cells import literals
from attnviz.export.code.pretrained import load_lines, model_line, name_lines
from attnviz.pretrained import BUILT_IN

CONFIGURATION = '''\
"""Prints what shapes a model, and its parameters by part, beside bert-base-uncased. It needs torch and transformers."""

import re

import torch
from transformers import {loader}, BertConfig, BertModel

{name}
PATTERNS = {{  # the names of BERT's parameters, by part
{not_run}    "token embeddings": "word_embeddings|embed_tokens|shared|wte",
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


{load}
show(MODEL, model.config.get_text_config(), model)
with torch.device("meta"):  # the shapes without the numbers, so nothing is loaded
    base = BertModel(BertConfig())
show("bert-base-uncased", base.config, base)
print(f"\\nnn.Embedding(20000, 32) {{torch.nn.Embedding(20000, 32).weight.numel():,}}")
SHOWN = {shown}  # all parameters, as attnviz showed them
assert sum(count(model).values()) == SHOWN
'''


NOT_RUN = """\
    "other": r"^({names})\\.",  # a text does not run them
"""


def configuration_script(
    name: str, configuration: Configuration, loader: str = "AutoModel", not_run: Sequence[str] = ()
) -> str:
    """Return the script for a model by its name.

    Args:
        name: the model's name.
        configuration: what the page shows.
        loader: the class of transformers that loads it, as in `PretrainedModel`.
        not_run: the names of its parts that a text does not run, as in `PretrainedModel`.
    """
    return CONFIGURATION.format(
        name=name_lines(name),
        loader=loader,
        load=model_line(loader, "add_pooling_layer=False" if name == BUILT_IN else "", base=True),
        not_run=NOT_RUN.format(names="|".join(not_run)) if not_run else "",
        shown=configuration.together - configuration.parameters.get("language head", 0),
    )


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
DRAWN = """\
torch.manual_seed({seed})
embedding = nn.Embedding(V, C)
output = nn.Linear(C, V, bias=False)  # drawn by itself, so no row belongs to a token\
"""
THROUGH = """\
with torch.inference_mode():
    x = embedding(ids)  # (T,) -> (T, C)
    logits = output(x)  # (T, C) -> (T, V)
    probabilities = torch.softmax({scale}logits, dim=-1)
    back = probabilities.argmax(-1)  # (T,)\
"""

BACK = '''\
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

{load}
{table}
{ends}

ids = torch.tensor(IDS)
{through}
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
{load}with torch.inference_mode():
    {numbers}
    for title, is_largest in (("largest", True), ("smallest", False)):
        listed = numbers.topk(min(8, V), largest=is_largest)
        print(f"\\n{{title}} {by} of the output layer:", end="")
        for one, number in zip(listed.indices.tolist(), listed.values.tolist()):
            print(f" {{name(one)}} {{number:.4f}}", end="")
    print()
"""
LENGTHS = "numbers = output.weight.norm(dim=1)  # (V,)"
BIAS = "numbers = whole.get_output_embeddings().bias  # (V,): the logits where the layer reads zeros"


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """The settings of the round trip from text to embeddings and back."""

    is_random: bool
    is_unit: bool
    seed: int
    scale: float
    bias_of: Literal["MaskedLM", "CausalLM"] | None = None
    """The kind of the model's language head, if it has a bias; None to print the lengths of the output rows instead"""
    loader: str = "AutoModel"
    """The class of transformers that loads the model, as in `PretrainedModel`"""


def round_trip_lines(settings: RoundTrip) -> str:
    """Return the lines that compute the round trip, for the page."""
    return f"{TABLE}\n{_ends(settings)}\n\n{_through(settings)}"


def round_trip_script(
    settings: RoundTrip,
    *,
    model: str,
    text: str,
    ids: Sequence[int],
    limit: int,
    place: int,
    token: int,
    shown: Sequence[int],
) -> str:
    """Return the script of the round trip.

    Args:
        settings: the embedding, the output layer and the scale.
        model: the model's name.
        text: the input text.
        ids: the ids of its tokens.
        limit: the largest number of tokens to read.
        place: the position of the token whose computation is written out.
        token: the id whose neighbours are printed.
        shown: the predicted ids, as the app showed them.
    """
    classes = [settings.loader]
    if settings.bias_of is None:
        favoured = FAVOURED.format(load="", numbers=LENGTHS, by="length")
    else:
        classes.append(f"AutoModelFor{settings.bias_of}")
        favoured = FAVOURED.format(load=model_line(classes[-1], name="whole") + "\n", numbers=BIAS, by="bias")
    return BACK.format(
        name=name_lines(model),
        text=ascii(text), ids=literals(ids), place=place, token=token, shown=literals(shown), table=TABLE,
        favoured=favoured, load=load_lines(settings.loader, limit=limit), auto=", ".join(dict.fromkeys(classes)),
        ends=_ends(settings), through=_through(settings), scale=_scale(settings),
    )  # fmt: skip


def _ends(settings: RoundTrip) -> str:
    if settings.is_random:
        return DRAWN.format(seed=settings.seed)
    return f"{UNIT if settings.is_unit else ''}{TIED}"


def _through(settings: RoundTrip) -> str:
    return THROUGH.format(scale=_scale(settings))


def _scale(settings: RoundTrip) -> str:
    return "" if settings.scale == 1 else f"{settings.scale:g} * "


READ = """\
import torch
from torch import nn
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

{name}
TEXT = {text}
IDS = {ids}

{load}
ids, table = torch.tensor(IDS), model.get_input_embeddings().weight  # (T,), (V, C)\
"""
EMBED = {
    "tokens": "x = table[ids]  # (T, C): a row of the table for each token",
    "embeddings": "x = model.embeddings(ids[None])[0]  # (T, C): with positions and segments, normalised",
}
LANGUAGE = '''\
"""A language model before training: attention without parameters and a linear layer, {count}.

It needs torch and transformers.
"""

{read}
torch.manual_seed({seed})
layers = [nn.Linear(table.shape[1], table.shape[1]) for _ in range({blocks})]  # C -> C


def logits(x):
    for linear in layers:
        attended = functional.scaled_dot_product_attention(x[None], x[None], x[None], is_causal={causal})[0]
        x = linear(attended)  # (T, C)
    return x @ table.T  # (T, V): the output layer is the table, transposed


with torch.inference_mode():
    {embed}
    before = logits(x)
    probabilities = torch.softmax(before, dim=-1)
    likely = probabilities.topk({kept})
    print(tokenizer.decode(likely.indices[:, 0]))
    for row, (tokens, numbers) in enumerate(zip(likely.indices, likely.values)):
        print(row, *(f"{{tokenizer.convert_ids_to_tokens(int(one))}} {{p:.4%}}" for one, p in zip(tokens, numbers)))
'''
CHANGE = """\

    ids[{last}] = {other}  # another token in place of the last one of the text
    {embed}
    moved = (logits(x) - before).abs().amax(-1)  # (T,): by how much a logit of each row changes at most
    print(moved)
"""
SUBSETS = '''\
"""Heads on subsets of the embedding: one softmax over all of X, and one in each of {heads} parts of its columns.

It needs torch and transformers.
"""

{read}
HEADS, ROW = {heads}, {row}
with torch.inference_mode():
    {embed}
    T, C = x.shape
    parts = x.view(T, HEADS, C // HEADS).transpose(0, 1)  # (H, T, D)
    whole = torch.softmax(x @ x.T / C**0.5, dim=-1)  # (T, T): one softmax
    weights = torch.softmax(parts @ parts.mT / (C // HEADS) ** 0.5, dim=-1)  # (H, T, T): a softmax each
    outputs = weights @ parts  # (H, T, D)
    joined = outputs.transpose(0, 1).reshape(T, C)  # side by side, not summed
    same = functional.scaled_dot_product_attention(parts[None], parts[None], parts[None])[0]
    torch.testing.assert_close(outputs, same)
    for number, row in enumerate([whole[ROW], *weights[:, ROW]]):
        entropy = -torch.xlogy(row, row).sum() / torch.log(torch.tensor(2.0))
        key = int(row.argmax())
        print("whole" if number == 0 else f"head {{number - 1}}", tokenizer.convert_ids_to_tokens(IDS[key]),
              f"{{row[key]:.4f}}, entropy {{entropy:.3f}} bits")
'''


def language_script(
    text: str, ids: Sequence[int], setup: Setup, *, limit: int, kept: int, change: tuple[int, int] | None = None
) -> str:
    """Return the script of a first language model.

    Args:
        text: the input text.
        ids: its T ids.
        setup: the settings of the model.
        limit: the largest number of ids that the built-in model takes.
        kept: how many tokens to print for each row.
        change: a position and the id that replaces the one there in a second run; None for no second run.
    """
    embed = EMBED[setup.x]
    code = LANGUAGE.format(
        read=_read(text, ids, limit), embed=embed, blocks=setup.blocks, seed=setup.seed, causal=setup.causal,
        kept=kept, count="once" if setup.blocks == 1 else f"{setup.blocks} times",
    )  # fmt: skip
    if change is not None:
        code += CHANGE.format(last=change[0], other=change[1], embed=embed)
    return code


def subsets_script(text: str, ids: Sequence[int], *, limit: int, heads: int, row: int) -> str:
    """Return the script of heads on subsets of a text's embeddings; it prints the weights of the query `row`."""
    return SUBSETS.format(read=_read(text, ids, limit), heads=heads, row=row, embed=EMBED["embeddings"])


def _read(text: str, ids: Sequence[int], limit: int) -> str:
    return READ.format(
        name=name_lines(BUILT_IN), text=ascii(text), ids=literals(list(ids)), load=load_lines(limit=limit)
    )
