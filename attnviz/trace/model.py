"""The `Model` protocol that every source implements, a model's description, and the sizes of its matrix products.

Independent of torch at import.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import TYPE_CHECKING, Literal, Protocol

from attnviz.formatting import joined
from attnviz.reprs import ShortRepr
from attnviz.tokens import Tokens

if TYPE_CHECKING:
    from attnviz.trace.trace import Trace

Kind = Literal["encoder", "decoder", "cross"]
"""encoder: bidirectional self-attention; decoder: causal self-attention; cross: attention from decoder to encoder"""

ProjectionKind = Literal["identity", "linear", "positions"]
"""How query, key and value are computed from X: X itself, X · W, or U · X, which mixes positions"""

Pairing = Literal["halves", "neighbours"]
"""Which two dimensions rotary positions turn together: see `attnviz.trace.rotation.Rotation`"""

Activation = Literal["relu", "gelu", "gelu_tanh"]
"""relu: max(0, x), as in the paper. gelu: x · Φ(x), as in BERT (Hendrycks and Gimpel 2016). gelu_tanh: the same paper's
approximation, 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))), as in GPT-2, where transformers calls it gelu_new."""

Need = Literal["embeddings", "projections", "output_projection"]
"""Quantities besides attention itself that are not known for every model"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an attention is in its model."""

    kind: Kind
    layer: int
    """The layer's number in the model"""

    @property
    def stack(self) -> Literal["encoder", "decoder"]:
        """The stack of blocks that it is in."""
        return "encoder" if self.kind == "encoder" else "decoder"

    @property
    def name(self) -> str:
        """The place in words, such as "encoder block 2"."""
        return f"{self.stack} block {self.layer}{', attention to the encoder' if self.kind == 'cross' else ''}"


def numbered(counts: Mapping[Kind, int], numbers: Mapping[Kind, tuple[int, ...]]) -> dict[Kind, tuple[int, ...]]:
    """Return the layers' numbers in the model, by kind of attention; 0, 1, ... for a kind without numbers.

    Args:
        counts: the number of layers of each kind.
        numbers: the known numbers, in ascending order.

    Raises:
        ValueError: the number of layers differs from that of the numbers, or these do not ascend from 0 or above.
    """
    all_numbers = {kind: tuple(numbers.get(kind, range(count))) for kind, count in counts.items()}
    for kind, of_kind in all_numbers.items():
        if len(of_kind) != counts[kind] or any(b <= a for a, b in pairwise((-1, *of_kind))):
            raise ValueError(f"{counts[kind]} {kind} layers can't have the numbers {of_kind}")
    return all_numbers


def places(numbers: Mapping[Kind, Sequence[int]]) -> tuple[Place, ...]:
    """Return the places of all attentions in order of computation; `numbers` as in `Description`."""
    ordered = [Place("encoder", layer) for layer in numbers.get("encoder", ())]
    kinds: tuple[Kind, ...] = ("decoder", "cross")
    for layer in sorted({layer for kind in kinds for layer in numbers.get(kind, ())}):
        ordered += [Place(kind, layer) for kind in kinds if layer in numbers.get(kind, ())]
    return tuple(ordered)


def no_layer(layer: int, numbers: Sequence[int]) -> str:
    """Say that a layer has no attention, and which layers have it: a sentence without its full stop."""
    if tuple(numbers) == tuple(range(len(numbers))):
        return f"layer {layer} does not exist: layers go from 0 to {len(numbers) - 1}"
    return f"layer {layer} has no attention: this model has it in {layers_in_words(numbers)}"


