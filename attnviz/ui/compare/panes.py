"""The two panes of Compare: A shows the view; B overrides some settings and inherits the others from A."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attnviz.compare.minimal_pairs import MINIMAL_PAIRS, counterpart
from attnviz.links.link import B_KEYS
from attnviz.links.pages import PAGES
from attnviz.sources import PRETRAINED, SOURCES, TOY, Source
from attnviz.sources.pretrained import NAMES
from attnviz.sources.shown import shown
from attnviz.ui import state
from attnviz.ui.sources import RESOURCES

if TYPE_CHECKING:
    from attnviz.trace.layer import LayerTrace
    from attnviz.trace.walk import Walk

PRESETS = {
    "text": "A word changed",
    "head": "Two heads",
    "layer": "Two layers",
    "model": "Two models",
    "source": "Toy beside BERT",
    "scale": "Scale on · off",
    "mask": "Mask on · off",
}
"""The presets: the setting in which A and B differ, and the preset's title."""


@dataclass(frozen=True, slots=True)
class Pane:
    """One of the two panes."""

    name: str
    """A or B, as shown"""
    prefix: str
    """The prefix of its own keys in a link"""

    def key(self, name: str) -> str:
        """Return the link's key of this pane's own value."""
        return f"{self.prefix}{name}"

    def own(self, name: str) -> Any:
        """Return this pane's own value of a setting, or None if B inherits it."""
        value = state.get(self.key(name))
        return None if isinstance(value, str) and not value.strip() else value

    def get(self, name: str) -> Any:
        """Return the value of a setting in this pane."""
        return state.get_b(name) if self.prefix else state.get(name)

    def put(self, name: str, value: Any) -> None:
        """Set this pane's own value; with None, B inherits A's value again."""
        state.put(self.key(name), "" if value is None and name == "text" else value)


A, B = Pane("A", ""), Pane("B", "b_")


@dataclass(frozen=True, slots=True)
class Choice:
    """The checked settings of one pane."""

    pane: Pane
    source: Source
    model: str | None
    """The name of the loaded model; None if the source's models have no names"""
    kind: str
    layer: int
    head: int

    def get(self, name: str) -> Any:
        """Return a setting; `sources` calls this."""
        own = name in ("kind", "layer", "head") or (name == "model" and self.model is not None)
        return getattr(self, name) if own else self.pane.get(name)

    @property
    def is_what_if(self) -> bool:
        """Whether the scale or mask differs from the one that the model was trained with."""
        return self.source.has_own_scale and (self.get("scale") != "sqrt_d" or self.get("mask") != "none")


def run(choice: Choice) -> Walk:
    """Compute the head that a pane shows.

    Raises:
        attnviz.tokens.NoTokensError: the text has no token for this model.
    """
    from attnviz.compare.matrices import what_if

    found = shown(choice.get, RESOURCES)
    walk = found.walk(RESOURCES)
    if not found.source.has_own_scale:  # they shape the model itself
        return walk
    scale = scale_factor(choice.get("scale"), walk.layer)
    return replace(walk, layer=what_if(walk.layer, scale, choice.get("mask") == "causal"))


def scale_factor(scale: str, layer: LayerTrace) -> float | None:
    """Return the factor of a link's `scale` for a model's layer; None for the layer's own scale."""
    if scale == "sqrt_d":
        return None
    if scale == "off":
        return 1.0
    if scale != "sqrt_c":
        return float(scale)
    width = layer.heads * layer.head_size if layer.query_input is None else layer.query_input.shape[-1]
    return float(width**-0.5)


def has_one_head(pane: Pane) -> bool:
    """Return whether a pane's model has a single head. One that would have to be loaded has several."""
    source = SOURCES[pane.get("source")]
    counts = () if source.has_names else source.open(pane.get, RESOURCES).description.layers.values()
    return list(counts) == [(1, 1)]


def differs(a: Choice, b: Choice) -> list[str]:
    """Return the names of the settings in which two panes differ."""
    if a.source is not b.source:
        return ["source", *(["text"] if a.get("text") != b.get("text") else [])]
    named = ["text", "head", "scale", "mask"] + (["layer", "kind"] if a.source.has_layers else [])
    found = [name for name in named if a.get(name) != b.get(name)]
    return found if a.model == b.model else ["model", *found]


def current_preset() -> str | None:
    """Return the preset that B's own settings correspond to, or None."""
    own = {name for name in B_KEYS if B.own(name) is not None}
    if A.get("source") != B.get("source"):
        return "source"
    own -= {"source"}
    return own.pop() if len(own) == 1 and own <= PRESETS.keys() else None


def apply_preset(preset: str) -> None:
    """Make A and B differ in exactly one setting."""
    for name in B_KEYS:
        B.put(name, None)
    if preset == "text":
        change_a_word()
    elif preset == "source":
        state.put("source", TOY.key)
        state.put("tokenizer", "bert")  # BERT's pieces, so that both have the same tokens
        B.put("source", PRETRAINED.key)
        if A.get("model") not in NAMES.offered():
            B.put("model", NAMES.offered()[0])
    elif preset == "model":
        state.put("source", PRETRAINED.key)
        B.put("model", next((name for name in NAMES.offered() if name != A.get("model")), None))
    elif preset in ("head", "layer"):
        if preset == "layer" and not SOURCES[A.get("source")].has_layers:
            state.put("source", PRETRAINED.key)
        B.put(preset, 1 if A.get(preset) == 0 else 0)
    elif preset == "scale":
        B.put("scale", "sqrt_d" if A.get("scale") == "off" else "off")
    elif preset == "mask":
        B.put("mask", "none" if A.get("mask") == "causal" else "causal")


def change_a_word() -> None:
    """Give B the other sentence of A's minimal pair; if A's text is in no pair, use the first pair."""
    other = counterpart(A.get("text"))
    if other is None:
        state.put("text", MINIMAL_PAIRS[0].a)
        other = MINIMAL_PAIRS[0].b
    B.put("text", other)


def choose_default() -> None:
    """Choose a comparison if the link neither sets B nor says that A and B are the same."""
    if state.get("compare") or any(B.own(name) is not None for name in B_KEYS):
        return
    other = counterpart(A.get("text"))
    if other is not None:
        B.put("text", other)
    elif has_one_head(A):
        B.put("mask", "none" if A.get("mask") == "causal" else "causal")
    else:
        apply_preset("head")


def link_keys() -> list[str]:
    """Set `compare`, so that a link to two equal panes opens them equal; return the keys of A, and of B its own."""
    same = all(B.own(name) is None for name in B_KEYS)
    # "own" exists in the session only: it keeps `choose_default` from overriding the user's choice.
    state.put("compare", "same" if same else "own")
    inherited = {B.key(name) for name in B_KEYS if B.own(name) is None} | (set() if same else {"compare"})
    return [name for name in PAGES["compare"].keys if name not in inherited]
