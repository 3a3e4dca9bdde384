"""The settings of the toy block and of the toy transformer. Does not import torch, so pages can import it early."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from attnviz.trace.model import Activation, Kind, ProjectionKind

WIDTH, MIN_WIDTH, MAX_WIDTH = 16, 8, 128
"""C: the default, small enough to show every number of an embedding, and the limits in a transformer"""
MAX_MODEL_WIDTH = 512
"""The largest C of the toy block"""
MAX_STD = 10
"""The largest standard deviation of the weights of a projection"""
MIN_CAP, MAX_CAP = 0.1, 1000
"""The limits of the soft cap"""
MAX_SINK = 100
"""The largest magnitude of the sink's score"""
NORM_EPS = 1e-6
"""What the norms of queries and keys add to the mean of the squares"""
MAX_HEADS, MAX_HEAD_SIZE, MAX_TOKENS = 8, 64, 512
MAX_AVERAGED = 64
"""The most tokens whose embeddings are averaged in a Python loop, which is slow."""

Positions = Literal["none", "sinusoidal", "lab", "random", "rotary", "alibi", "buckets"]
"""sinusoidal, lab: see `attnviz.toy.weights`; random: like a learned table before training. With the others nothing is
added to the embeddings. rotary: queries and keys are turned (see `attnviz.trace.rotation`); alibi, buckets: scores get
a position bias (see `attnviz.trace.position_bias`)"""
NOT_ADDED: tuple[Positions, ...] = ("none", "rotary", "alibi", "buckets")
"""Those of which the embeddings have nothing"""
BIASES: tuple[Positions, ...] = ("alibi", "buckets")
"""Those that are added to the scores"""
Embedding = Literal["normal", "uniform"]
"""normal: with mean 0 and standard deviation 1; uniform: from 0 to 1, as torch.rand draws"""
MaskValue = Literal["-inf", "-1e10", "-1e10_before"]
"""The value that the mask writes into hidden cells: −∞ or −1e10 after scaling, or −1e10 before scaling"""


