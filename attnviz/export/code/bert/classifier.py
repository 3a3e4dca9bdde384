"""A script of plain torch and transformers that trains a linear layer on the frozen model."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.export.code.pretrained import BUILT_IN_NAME
from attnviz.export.csv_files import PROTECTED
from attnviz.training.plan import Plan

SCRIPT = """\
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

tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = BertModel.from_pretrained(MODEL, dtype=torch.float32).eval()


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
    """Return the script.

    Args:
        plan: the training of the layer.
        labels: the classes in their order.
        text: what is read with the trained layer.
        mean: whether a text's features are the mean over its tokens; else the vector of [CLS].
        tanh: whether the hyperbolic tangent is taken of each.
        accuracy: what the page showed.
        most: how many tokens are read of each text that it learns from.
    """
    from attnviz.training.vectors import HELD_OUT_PART

    training = plan.training
    return SCRIPT.format(
        model=BUILT_IN_NAME, labels=ascii(list(labels)), text=ascii(text), seed=training.seed, steps=training.steps,
        rate=training.learning_rate, batch=training.batch, clip=training.clip, part=HELD_OUT_PART, accuracy=accuracy,
        most=most, protected=ascii(PROTECTED.pattern),
        features=("hidden.mean(0)" if mean else "hidden[0]") + (".tanh()" if tanh else ""),
    )  # fmt: skip
