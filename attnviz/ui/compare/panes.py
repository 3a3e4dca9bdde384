"""The two panes of Compare: A is what the view says, B has settings of its own and takes the others from A."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attnviz.compare.minimal_pairs import MINIMAL_PAIRS, other_side
from attnviz.links.link import OF_B
from attnviz.sources.shown import shown
from attnviz.toy.config import ToyConfig
from attnviz.ui import state
from attnviz.ui.controls import MODELS
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
"""What can be compared at one press: the setting in which A and B then differ, and the preset's name."""


@dataclass(frozen=True, slots=True)
class Pane:
    """One of the two sides of the page."""

    name: str
    """A or B, as it stands on the screen"""
    prefix: str
    """What stands before the names of its own keys in a link"""

    def key(self, name: str) -> str:
        """Return the link's key for a setting that this pane has of its own."""
        return f"{self.prefix}{name}"

    def own(self, name: str) -> Any:
        """Return this pane's own value of a setting; None where B has none."""
        value = state.get(self.key(name))
        return None if isinstance(value, str) and not value.strip() else value

    def get(self, name: str) -> Any:
        """Return the value of a setting in this pane."""
        own = self.own(name) if self.prefix and name in OF_B else None
        return state.get(name) if own is None else own

    def put(self, name: str, value: Any) -> None:
        """Set this pane's own value; B's takes A's again with None."""
        state.put(self.key(name), "" if value is None and name == "text" else value)


A, B = Pane("A", ""), Pane("B", "b_")


@dataclass(frozen=True, slots=True)
class Choice:
    """What one pane shows, checked against what there is."""

    pane: Pane
    model: str | None
    """The name of the model as it was loaded; None for the toy"""
    kind: str
    layer: int
    head: int

    def get(self, name: str) -> Any:
        """Return a setting, as `sources` reads it."""
        own = name in ("kind", "layer", "head") or (name == "model" and self.of_model)
        return getattr(self, name) if own else self.pane.get(name)

    @property
    def of_model(self) -> bool:
        """Whether it is a pretrained model's, and no toy's."""
        return self.model is not None

    @property
    def supposes(self) -> bool:
        """Whether the scale or the mask is not the one that this model was trained with."""
        return self.of_model and (self.get("scale") != "sqrt_d" or self.get("mask") != "none")


def run(choice: Choice) -> Walk:
    """Compute the head that a pane shows.

    Raises:
        attnviz.tokens.NoTokensError: the text has no token for this model.
    """
    from attnviz.compare.matrices import what_if

    found = shown(choice.get, RESOURCES)
    walk = found.walk(RESOURCES)
    if "scale" in found.source.keys:  # they shape the model itself
        return walk
    scale = scale_factor(choice.get("scale"), walk.layer)
    return replace(walk, layer=what_if(walk.layer, scale, choice.get("mask") == "causal"))


def scale_factor(scale: str, layer: LayerTrace) -> float | None:
    """Return the number behind a link's `scale` for a model's layer; None where it is the layer's own."""
    if scale == "sqrt_d":
        return None
    if scale == "off":
        return 1.0
    if scale != "sqrt_c":
        return float(scale)
    width = layer.heads * layer.head_size if layer.query_input is None else layer.query_input.shape[-1]
    return float(width**-0.5)


def toy_heads() -> int:
    """Return how many heads the toy has."""
    return ToyConfig.of(state.get).head_count


def differs(a: Choice, b: Choice) -> list[str]:
    """Name the settings in which two panes differ."""
    if a.of_model != b.of_model:
        return ["source", *(["text"] if a.get("text") != b.get("text") else [])]
    named = ["text", "head", "scale", "mask"] + (["layer", "kind"] if a.of_model else [])
    found = [name for name in named if a.get(name) != b.get(name)]
    return found if a.model == b.model else ["model", *found]


def current_preset() -> str | None:
    """Name the preset that what B has of its own amounts to; None where it is none."""
    own = {name for name in OF_B if B.own(name) is not None}
    if A.get("source") != B.get("source"):
        return "source"
    own -= {"source"}
    return own.pop() if len(own) == 1 and own <= PRESETS.keys() else None


def apply_preset(preset: str) -> None:
    """Let A and B differ in one setting, and in no other."""
    for name in OF_B:
        B.put(name, None)
    if preset == "text":
        change_a_word()
    elif preset == "source":
        state.put("source", "toy")
        state.put("tokenizer", "bert")  # BERT's own pieces, so that the tokens are the same
        B.put("source", "pretrained")
        if A.get("model") not in MODELS:
            B.put("model", MODELS[0])
    elif preset == "model":
        state.put("source", "pretrained")
        B.put("model", next((name for name in MODELS if name != A.get("model")), None))
    elif preset in ("head", "layer"):
        if preset == "layer":
            state.put("source", "pretrained")
        B.put(preset, 1 if A.get(preset) == 0 else 0)
    elif preset == "scale":
        B.put("scale", "sqrt_d" if A.get("scale") == "off" else "off")
    elif preset == "mask":
        B.put("mask", "none" if A.get("mask") == "causal" else "causal")


def change_a_word() -> None:
    """Put a text's other side beside it; where it belongs to no pair, take the first pair."""
    other = other_side(A.get("text"))
    if other is None:
        state.put("text", MINIMAL_PAIRS[0].a)
        other = MINIMAL_PAIRS[0].b
    B.put("text", other)


def arrive() -> None:
    """Where a link says nothing of B, and not that A and B are meant to be the same, choose something to compare."""
    if state.get("compare") or any(B.own(name) is not None for name in OF_B):
        return
    other = other_side(A.get("text"))
    if other is not None:
        B.put("text", other)
    elif A.get("source") == "toy" and toy_heads() == 1:
        B.put("mask", "none" if A.get("mask") == "causal" else "causal")
    else:
        apply_preset("head")


def leave() -> list[str]:
    """Note whether B is like A, so that a link to two equal panes opens just that; return the keys that links need."""
    same = all(B.own(name) is None for name in OF_B)
    # "own" is a word for this session alone: it keeps `arrive` from choosing once the user has.
    state.put("compare", "same" if same else "own")
    return ["compare"] if same else [B.key(name) for name in OF_B if B.own(name) is not None]