@dataclass(frozen=True, slots=True)
class ToyConfig:
    """The block's settings. Changing a field changes only the quantities that depend on it."""

    width: int = WIDTH
    """C"""
    heads: int = 2
    head_size: int = 8
    qkv: ProjectionKind = "linear"
    std_q: float | None = None
    """The standard deviation of the linear weights W_query; None: 1/√C"""
    std_k: float | None = None
    """The same for W_key"""
    std_v: float | None = None
    """The same for W_value"""
    embedding: Embedding = "normal"
    """How token embeddings are drawn"""
    positions: Positions = "sinusoidal"
    scale: str = "sqrt_d"
    """sqrt_d: 1/√D, sqrt_c: 1/√C, off: 1, or a number such as "0.125\""""
    causal: bool = False
    padding: int = 0
    """The number of tokens at the beginning that are padding, to which no query attends"""
    mask_value: MaskValue = "-inf"
    projection: bool = True
    bias: bool = False
    """Whether the output projection and linear projections to queries, keys and values add a bias"""
    seed: int = 0
    cap: float | None = None
    """The soft cap of the scaled scores, as in Gemma 2; None for none"""
    sink: float | None = None
    """The score of a sink that takes part in every head's softmax, as in gpt-oss, where it is learned; None for none"""
    window: int | None = None
    """The width of a window: with the causal mask a query sees the last `window` keys, as in Mistral, else
    `window` // 2 keys on each side of itself, as in ModernBERT; None for none"""
    kv_heads: int | None = None
    """G: the number of heads of keys and values, which divides `heads`: several heads of queries share each, as in
    grouped-query attention (Ainslie et al. 2023); None: each head has its own. Only linear projections share"""
    qk_norm: bool = False
    """Whether an RMSNorm whose γ is 1 follows the projections to queries and keys, as in Qwen3, where γ is learned"""

    @classmethod
    def of(cls, get: Callable[[str], Any]) -> ToyConfig:
        """Return the settings of a view; `get` returns a setting by its link key.

        A number of heads of keys that does not fit is left out (`fitting_kv_heads`).

        Raises:
            ValueError: a number is out of range.
        """
        names = (
            "heads", "head_size", "qkv", "std_q", "std_k", "std_v", "embedding", "positions", "scale", "padding",
            "mask_value", "cap", "sink", "window", "qk_norm", "projection", "seed",
        )  # fmt: skip
        causal, width, bias = get("mask") == "causal", get("model_width"), get("projection_bias")
        shared = fitting_kv_heads(get("kv_heads"), get("heads"))
        return cls(**{name: get(name) for name in names}, causal=causal, width=width, bias=bias, kv_heads=shared)

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("heads", self.heads, 1, MAX_HEADS),
            ("numbers a head", self.head_size, 2, MAX_HEAD_SIZE),
            ("numbers a token", self.width, MIN_WIDTH, MAX_MODEL_WIDTH),
            ("tokens of padding", self.padding, 0, MAX_TOKENS),
        ):
            if not low <= value <= high:
                raise ValueError(f"{value} {name}: the toy has {low} to {high}")
        _check_scores(self, "the toy")
        check_shared(self.heads, self.kv_heads)
        for name, std in self.stds.items():
            if std is not None and not 0 <= std <= MAX_STD:  # nan is neither
                raise ValueError(f"a standard deviation of {std} of W_{name}: the toy has 0 to {MAX_STD}")

    @property
    def stds(self) -> dict[str, float | None]:
        """The standard deviations of the linear weights of "query", "key" and "value"; None: 1/√C."""
        return {"query": self.std_q, "key": self.std_k, "value": self.std_v}

    @property
    def scale_factor(self) -> float:
        """`scale` as a number."""
        named = {"sqrt_d": 1 / math.sqrt(self.width_per_head), "sqrt_c": 1 / math.sqrt(self.width), "off": 1.0}
        return named[self.scale] if self.scale in named else float(self.scale)

    @property
    def reach(self) -> tuple[int, int]:
        """How many keys before and after itself a query may see, padding aside."""
        if self.window is None:
            return MAX_TOKENS, 0 if self.causal else MAX_TOKENS
        return reach_of(self.window, causal=self.causal)

    @property
    def kind(self) -> Literal["encoder", "decoder"]:
        """The kind of attention: a decoder's with the causal mask, else an encoder's."""
        return "decoder" if self.causal else "encoder"

    @property
    def head_count(self) -> int:
        """The effective H: without projections all heads would be equal, so there is one."""
        return 1 if self.qkv == "identity" else self.heads

    @property
    def shared_by(self) -> int:
        """How many heads of queries share each head of keys and values."""
        return 1 if self.kv_heads is None or self.qkv != "linear" else self.heads // self.kv_heads

    @property
    def width_per_head(self) -> int:
        """The effective D: only linear projections change the width."""
        return self.head_size if self.qkv == "linear" else self.width