def layers_in_words(numbers: Sequence[int]) -> str:
    """Write the ascending numbers of layers: "layer 3", "layers 1 and 3", "layers 0, 3 to 7 and 11"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    words = [word for run in runs for word in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else map(str, run))]
    return f"{'layer' if len(numbers) == 1 else 'layers'} {joined(words)}"


def window_marks(windows: Sequence[int | None], kind: Kind) -> list[str]:
    """Say of each layer that it is global, or how many keys its window has; [] if no layer has a window.

    Args:
        windows: `Call.window` of each layer.
        kind: the kind of attention: an encoder's window reaches to both sides.
    """
    if not any(windows):
        return []
    widths = (width if width is None or kind != "encoder" else 2 * width - 1 for width in windows)
    return ["global" if width is None else f"window of {width:,}" for width in widths]


@dataclass(frozen=True, slots=True, repr=False)
class Description(ShortRepr):
    """The architecture of a model."""

    name: str
    layers: dict[Kind, tuple[int, int]]
    """Number of layers with attention and of heads per layer, by kind of attention"""
    width: int
    """C"""
    head_size: int
    """D of the first attention; `head_sizes` has D of each layer"""
    norm_first: bool | None = None
    """Whether blocks normalise before attention and feed-forward (pre-norm); None if what follows attention is
    unknown in all of them"""
    attention_alone: dict[Kind, tuple[int, ...]] = field(default_factory=dict)
    """The numbers of the layers of which what follows attention is unknown, where it is known of others, by kind"""
    lacks: frozenset[str] = frozenset()
    """What a reduced pre-norm block lacks: "norm", "feed_forward", or both"""
    final_norm: bool = False
    """Whether a known norm follows the last block"""
    shows_logits: bool = False
    """Whether its traces have a `vocabulary`, so that logits are among the steps"""
    head_transform: bool = False
    """Whether its language head transforms the last hidden state before it maps it to the logits, as BERT's does"""
    head_note: str = ""
    """Where its language head comes from and how little it knows, as a sentence; "" if it came with the model"""
    mask_piece: str | None = None
    """How a text is written in which a word is hidden, such as "[MASK]"; None if the tokenizer has no token for that"""
    feed_forward: int | None = None
    """F; 0 if the model has no feed-forward layer, None if its width is not known"""
    vocabulary: int | None = None
    """V; None if every integer is a valid token id"""
    outputs: int | None = None
    """The number of the logits' columns; None if there is one for each token that occurs, or more than can be shown"""
    parameters: dict[str, int] = field(default_factory=dict)
    """Number of parameters by part: embeddings, attention, ..."""
    sizes: ModelSizes | None = None
    """The sizes of the matrix products in its blocks; None if they are not known, or not yet read from its modules"""
    unavailable: dict[str, str] = field(default_factory=dict)
    """Quantities that are not available for this model -> the reason, as a sentence"""
    numbers: dict[Kind, tuple[int, ...]] = field(default_factory=dict)
    """The numbers in the model of the layers in `layers`, ascending. If some layers of the model have no attention,
    they are not 0, 1, ... The app calls a layer by its number; its index in this tuple is its index in arrays of all
    layers"""
    head_sizes: dict[Kind, tuple[int, ...]] = field(default_factory=dict)
    """D of each layer in `numbers`; if empty, `head_size` for all"""
    depths: dict[Kind, int] = field(default_factory=dict)
    """Number of layers, with attention or without, by kind of attention; if empty, that in `layers`"""
    steps_in: dict[str, dict[Kind, tuple[int, ...]]] = field(default_factory=dict)
    """The steps that not every attention has -> the numbers of the layers that have them, by kind of attention"""
    has_sinks: bool = False
    """Whether heads of some layers have a sink"""
    windows: dict[Kind, tuple[int | None, ...]] = field(default_factory=dict)
    """`Call.window` of each layer in `numbers`, by kind; empty if no layer has a window"""
    is_checked: bool = True
    """Whether tests compare its numbers with those of another implementation. If not, each trace is compared with the
    model's own attention, and fails with `attnviz.pretrained.ModelError` if the two differ"""

    def __post_init__(self) -> None:
        counts = {kind: count for kind, (count, _) in self.layers.items()}
        object.__setattr__(self, "numbers", numbered(counts, self.numbers))
        sizes = {kind: self.head_sizes.get(kind, (self.head_size,) * count) for kind, count in counts.items()}
        object.__setattr__(self, "head_sizes", sizes)
        object.__setattr__(self, "depths", {**counts, **self.depths})

    def _summary(self) -> Iterator[str]:
        sizes = by_kind({kind: either(of_kind) for kind, of_kind in self.head_sizes.items()})
        yield from (self.name, layers_and_heads(self.layers), f"width {self.width}", f"head_size {sizes}")

    def has_narrow_window(self, kind: Kind, n: int) -> bool:
        """Return whether the window of a layer of this kind hides keys in a text of n tokens."""
        return any(window is not None and window < n for window in self.windows.get(kind, ()))

    def layer_marks(self, kind: Kind) -> dict[int, str]:
        """Return which layers are local, with the width of their window, and which are global, by their numbers.

        Empty if no layer of this kind has a window.
        """
        marks = window_marks(self.windows.get(kind, ()), kind)
        return dict(zip(self.numbers[kind], marks, strict=True)) if marks else {}

    @property
    def why_not_after(self) -> str:
        """Why what follows attention can't be shown through all layers, as a sentence."""
        return self.unavailable.get("attention_residual", "What follows attention is not known of this model.")

    @property
    def guesses_hidden_words(self) -> bool:
        """Whether the model has learned to name a hidden word from the words on both sides."""
        return self.mask_piece is not None and self.shows_logits and tuple(self.layers) == ("encoder",)

    @property
    def guesses_well(self) -> bool:
        """Whether it came with the language head by which it guesses hidden words."""
        return self.guesses_hidden_words and not self.head_note

    @property
    def heads_and_sizes(self) -> str:
        """H × D in words: "4 × 8", "4 × 8 or 512", "encoder 4 × 8, decoder and cross 2 × 16"."""
        return by_kind({kind: f"{heads} × {either(self.head_sizes[kind])}" for kind, (_, heads) in self.layers.items()})

    def head_size_at(self, place: Place) -> int:
        """Return D of the attention at a place."""
        return self.head_sizes[place.kind][self.numbers[place.kind].index(place.layer)]


def either(numbers: Sequence[int]) -> str:
    """Write the distinct numbers in ascending order: "8", "8 or 512", "4, 8 or 1,536"."""
    return joined((f"{number:,}" for number in sorted(set(numbers))), "or")


