"""Any text, in any model and any tokenizer, walks from its tokens through every step without an exception."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnviz.figures import step_spec
from attnviz.formulas import mathml
from attnviz.pretrained import PretrainedModel
from attnviz.steps import ATTENTION
from attnviz.tokens import CharVocab, NoTokensError, Tokens, WordPiece, WordTokenizer
from attnviz.toy.config import MAX_TOKENS, ToyConfig
from attnviz.trace.layer import LayerTrace
from attnviz.trace.walk import Walk
from tests.toy import run_block
from tests.unit.families import FAMILIES, opened

COMPUTED = list(ATTENTION)
ODD = [
    "", " ", "\0", "\ud800", "a\udfffb", "\u200b", "\u202eabc", "مرحبا بالعالم", "👩‍👩‍👧‍👦👍🏽🇩🇪",
    "e\u0301\u0301\u0301", "[SEP]", "[CLS] [SEP] [PAD] [MASK] [UNK]", "<|endoftext|>", "</s><s><pad>",
    "<script>alert(1)</script>", "w" * 200, "日本語", "\r\n\t\x0b\x1c\x85\u2028", "$x$ **b** :smile:", "\U0010ffff",
]  # fmt: skip
TEXTS = st.one_of(st.sampled_from(ODD), st.text(st.characters(exclude_categories=()), max_size=40))
FEW = settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def walk_through(query: Tokens, key: Tokens, layer: LayerTrace) -> None:
    """Go through every step as the page does, and check that the numbers are attention's."""
    walk = Walk(query, key, layer, layer.heads - 1)
    assert walk.steps.weights.shape == (len(query), len(key))
    rows = walk.steps.weights.sum(-1)
    torch.testing.assert_close(rows, torch.ones(len(query)))
    assert all(query.labels)
    assert all(key.labels)
    for label in (*query.labels, *key.labels):
        label.encode()
    for step in COMPUTED:
        assert step_spec(walk, step)["data"]
        spec = ATTENTION[step]
        for words in (
            spec.notice(walk),
            mathml(spec.formula(walk)),
            spec.code(walk),
            spec.fact(walk),
        ):
            words.encode()


@pytest.mark.parametrize("family", FAMILIES)
@FEW
@given(text=TEXTS, pair=st.none() | TEXTS)
def test_in_every_family(family: str, text: str, pair: str | None) -> None:
    shown_or_refused(opened(family), text, pair)


@pytest.mark.parametrize(("n", "family"), [*enumerate(FAMILIES)])
def test_odd_texts_in_every_family(n: int, family: str) -> None:
    """The first four in each, of the others every fourth."""
    for text in (*ODD[:4], *ODD[4 + n % 4 :: 4]):
        shown_or_refused(opened(family), text, None)


def shown_or_refused(model: PretrainedModel, text: str, pair: str | None) -> None:
    tokens, decoder_tokens = model.read(text, pair)
    if not len(tokens) or (decoder_tokens is not None and not len(decoder_tokens)):
        with pytest.raises(NoTokensError):
            model.trace(text, pair)
        return
    trace = model.trace(text, pair)
    assert trace.tokens == tokens
    for kind in trace.kinds:
        walk_through(trace.query_tokens(kind), trace.key_tokens(kind), trace.layer(0, kind))


@pytest.mark.parametrize("tokenizer", ["char", "own", "word", "bert"])
@settings(FEW, max_examples=15)
@given(text=TEXTS, qkv=st.sampled_from(["linear", "identity", "positions"]))
def test_in_the_toy(tokenizer: str, qkv: str, text: str) -> None:
    make = {
        "char": CharVocab.shakespeare, "own": lambda: CharVocab.from_text(text), "word": WordTokenizer,
        "bert": _wordpiece,
    }[tokenizer]  # fmt: skip
    tokens = make().tokenize(text, max_tokens=MAX_TOKENS)
    if len(tokens):
        walk_through(tokens, tokens, run_block(tokens.ids, ToyConfig(qkv=qkv, causal=True)).layer(0))
    else:
        assert tokenizer == "word" or not text
        assert not text.strip()


@cache
def _wordpiece() -> WordPiece:
    return WordPiece()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_thousand_words_are_cut_to_what_the_model_takes(family: str) -> None:
    model = opened(family)
    trace = model.trace("word " * 1000, "and " * 1000)
    kind = trace.kinds[-1]
    cut = trace.query_tokens(kind)
    assert len(cut) == model.max_tokens
    assert cut.dropped > 0
    assert len(trace.key_tokens(kind)) == trace.attentions(0, kind).shape[2] <= model.max_tokens
