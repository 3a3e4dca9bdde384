"""The keys of a link: each key's default, and how its value is parsed, checked and written.

Independent of Streamlit: a link is a mapping of strings, a view is a mapping of checked values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from attnviz.links.bert import BERT_KEYS
from attnviz.links.train import MAX_DROPOUT, TRAIN_KEYS
from attnviz.links.values import (
    BadValueError,
    Heads,
    Index,
    Integer,
    Key,
    Name,
    Number,
    OneOf,
    Scale,
    Switch,
    Text,
    one_of,
    quoted,
    titled,
)
from attnviz.measures import NAMES as MEASURES
from attnviz.measures.mistakes import NAMES as MISTAKES
from attnviz.settings import settings
from attnviz.sources import SOURCES
from attnviz.sources.compared import B_KEYS
from attnviz.steps import PARTS, WALK
from attnviz.steps.averages import WAYS
from attnviz.steps.picture import AXES
from attnviz.toy.config import (
    ARCHITECTURES,
    MAX_CAP,
    MAX_FEED_FORWARD,
    MAX_LAYERS,
    MAX_MODEL_WIDTH,
    MAX_SINK,
    MAX_TOKENS,
    MAX_WIDTH,
    MIN_CAP,
    MIN_WIDTH,
    NORM_PLACES,
    WIDTH,
)

DEFAULT_TEXT = "The animal didn't cross the street because it was too tired."
MAX_OTHER = 40
"""Maximum characters of the word that replaces another one"""
MAX_SEED = 999_999
"""The largest seed"""
MAX_DRAW, MAX_PADS = 999, 16
"""The largest seed for dropout, and the maximum number of padding tokens"""

CORPUS_VIEWS = {
    "measures": "Measures", "distribution": "Distribution", "positions": "Positions", "parts": "Parts",
    "alike": "Heads like it", "examples": "Strongest", "heads": "All heads",
}  # fmt: skip
"""The views of a head over a corpus, beside the grid on the page Heads"""
CHECKS = {
    "overview": "Overview", "token": "One token", "norm": "Norm", "positions": "Positions", "change": "Change a word",
    "padding": "Padding", "dropout": "Dropout", "lens": "Logit lens", "parameters": "Parameters", "cost": "Cost",
    "mistake": "Mistakes",
}  # fmt: skip
"""The checks that the page Transformer shows below its walk"""
STRETCH: dict[str, bool | None] = {"0": None, "1": True, "off": False}
"""Whether the colours of weights are darkened: only in a long text, always, or never"""


COMPARED = ("a", "b", "difference", "divergence")
"""The matrices of a comparison, by name in its picture"""
MATRICES = f"{quoted(AXES)}; on Compare {quoted(COMPARED)}"
DEVIATION = Number(10, decimals=None)

KEYS: dict[str, Key] = {
    "text": Key(DEFAULT_TEXT, Text(), "the text, cut to the length that the server allows"),
    "pair": Key("", Text(), "a second sentence for a model, or the text that a decoder reads"),
    "source": Key("toy", OneOf(lambda: SOURCES, {}), "the source of attention"),
    "model": Key(
        "minilm",
        Text(200),
        "a model that the server offers, or one trained here, such as `induction`; on your own "
        "machine also a hub name or a folder",
    ),
    "kind": Key(
        "encoder",
        titled({"encoder": "encoder", "decoder": "decoder", "cross": "decoder → encoder"}),
        "the kind of attention, if a model has several",
    ),
    "layer": Key(0, Index(), "the layer of the model"),
    "head": Key(0, Index(), "the head of that layer, or of the toy"),
    "step": Key("scores", one_of(*WALK), "the step"),
    "q": Key(None, Index(), "the query of the pinned cell: its row; on the page of BERT, the chosen row"),
    "k": Key(None, Index(), "its key: the column"),
    "tokenizer": Key(
        "word",
        titled({"word": "words", "char": "characters", "bert": "BERT pieces"}),
        "the toy's tokenizer; on Tokens, the tokenizer shown in detail",
    ),
    "charset": Key(
        "shakespeare",
        titled({"shakespeare": "Shakespeare's 65", "text": "the text's own", "file": "from a file"}),
        "the character vocabulary: of Shakespeare's works, of the text itself, or from an uploaded file, "
        "which links do not include",
    ),
    "positions": Key(
        "sinusoidal",
        one_of("none", "sinusoidal", "lab", "random", "rotary", "alibi", "buckets"),
        "the toy's; `lab` (no shared frequency): only in Transformer's menu; `rotary` turns queries and keys, `alibi` "
        "and `buckets` add to scores (not on A)",
    ),
    "qkv": Key(
        "linear",
        titled({"linear": "projections (X·W)", "identity": "X itself", "positions": "mix positions (U·X)"}),
        "how the toy computes queries, keys and values",
    ),
    "heads": Key(2, Integer(1, 8), "the number of heads of the toy"),
    "kv_heads": Key(
        None,
        Integer(1, 8),
        "how many heads of keys and values the toy's heads share (S, C: only with `qkv=linear`); without it, each "
        "has its own",
    ),
    "head_size": Key(8, Integer(2, 64), "the width D of a head"),
    "scale": Key("sqrt_d", Scale(), "what the scores are multiplied by: 1/√D, 1/√C, 1, or this"),
    "mask": Key("none", titled({"none": "none", "causal": "causal"}), "the toy's mask"),
    "padding": Key(
        0, Integer(0, MAX_TOKENS), "how many tokens at the beginning are padding, which no query attends to"
    ),
    "mask_value": Key(
        "-inf",
        titled({"-inf": "−∞", "-1e10": "−1e10", "-1e10_before": "−1e10, before scaling"}),
        "the value in masked cells: −∞, or −1e10 after or before the scaling",
    ),
    "cap": Key(
        None,
        Number(MAX_CAP, MIN_CAP, decimals=2),
        "the toy's soft cap c, which makes c · tanh(s/c) of each scaled score s; without it, none",
    ),
    "sink": Key(
        None,
        Number(MAX_SINK, -MAX_SINK, decimals=2),
        "the score of a sink that takes part in the softmax of the toy's heads; without it, none",
    ),
    "window": Key(
        None,
        Integer(1, MAX_TOKENS),
        "the width of the toy's window: with a causal mask the last keys, else half as many on each side; without it, "
        "none",
    ),
    "qk_norm": Key(False, Switch(), "whether the toy's queries and keys are normalised"),
    "model_width": Key(WIDTH, Integer(MIN_WIDTH, MAX_MODEL_WIDTH), "the width C of the toy"),
    "embedding": Key(
        "normal",
        titled({"normal": "normal", "uniform": "uniform, 0 to 1"}),
        "how the toy's token embeddings are drawn: with mean 0 and standard deviation 1, or uniformly from 0 to 1",
    ),
    "std_q": Key(None, DEVIATION, "the standard deviation of the toy's W_Q, with `qkv=linear`; without it, 1/√C"),
    "std_k": Key(None, DEVIATION, "the same of W_K"),
    "std_v": Key(None, DEVIATION, "the same of W_V"),
    "projection_bias": Key(False, Switch(), "whether the toy's projections add biases"),
    "projection": Key(True, Switch(), "the toy's output projection"),
    "seed": Key(
        0,
        Integer(0, MAX_SEED),
        "the seed of the toy's weights, of a training's weights and random numbers, or of the weights that "
        "a part of BERT draws",
    ),
    "architecture": Key(
        "encoder",
        titled({name: name for name in ARCHITECTURES}),
        "the toy transformer: an encoder, a decoder, or an encoder with a decoder that attends to it",
    ),
    "depth": Key(2, Integer(1, MAX_LAYERS), "its number of blocks; with an encoder and a decoder, that of the encoder"),
    "decoder_depth": Key(
        None,
        Integer(1, MAX_LAYERS),
        "the number of blocks of a decoder with an encoder; without it, as many as the encoder has",
    ),
    "width": Key(32, Integer(MIN_WIDTH, MAX_WIDTH), "its width C, which the number of heads must divide"),
    "feed_forward": Key(
        None, Integer(1, MAX_FEED_FORWARD), "the hidden width F of its feed-forwards; without it, 4 · C"
    ),
    "norm": Key(
        "post",
        titled({name: name for name in NORM_PLACES}),
        "whether norms follow the residual sums or precede attention and feed-forward",
    ),
    "activation": Key(
        "relu",
        titled({"relu": "ReLU", "gelu": "GELU", "gelu_tanh": "GELU, by tanh"}),
        "the activation of its feed-forwards",
    ),
    "bias": Key(True, Switch(), "whether its linear maps and norms add biases"),
    "block": Key(0, Index(), "the attention of the model, in order of computation"),
    "part": Key("embeddings", Name("the name of a step", quoted(PARTS), among=lambda: PARTS), "the step"),
    "stretch": Key(
        "0",
        one_of(*STRETCH),
        "darken the colours of weights: `1` ends them at the largest weight if that is below 0.8, "
        "`0` only from 40 tokens on, `off` never",
    ),
    "limit": Key(
        None,
        Number(1000, 0.01, decimals=2),
        "the end of the colour scale of scores, so that two views can be compared; without it, the largest score",
    ),
    "drawing": Key("stage", one_of("stage", "chart"), "the animated picture, or a Plotly chart"),
    "focus": Key(
        "",
        Name("the name of a matrix", MATRICES, among=lambda: (*AXES, *COMPARED)),
        "the matrix that fills the picture; a step without this matrix shows all, with a note",
    ),
    "predict": Key(False, Switch(), "cover the pinned row, for a prediction"),
    "dim": Key(False, Switch(), "dim the tokens that the tokenizer has added, such as [CLS], in the sentence"),
    "why": Key(False, Switch(), "at the step Scores: what the pinned score is made of, beside the picture"),
    "play": Key(False, Switch(), "the walk begins to play itself when the link is opened"),
    "way": Key("loop", one_of(*WAYS), "the way to the mean"),
    "block_size": Key(8, Integer(1, 64), "the tokens in a training block"),
    "chosen": Key((), Heads(), "up to 24 heads together: layer and head, or r for the rollout up to a layer"),
    "rollout": Key(False, Switch(), "the rollout up to the layer instead of a head"),
    "show": Key("both", one_of("both", "lines", "heatmap"), "how the chosen heads are drawn"),
    "direction": Key(
        "vertical",
        one_of("vertical", "horizontal"),
        "the layout of the lines: two columns of tokens (lines go from left to right), or two rows",
    ),
    "threshold": Key(0.05, Number(1), "the smallest weight drawn as a line"),
    "strongest": Key(0, Integer(0, 1000), "draw only the strongest lines of each query; 0 draws all"),
    "special": Key("keep", one_of("keep", "hide", "renormalise"), "how to treat special tokens"),
    "between": Key("all", one_of("all", "aa", "ab", "ba", "bb"), "attention within or between the two sentences"),
    "values": Key("weights", one_of("weights", "norms"), "the weights, or the norms of the weighted vectors"),
    "mean": Key(False, Switch(), "the mean of the chosen heads instead of each"),
    "sort": Key("", one_of(*MEASURES), "the measure by which the grid is sorted"),
    "label": Key(
        "",
        Text(60),
        "only heads with this label, such as `previous-token head`; `broad` is “looks everywhere” and "
        "“looks everywhere it may”",
    ),
    "recompute": Key(
        None,
        titled({"loop": "Scores in a loop", "past": "Rows from their past"}),
        "the check below the walk, or in a lecture or lesson in its place: the scores in a double loop, or "
        "rows from earlier rows",
    ),
    "check": Key(
        None,
        titled(CHECKS),
        "what is shown below the walk, or in a lecture or lesson in its place, for the stack and the pinned row",
    ),
    "other": Key(
        "cat",
        Text(MAX_OTHER),
        "the check of another word: what the token becomes; on the page of BERT, what the last token becomes",
    ),
    "pads": Key(4, Integer(1, MAX_PADS), "the check of padding: how many tokens follow the text"),
    "dropout": Key(0.1, Number(MAX_DROPOUT), "the check of dropout: the probability of a 0"),
    "draw": Key(0, Integer(0, MAX_DRAW), "its seed"),
    "over_all": Key(False, Switch(), "the check of LayerNorm: the mistake of one norm over all tokens"),
    "mistake": Key(MISTAKES[0], one_of(*MISTAKES), "the mistake that `check=mistake` shows"),
    "answer": Key(True, Switch(), "whether the right way is shown beside it"),
    "more": Key(
        None,
        titled(
            {
                "table": "Table of all heads",
                "off": "Switched off",
                "measures": "How it is computed",
                "care": "With care",
            }
        ),
        "the open part below the picture",
    ),
    "over": Key(
        "text",
        titled({"text": "This text", "corpus": "A corpus"}),
        "all heads over this text, or over the sentences of a corpus",
    ),
    "corpus": Key(
        "",
        Text(60),
        "which corpus, by the name of its file without suffix, if a server has several for the model "
        "(docs/corpus.md); by default, the first",
    ),
    "corpus_view": Key("measures", titled(CORPUS_VIEWS), "what is shown of a head over the corpus"),
    "corpus_measure": Key(
        None,
        one_of(*MEASURES),
        "the measure of the distribution and the strongest examples; without it, the one in which the head stands out",
    ),
    "compare": Key(
        "", one_of("same"), "B equals A; without this key, a link without keys of B gets a default comparison"
    ),
    "quantity": Key(
        "weights",
        titled({name: step.title for name, step in WALK.items() if step.is_by_cell}),
        "the quantity to compare",
    ),
    **TRAIN_KEYS,
    **BERT_KEYS,
    "lecture": Key(False, Switch(), "lecture mode"),
    "lesson": Key(
        "",
        Text(60),
        "a lesson: `attention`, `heads`, `why`, `transformer`, `mistakes`, `forming`, `ladder`, "
        "`explanation`, `bert`, `claims`, `today`, or `own`",
    ),
    "scene": Key(
        1, Integer(1, 100), "its scene; a link with only lesson and scene (and lecture mode) opens the scene's view"
    ),
}
SHARED_KEYS: tuple[str, ...] = ("lecture", "lesson", "scene")
"""Keys that all pages share: they stay in the link when the page changes."""
KEYS |= {
    f"b_{name}": replace(KEYS[name], default="" if name == "text" else None, about=f"`{name}` of B") for name in B_KEYS
}
TEXTS = ("text", "pair", "b_text")


def read_link(query: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Parse a query string into a view, and return it with notes (full sentences) on all rejected values.

    Unknown keys are ignored: Streamlit and hosts use some of their own.
    """
    view = {name: key.default for name, key in KEYS.items()}
    notes = []
    for name, key in KEYS.items():
        if name not in query:
            continue
        try:
            view[name] = key.read(query[name])
        except BadValueError as error:
            used = "nothing" if key.default in (None, "", ()) else key.write(key.default)
            used = "A's" if name.startswith("b_") else used
            notes.append(f"The link's {name}={query[name][:40]} {error}, so {used} is used.")
        if name in TEXTS and len(query[name]) > (limit := settings().largest_text):
            notes.append(f"The link's {name} is longer than {limit:,} characters and was cut there.")
    return view, notes


def write_link(view: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Return the query of a view: the keys among `names` whose values differ from their defaults."""
    return {
        name: KEYS[name].write(view[name])
        for name in names
        if view[name] is not None and view[name] != KEYS[name].default
    }
