"""Scripts for uses of BERT (filling blanks, search by meaning, classification), and for BERT without some heads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attnviz.bert.ablation import Head
from attnviz.bert.search import built_in as reference
from attnviz.export.code.cells import literals
from attnviz.export.code.pretrained import TOKENIZER_LINE, load_lines, masked_lines, name_lines
from attnviz.export.csv_files import PROTECTED
from attnviz.pretrained import BUILT_IN
from attnviz.training.plan import Plan

BLANK = '''\
"""Prints which tokens a masked-language model expects in the place of each mask. It needs torch and transformers."""

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

{model}
IDS = {ids}  # the text, as the tokenizer of this model reads it; masks are {mask}

{load}
ids = torch.tensor([IDS])
print(tokenizer.decode(ids[0]))
with torch.inference_mode():
    logits = model(input_ids=ids).logits[0]  # (T, V)
    places = (ids[0] == tokenizer.mask_token_id).nonzero().flatten()
    likely = torch.softmax(logits[places], dim=-1).topk({kept})  # (M, K)
for place, tokens, probabilities in zip(places.tolist(), likely.indices.tolist(), likely.values.tolist()):
    print(place, *(f"{{tokenizer.convert_ids_to_tokens(one)}} {{p:.4%}}" for one, p in zip(tokens, probabilities)))
ids[0, places] = likely.indices[:, 0]
print(tokenizer.decode(ids[0], skip_special_tokens=True))
'''


def blank_script(name: str, ids: Sequence[int], mask: int, *, kept: int) -> str:
    """Return the script for a model by its name and for its input ids, which have the id `mask` in each blank."""
    return BLANK.format(
        model=name_lines(name),
        load=f"{TOKENIZER_LINE}\n{masked_lines(name)}",
        ids=literals(list(ids)),
        mask=mask,
        kept=kept,
    )


SEARCH = '''\
"""Searches sentences by meaning: prints the best hits with their cosines, and where they lie in the plane.

It prints what attnviz shows. It needs torch and transformers, but not attnviz.
"""

import torch
from transformers import AutoModel, AutoTokenizer

{model}
QUERY = {query}
HITS = {hits}
SENTENCES = [
{sentences}]

{load}


def embed(texts):
    """Return the mean over the tokens of each text, of length 1; of at most 256 tokens, as the model was trained."""
    inputs = tokenizer(texts, padding=True, truncation=True, max_length=256, return_tensors="pt")
    with torch.inference_mode():
        hidden = model(**inputs).last_hidden_state  # (B, T, C)
    is_token = inputs["attention_mask"][..., None]  # (B, T, 1): 0 at padding
    return torch.nn.functional.normalize((hidden * is_token).sum(1) / is_token.sum(1), dim=-1)


# Sorted by length, so that the texts of a batch need little padding.
order = sorted(range(len(SENTENCES)), key=lambda one: len(SENTENCES[one]))
E = torch.empty(len(SENTENCES), model.config.hidden_size)
for start in range(0, len(order), 32):
    places = order[start : start + 32]
    E[places] = embed([SENTENCES[one] for one in places])

query = embed([QUERY])[0]
cosine = E @ query  # (N,)
for rank, place in enumerate(cosine.argsort(descending=True, stable=True)[:HITS].tolist(), 1):
    print(rank, f"{{cosine[place]:.4f}}", SENTENCES[place])

centred = E.double() - E.double().mean(0)
U, S, V = torch.linalg.svd(centred, full_matrices=False)
kept = S[:2] ** 2 / (S**2).sum()
shares = ", ".join(f"{{share:.4f}}" for share in kept.tolist())
print("\\nThe plane of the first two principal components keeps", shares)
'''


def search_script(query: str, sentences: Sequence[str], hits: int) -> str:
    """Return the script that searches these sentences; the script contains them."""
    listed = "".join(f"    {sentence!a},\n" for sentence in sentences)
    return SEARCH.format(model=name_lines(BUILT_IN), load=load_lines(), query=ascii(query), hits=hits, sentences=listed)


CLASSIFIER = """\
# A linear layer on a frozen model, trained as the page showed it, and what it says of one text.
# Run it beside data.csv, which Export gives under Numbers.
import csv
import re

import torch
import torch.nn.functional as F
from torch import nn
from transformers import AutoTokenizer, BertModel

{model}
LABELS = {labels}
TEXT = {text}
SEED, STEPS, RATE, BATCH, CLIP = {seed}, {steps}, {rate!r}, {batch}, {clip!r}

with open("data.csv", encoding="utf-8-sig", newline="") as file:
    rows = list(csv.DictReader(file))
for row in rows:  # an apostrophe keeps spreadsheets from taking a text for a formula; it is taken away again
    row["text"] = re.sub({protected}, r"\\1", row["text"])
classes = torch.tensor([LABELS.index(row["class"]) for row in rows])

{load}


def features_of(text, most=512):
    inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=most)
    with torch.no_grad():  # the model is frozen
        hidden = model(**inputs).last_hidden_state[0]  # (T, C)
    return {features}


