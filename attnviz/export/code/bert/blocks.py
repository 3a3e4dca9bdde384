"""Exports a first language model of blocks without parameters, and heads on subsets, as scripts of plain torch."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.bert.blocks import Setup
from attnviz.export.code.cells import literals
from attnviz.export.code.pretrained import BUILT_IN_NAME

READ = """\
import torch
from torch import nn
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

{name}
TEXT = {text}
IDS = {ids}

tokenizer, model = AutoTokenizer.from_pretrained(MODEL), AutoModel.from_pretrained(MODEL).eval()
assert tokenizer(TEXT, truncation=True, max_length={limit}).input_ids == IDS, "this tokenizer gives other tokens"
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
        text: what it reads.
        ids: its T ids.
        setup: the model.
        limit: the most ids that the built-in model takes.
        kept: how many tokens are printed of each row.
        change: a position, and the id that stands there instead in the second run; None for no second run.
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
    """Return the script of heads on subsets of the embeddings of a text; `row` is the query that is printed."""
    return SUBSETS.format(read=_read(text, ids, limit), heads=heads, row=row, embed=EMBED["embeddings"])


def _read(text: str, ids: Sequence[int], limit: int) -> str:
    return READ.format(name=BUILT_IN_NAME, text=ascii(text), ids=literals(list(ids)), limit=limit)