def reach_of(window: int, *, causal: bool) -> tuple[int, int]:
    """Return how many keys before and after itself a query sees in a window of this width."""
    return (window - 1, 0) if causal else (window // 2, window // 2)


def _check_scores(config: ToyConfig | TransformerConfig, who: str) -> None:
    """Check the soft cap, the sink and the window.

    Raises:
        ValueError: one is out of range.
    """
    if config.cap is not None and not MIN_CAP <= config.cap <= MAX_CAP:
        raise ValueError(f"a soft cap of {config.cap}: {who} has {MIN_CAP} to {MAX_CAP}")
    if config.sink is not None and not abs(config.sink) <= MAX_SINK:
        raise ValueError(f"a sink of {config.sink}: {who} has −{MAX_SINK} to {MAX_SINK}")
    if config.window is not None and not 1 <= config.window <= MAX_TOKENS:
        raise ValueError(f"{config.window} keys in a window: {who} has 1 to {MAX_TOKENS}")


def check_shared(heads: int, kv_heads: int | None) -> None:
    """Check a number of heads of keys and values; None: as many as heads of queries.

    Raises:
        ValueError: it does not divide the number of heads of queries.
    """
    if kv_heads is not None and (kv_heads < 1 or heads % kv_heads):
        raise ValueError(f"{heads} heads can't share {kv_heads} heads of keys and values")


Architecture = Literal["encoder", "decoder", "both"]
"""encoder: every token attends to all tokens (BERT); decoder: to itself and earlier ones (GPT); both: an encoder of one
text, and a decoder of another that also attends to the encoder's output (the original paper)"""
NormPlace = Literal["post", "pre"]
"""post: after each residual sum, as in the paper and BERT; pre: before attention and feed-forward, as in GPT-2"""

ARCHITECTURES: tuple[Architecture, ...] = get_args(Architecture)
NORM_PLACES: tuple[NormPlace, ...] = get_args(NormPlace)
MAX_LAYERS = 12
MAX_TEXT_TOKENS = 128
"""Limit for each text: the logits have a column for each different token of the text"""
FACTOR = 4
"""The default F / C, as in the paper (section 3.3)"""
MAX_FEED_FORWARD = FACTOR * MAX_WIDTH
"""The largest F"""
EXAMPLE_TARGET = "This is an example of what the decoder has written so far."
"""What the decoder of a model with an encoder reads if a view gives no second text"""


@dataclass(frozen=True, slots=True)
class TransformerConfig:
    """The settings. Changing a field changes only the quantities that depend on it."""

    architecture: Architecture = "encoder"
    depth: int = 2
    """L: the number of blocks; in a model with encoder and decoder, those of the encoder"""
    heads: int = 2
    width: int = 32
    """C"""
    activation: Activation = "relu"
    norm: NormPlace = "post"
    positions: Positions = "sinusoidal"
    bias: bool = True
    """Whether linear maps and norms add a bias"""
    seed: int = 0
    decoder_depth: int | None = None
    """The number of decoder blocks in a model with both; None: as many as the encoder has"""
    feed_forward: int | None = None
    """F of every block; None: 4 · C"""
    cap: float | None = None
    """As in `ToyConfig`, of every attention"""
    sink: float | None = None
    """As in `ToyConfig`, of every attention"""
    window: int | None = None
    """As in `ToyConfig`, of every self-attention: a decoder's reaches back only"""
    kv_heads: int | None = None
    """As in `ToyConfig`, of every attention"""
    qk_norm: bool = False
    """Whether an RMSNorm follows the projections to queries and keys of every attention, as in Qwen3. Its γ, (D,), are
    parameters, as in the other norms, and begin with 1"""

    @classmethod
    def of(cls, get: Callable[[str], Any]) -> TransformerConfig:
        """Return the settings of a view; `get` returns a setting by its link key.

        If the number of heads does not divide the width, `fitting_heads` replaces it. A number of heads of keys that
        does not fit these is left out (`fitting_kv_heads`).

        Raises:
            ValueError: a number is out of range.
        """
        settings = {field.name: get(field.name) for field in fields(cls)}
        heads, shared = fitting_heads(settings["heads"], settings["width"]), settings["kv_heads"]
        return cls(**{**settings, "heads": heads, "kv_heads": fitting_kv_heads(shared, heads)})

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("layers", self.depth, 1, MAX_LAYERS),
            ("layers of the decoder", self.decoder_blocks, 1, MAX_LAYERS),
            ("heads", self.heads, 1, MAX_HEADS),
            ("numbers a token", self.width, MIN_WIDTH, MAX_WIDTH),
            ("hidden numbers of a feed-forward", self.hidden_width, 1, MAX_FEED_FORWARD),
        ):
            if not low <= value <= high:
                raise ValueError(f"{value} {name}: the toy transformer has {low} to {high}")
        if self.width % self.heads:
            raise ValueError(f"a width of {self.width} can't be divided into {self.heads} heads")
        _check_scores(self, "the toy transformer")
        check_shared(self.heads, self.kv_heads)

    @property
    def layers(self) -> dict[Kind, tuple[int, int]]:
        """The number of layers and of heads, by kind of attention."""
        if self.architecture != "both":
            return {self.architecture: (self.depth, self.heads)}
        kinds: tuple[Kind, ...] = ("decoder", "cross")
        return {"encoder": (self.depth, self.heads), **dict.fromkeys(kinds, (self.decoder_blocks, self.heads))}

    @property
    def rotated(self) -> dict[Kind, tuple[int, ...]]:
        """The layers that turn queries and keys by their positions, by kind: those of self-attention, or none."""
        is_on = self.positions == "rotary" and self.width > self.heads  # heads of width 1 have no pair to turn
        return self._self_attentions if is_on else {}

    @property
    def biased(self) -> dict[Kind, tuple[int, ...]]:
        """The layers whose scores get a position bias, by kind: those of self-attention, or none."""
        return self._self_attentions if self.positions in BIASES else {}

    @property
    def capped(self) -> dict[Kind, tuple[int, ...]]:
        """The layers whose scores have a soft cap, by kind: all, or none."""
        return {} if self.cap is None else self._attentions

    @property
    def normed(self) -> dict[Kind, tuple[int, ...]]:
        """The layers that normalise queries and keys, by kind: all, or none."""
        return self._attentions if self.qk_norm else {}

    @property
    def windows(self) -> dict[Kind, tuple[int, ...]]:
        """How many keys the window has on each side that it reaches to, of each layer of self-attention, by kind."""
        reaches = {kind: self.reach(kind) for kind in self.layers}
        return {kind: (reach[0] + 1,) * self.layers[kind][0] for kind, reach in reaches.items() if reach is not None}

    def reach(self, kind: Kind) -> tuple[int, int] | None:
        """Return how many keys before and after itself a query of this kind sees; None if there is no window."""
        return None if self.window is None or kind == "cross" else reach_of(self.window, causal=kind == "decoder")

    @property
    def _attentions(self) -> dict[Kind, tuple[int, ...]]:
        return {kind: tuple(range(count)) for kind, (count, _) in self.layers.items()}

    @property
    def _self_attentions(self) -> dict[Kind, tuple[int, ...]]:
        return {kind: layers for kind, layers in self._attentions.items() if kind != "cross"}

    @property
    def shared_by(self) -> int:
        """How many heads of queries share each head of keys and values."""
        return 1 if self.kv_heads is None else self.heads // self.kv_heads

    @property
    def decoder_blocks(self) -> int:
        """The number of decoder blocks in a model with both."""
        return self.depth if self.decoder_depth is None else self.decoder_depth

    @property
    def hidden_width(self) -> int:
        """F, the hidden width of every feed-forward."""
        return default_hidden_width(self.width) if self.feed_forward is None else self.feed_forward


def default_hidden_width(width: int) -> int:
    """Return the default F of a model of this width C."""
    return FACTOR * width


def fitting_heads(heads: int, width: int) -> int:
    """Return the largest number of heads, at most `heads`, that divides the width."""
    return next(count for count in range(min(heads, width), 0, -1) if width % count == 0)


def why_fewer_heads(heads: int, width: int) -> str:
    """Return why a model of a width has fewer heads than asked for, as a clause."""
    fitting = fitting_heads(heads, width)
    there_are = "there is" if fitting == 1 else "there are"
    return f"a width of {width} can't be divided into {heads} heads, so {there_are} {fitting}"


def shared_counts(heads: int) -> list[int]:
    """Return the numbers of heads of keys that so many heads can share, ascending: all below it that divide it."""
    return [count for count in range(1, heads) if heads % count == 0]


def fitting_kv_heads(kv_heads: int | None, heads: int) -> int | None:
    """Return a number of heads of keys if so many heads can share them; else None: each has its own."""
    return kv_heads if kv_heads in shared_counts(heads) else None
