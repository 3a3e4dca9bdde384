"""Exports the built-in model without some heads as a script of plain torch and transformers, and its lines."""

from __future__ import annotations

from collections.abc import Iterable

from attnviz.bert.ablation import Head
from attnviz.bert.search import built_in as reference
from attnviz.export.code.pretrained import BUILT_IN_NAME

LINES = """inputs = tokenizer(TEXT, return_tensors="pt", truncation=True, max_length=512)
with torch.no_grad():
    before = model(**inputs).last_hidden_state[0]  # (T, C)
    for layer, head in OFF:  # without its slice of W_O a head adds nothing
        W_O = model.encoder.layer[layer].attention.output.dense.weight  # (C, H·D)
        W_O[:, 32 * head : 32 * head + 32] = 0
    after = model(**inputs).last_hidden_state[0]
of_tokens = torch.cosine_similarity(before, after)
of_sentence = torch.cosine_similarity(before.mean(0), after.mean(0), dim=0)"""
BY_MEAN = """dense = [layer.attention.output.dense for layer in model.encoder.layer]


def run(text):
    inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=512)
    with torch.no_grad():
        return model(**inputs).last_hidden_state[0]  # (T, C)


seen = [[] for _ in dense]  # concat of each layer, (T, H·D) for each reference sentence
hooks = [module.register_forward_pre_hook(lambda _, args, into=into: into.append(args[0][0]))
         for module, into in zip(dense, seen)]
for sentence in REFERENCE:  # the sentences of the part Search by meaning
    run(sentence)
for hook in hooks:
    hook.remove()
means = [torch.cat(parts).mean(0) for parts in seen]  # (H·D,): the mean output of each head, side by side


def replace(layer, head):
    def hook(_, args):
        concat = args[0].clone()
        concat[..., 32 * head : 32 * head + 32] = means[layer][32 * head : 32 * head + 32]
        return (concat,)

    dense[layer].register_forward_pre_hook(hook)


before = run(TEXT)
for layer, head in OFF:
    replace(layer, head)
after = run(TEXT)
of_tokens = torch.cosine_similarity(before, after)
of_sentence = torch.cosine_similarity(before.mean(0), after.mean(0), dim=0)"""
SCRIPT = """\
# The built-in model without some heads, switched off by {by}: cosines of the output before and after.
# Layers and heads are counted from 0.
import torch
from transformers import AutoTokenizer, BertModel

{model}
TEXT = {text}
OFF = {off!r}  # (layer, head)
{reference}
tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = BertModel.from_pretrained(MODEL, dtype=torch.float32).eval()

{lines}

for token, value in zip(tokenizer.convert_ids_to_tokens(tokenizer(TEXT, truncation=True, max_length=512)["input_ids"]),
                        of_tokens.tolist()):
    print(f"{{token:16}}{{value:.4f}}")
print(f"sentence        {{float(of_sentence):.4f}}")
"""


def script_of(text: str, off: Iterable[Head], *, by_mean: bool) -> str:
    """Return a script that prints the cosines of a text without these heads."""
    sentences = "".join(f"    {sentence!a},\n" for sentence in reference().sentences)
    return SCRIPT.format(
        by="mean" if by_mean else "zero",
        model=BUILT_IN_NAME,
        text=ascii(text),
        off=list(off),
        reference=f"REFERENCE = [\n{sentences}]\n" if by_mean else "",
        lines=BY_MEAN if by_mean else LINES,
    )