def by_kind(words: Mapping[Kind, str]) -> str:
    """Join the text for each kind of attention; kinds with the same text are named together."""
    kinds_by_text: dict[str, list[Kind]] = {}
    for kind, text in words.items():
        kinds_by_text.setdefault(text, []).append(kind)
    if len(kinds_by_text) == 1:
        return next(iter(kinds_by_text))
    return ", ".join(f"{' and '.join(kinds)} {text}" for text, kinds in kinds_by_text.items())


def layers_and_heads(counts: dict[Kind, tuple[int, int]]) -> str:
    """Write the number of layers and of heads per layer: "6 layers x 12 heads", for each kind if there are several."""
    kinds = {kind: f"{layers} layers x {heads} heads" for kind, (layers, heads) in counts.items()}
    return ", ".join(kinds.values() if len(kinds) == 1 else (f"{kind} {count}" for kind, count in kinds.items()))


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class TraceBudget:
    """Memory for traces. Models with the same budget share one cache, which is freed together with the last model."""

    name: str
    """The name of the cache in the metrics"""
    nbytes: int
    number: int = field(default_factory=count().__next__)
    """A unique number for each budget of this process"""


@dataclass(frozen=True, slots=True)
class RowGuesses:
    """The tokens that a model expects at a row, the likeliest first."""

    row: int
    """A masked token of an encoder; of a decoder, the token before the expected one"""
    labels: tuple[str, ...]
    """The labels of the tokens"""
    shares: tuple[float, ...]
    """Their probabilities among all tokens of the vocabulary"""


class Model(Protocol):
    """A model of any source. It is immutable, so all sessions share it."""

    @property
    def name(self) -> str:
        """The model's name."""

    @property
    def description(self) -> Description:
        """The model's architecture."""

    @property
    def trace_budget(self) -> TraceBudget:
        """The memory for its traces: its own budget, or one that it shares with similar models."""

    def read(self, text: str, pair: str | None = None) -> tuple[Tokens, Tokens | None]:
        """Tokenise a text, or a pair: the tokens, and the decoder's tokens for an encoder-decoder model."""

    def trace_key(self, text: str, pair: str | None = None) -> Hashable:
        """Return a cache key: traces with equal keys have equal numbers, for all models with its name and budget."""

    def trace(self, text: str, pair: str | None = None) -> Trace:
        """Run the model on a text.

        Raises:
            attnviz.tokens.NoTokensError: the text has no tokens.
        """


@dataclass(frozen=True, slots=True)
class MapSize:
    """A linear map of each token's row: its weight is (inputs, outputs)."""

    inputs: int
    outputs: int

    @property
    def weights(self) -> int:
        """How many numbers its weight has, which is also its multiplications per token."""
        return self.inputs * self.outputs


@dataclass(frozen=True, slots=True)
class AttentionSize:
    """One attention. Query heads may share keys and values, so the maps to these may be narrower than H · D."""

    heads: int
    """H, the number of query heads"""
    head_size: int
    """D, of queries and keys"""
    value_size: int
    """The width of a head's values"""
    projections: tuple[MapSize, ...]
    """The maps to queries, keys and values, in order of computation"""
    output: tuple[MapSize, ...]
    """W_O; empty if there is no output projection"""

    @property
    def key_heads(self) -> int | None:
        """How many heads of keys there are, which divides H; None if that is not known.

        Three maps are those to queries, keys and values only if the last two give as many heads. In multi-head latent
        attention they are one to queries and two to keys and values, one after the other.
        """
        if len(self.projections) != 3:
            return None
        _, key, value = self.projections
        count, rest = divmod(key.outputs, self.head_size)
        is_known = not rest and value.outputs == count * self.value_size
        return count if is_known and count and self.heads % count == 0 else None


@dataclass(frozen=True, slots=True)
class ModelSizes:
    """All matrix products of a forward pass whose number grows with the text."""

    attentions: tuple[AttentionSize, ...]
    """In order of computation"""
    feed_forwards: tuple[tuple[MapSize, ...], ...]
    """The maps of each feed-forward, in order: W_1 and W_2, or three maps with a gate"""
    others: tuple[MapSize, ...] = ()
    """Maps that belong to neither"""
    logits: tuple[MapSize, ...] = ()
    """The map to the logits, if it is counted"""


def feed_forward_widths(sizes: ModelSizes, width: int) -> tuple[int, ...]:
    """Return F of each feed-forward, in order of computation: what its map back to C numbers takes.

    A map from C to F numbers, or to 2F for a gate and a layer in one, must come before that map. Feed-forwards without
    such a pair are left out: MobileBERT's work between two maps that narrow and widen.

    Args:
        sizes: the sizes of the model.
        width: C.
    """
    widths = (_hidden_width(maps, width) for maps in sizes.feed_forwards)
    return tuple(hidden for hidden in widths if hidden is not None)


def _hidden_width(maps: Sequence[MapSize], width: int) -> int | None:
    from_width: set[int] = set()
    for size in maps:
        if size.outputs == width and from_width & {size.inputs, 2 * size.inputs}:
            return size.inputs
        if size.inputs == width:
            from_width.add(size.outputs)
    return None