features = torch.stack([features_of(row["text"], {most}) for row in rows])  # (N, C)

# Of each class a quarter is held out, in a seeded order.
order = torch.randperm(len(classes), generator=torch.Generator().manual_seed(SEED))
is_held_out = torch.zeros(len(classes), dtype=torch.bool)
for one in classes.unique().tolist():
    of_class = order[classes[order] == one]
    is_held_out[of_class[: max(1, round({part} * len(of_class)))]] = True
train, held_out = order[~is_held_out[order]], order[is_held_out[order]]

torch.manual_seed(SEED)
layer = nn.Linear(features.shape[1], len(LABELS))  # all that learns
optimiser = torch.optim.AdamW(layer.parameters(), lr=RATE, weight_decay=0.0)
generator = torch.Generator().manual_seed(SEED)
for step in range(STEPS):
    drawn = train[torch.randperm(len(train), generator=generator)[:BATCH]]
    loss = F.cross_entropy(layer(features[drawn]), classes[drawn])
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(layer.parameters(), CLIP)
    optimiser.step()

with torch.no_grad():
    accuracy = (layer(features[held_out]).argmax(-1) == classes[held_out]).float().mean()
    probabilities = layer(features_of(TEXT)).softmax(-1)
print(f"accuracy {{accuracy:.4f}} on {{len(held_out)}} held-out texts; the page showed {accuracy:.4f}")
for label, probability in zip(LABELS, probabilities.tolist()):
    print(f"{{probability:.4f}}  {{label}}")
"""


def classifier_script(
    plan: Plan, labels: Sequence[str], text: str, *, mean: bool, tanh: bool, accuracy: float, most: int = 512
) -> str:
    """Return the script that trains the layer and classifies one text.

    Args:
        plan: the training of the layer.
        labels: the classes in their order.
        text: the text to classify.
        mean: whether a text's features are the mean over its tokens; else the vector of [CLS].
        tanh: whether to take the hyperbolic tangent of each feature.
        accuracy: the accuracy that the page showed.
        most: the largest number of tokens to read of each training text.
    """
    from attnviz.training.vectors import HELD_OUT_PART

    training = plan.training
    return CLASSIFIER.format(
        model=name_lines(BUILT_IN), load=load_lines("BertModel"), labels=ascii(list(labels)),
        text=ascii(text), seed=training.seed, steps=training.steps, rate=training.learning_rate, batch=training.batch,
        clip=training.clip, part=HELD_OUT_PART, accuracy=accuracy, most=most, protected=ascii(PROTECTED.pattern),
        features=("hidden.mean(0)" if mean else "hidden[0]") + (".tanh()" if tanh else ""),
    )  # fmt: skip


WITHOUT_LINES = """inputs = tokenizer(TEXT, return_tensors="pt", truncation=True, max_length=512)
with torch.no_grad():
    before = model(**inputs).last_hidden_state[0]  # (T, C)
    for layer, head in OFF:  # without its slice of W_O a head adds nothing
        W_O = model.encoder.layer[layer].attention.output.dense.weight  # (C, H·D)
        W_O[:, 32 * head : 32 * head + 32] = 0
    after = model(**inputs).last_hidden_state[0]
of_tokens = torch.cosine_similarity(before, after)
of_sentence = torch.cosine_similarity(before.mean(0), after.mean(0), dim=0)"""
BY_MEAN_LINES = """dense = [layer.attention.output.dense for layer in model.encoder.layer]


def run(text):
    inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=512)
    with torch.no_grad():
        return model(**inputs).last_hidden_state[0]  # (T, C)


seen = [[] for _ in dense]  # concat of each layer, (T, H·D) for each reference sentence
hooks = [module.register_forward_pre_hook(lambda _, args, into=into: into.append(args[0][0]))
         for module, into in zip(dense, seen)]
for sentence in REFERENCE:  # the sentences of the chapter Search
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
WITHOUT = """\
# The built-in model without some heads, switched off by {by}: cosines of the output before and after.
# Layers and heads are counted from 0.
import torch
from transformers import AutoTokenizer, BertModel

{model}
TEXT = {text}
OFF = {off!r}  # (layer, head)
{reference}
{load}

{lines}

for token, value in zip(tokenizer.convert_ids_to_tokens(tokenizer(TEXT, truncation=True, max_length=512)["input_ids"]),
                        of_tokens.tolist()):
    print(f"{{token:16}}{{value:.4f}}")
print(f"sentence        {{float(of_sentence):.4f}}")
"""


def without_script(text: str, off: Iterable[Head], *, by_mean: bool) -> str:
    """Return a script that prints the cosines of a text's output with and without these heads."""
    sentences = "".join(f"    {sentence!a},\n" for sentence in reference().sentences)
    return WITHOUT.format(
        by="mean" if by_mean else "zero",
        model=name_lines(BUILT_IN),
        load=load_lines("BertModel"),
        text=ascii(text),
        off=list(off),
        reference=f"REFERENCE = [\n{sentences}]\n" if by_mean else "",
        lines=BY_MEAN_LINES if by_mean else WITHOUT_LINES,
    )
