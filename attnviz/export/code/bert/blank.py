"""Exports the likeliest tokens in the place of masks as a script of plain torch and transformers."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.export.code.cells import literals

SCRIPT = '''\
"""Prints which tokens a masked-language model expects in the place of each mask. It needs torch and transformers."""

import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

MODEL = {name}
IDS = {ids}  # the text, as the tokenizer of this model reads it; masks are {mask}

tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForMaskedLM.from_pretrained(MODEL, dtype=torch.float32, use_safetensors=True).eval()
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
    """Return the script for a model by its name, and the ids that it reads, with the id `mask` in each blank."""
    return SCRIPT.format(name=ascii(name), ids=literals(list(ids)), mask=mask, kept=kept)
