"""Exports a search by meaning as a script of plain torch and transformers."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.export.code.pretrained import BUILT_IN_NAME

SCRIPT = '''\
"""Searches sentences by meaning: prints the best hits with their cosines, and where they lie in the plane.

It prints what attnviz shows. It needs torch and transformers, but not attnviz.
"""

import torch
from transformers import AutoModel, AutoTokenizer

{name}
QUERY = {query}
HITS = {hits}
SENTENCES = [
{sentences}]

tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModel.from_pretrained(MODEL, dtype=torch.float32, use_safetensors=True).eval()


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
    """Return the script of a query among some sentences, which it contains."""
    listed = "".join(f"    {sentence!a},\n" for sentence in sentences)
    return SCRIPT.format(name=BUILT_IN_NAME, query=ascii(query), hits=hits, sentences=listed)
