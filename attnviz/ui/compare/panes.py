"""The two panes of Compare: A shows the view; B overrides some settings and inherits the others from A.

When a trained model is chosen for a pane, it opens with the model's own example, as on every page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attnviz.compare.minimal_pairs import MINIMAL_PAIRS, counterpart
from attnviz.links.pages import PAGES
from attnviz.pretrained.names import is_on_this_machine
from attnviz.sources import PRETRAINED, SOURCES, TOY
from attnviz.sources.compared import B_KEYS, default_of_b, of_b, overridden
from attnviz.sources.models import PRETRAINED_NAMES
from attnviz.trained.shipped import opening
from attnviz.ui import state, trained_models
from attnviz.ui.sources import RESOURCES
from attnviz.ui.trained_models import is_offered
from attnviz.ui.trained_models import open_chosen as open_in_view

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
_PRESET = "preset"
"""The reason under which settings of A are replaced"""


@dataclass(frozen=True, slots=True)
class Pane:
    """One of the two panes."""

    name: str
    """A or B, as shown"""
    prefix: str
    """The prefix of its keys in a link"""

    def key(self, name: str) -> str:
        """Return the link key of this pane's own value."""
        return f"{self.prefix}{name}"

    def own(self, name: str) -> Any:
        """Return this pane's own value of a setting, or None if B inherits it."""
        value = state.get(self.key(name))
        return None if isinstance(value, str) and not value.strip() else value

    def get(self, name: str) -> Any:
        """Return the value of a setting in this pane."""
        return of_b(state.get)(name) if self.prefix else state.get(name)

    def put(self, name: str, value: Any) -> None:
        """Set this pane's own value; with None, B inherits A's value again."""
        state.put(self.key(name), "" if value is None and name == "text" else value)


A, B = Pane("A", ""), Pane("B", "b_")


@dataclass(slots=True)
class CompareRecord:
    """The session state of Compare."""

    asked: str | None = None
    """ "head" or "layer" if a preset has requested the most different one for the next run"""
    sent: str = ""
    """The digest of the picture sent last"""
    chosen: str = ""
    """The digest of the picture in which the user has chosen something. If both are equal and the picture has not
    changed, the payload contains only the choices."""


def current_preset() -> str | None:
    """Return the preset that matches B's own settings, or None."""
    overrides = set(overridden(state.get))
    if A.get("source") != B.get("source"):
        return "source"
    overrides -= {"source"}
    return overrides.pop() if len(overrides) == 1 and overrides <= PRESETS.keys() else None


def apply_preset(preset: str) -> None:
    """Make A and B differ in exactly one setting. Changes of an earlier preset to A are undone."""
    state.give_back(_PRESET)
    for name in B_KEYS:
        B.put(name, None)
    of_a, of_b = _settings_of(preset)
    state.replace(_PRESET, of_a)
    for name, value in of_b.items():
        B.put(name, value)


def _settings_of(preset: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings that a preset changes in A and in B."""
    if preset == "text":
        text, other = _pair_of_model(A.get("text"), PAGES["compare"].trained_model(A.get))
        return {"text": text}, {"text": other}
    if preset == "source":
        model = {} if A.get("model") in PRETRAINED_NAMES.offered() else {"model": PRETRAINED_NAMES.offered()[0]}
        # BERT's pieces, so that both have the same tokens
        return {"source": TOY.key, "tokenizer": "bert"}, {"source": PRETRAINED.key, **model}
    if preset == "model":
        return {"source": PRETRAINED.key}, {"model": second_model()}
    if preset in ("head", "layer"):
        has_layers = preset == "head" or SOURCES[A.get("source")].has_layers
        return {} if has_layers else {"source": PRETRAINED.key}, {preset: 1 if A.get(preset) == 0 else 0}
    if preset == "scale":
        return {}, {"scale": "sqrt_d" if A.get("scale") == "off" else "off"}
    return {}, {"mask": "none" if A.get("mask") == "causal" else "causal"}


def second_model() -> str | None:
    """Return an offered model on this machine other than A's, or None."""
    return next(
        (name for name in PRETRAINED_NAMES.offered() if name != A.get("model") and is_on_this_machine(name)), None
    )


def _pair_of_model(text: str, model: str | None) -> tuple[str, str]:
    """Return two texts to compare: two examples of a trained model, else a minimal pair, the text's or the first."""
    examples = trained_models.examples_of(model)
    if len(examples) < 2:
        other = counterpart(text)
        return (MINIMAL_PAIRS[0].a, MINIMAL_PAIRS[0].b) if other is None else (text, other)
    text = text if text in examples else examples[0]
    return text, next(example for example in examples if example != text)


def choose_default() -> None:
    """Choose a comparison, unless the link sets B or says that A and B are the same."""
    for name, value in default_of_b(state.get, RESOURCES).items():
        state.put(name, value)


def link_keys() -> list[str]:
    """Set `compare`, so that a link to two equal panes opens them equal; return the keys of A, and those set in B."""
    same = not overridden(state.get)
    # "own" exists only in the session: it keeps `choose_default` from overriding the user's choice.
    state.put("compare", "same" if same else "own")
    inherited = {B.key(name) for name in B_KEYS if B.own(name) is None} | (set() if same else {"compare"})
    return [name for name in PAGES["compare"].keys if name not in inherited]


_TRAINED_IN_B = "trained in B"
"""The reason under which settings of B are replaced"""


def trained_model(pane: Pane) -> str | None:
    """Return the name of a pane's trained model; None if its model comes from another source."""
    return PAGES["compare"].trained_model(pane.get)


def open_chosen(pane: Pane, before: str | None) -> None:
    """Open the model just chosen for a pane, from a callback; `before` is the trained model that the pane had."""
    if pane is A:
        _open_in_a(before)
        return
    after = trained_model(B)
    if after == before:
        return
    state.give_back(_TRAINED_IN_B)
    is_typed = not is_offered(B.get("text"), before)
    if after is not None and after != trained_model(A) and not is_typed:
        values = {name: value for name, value in opening(after).items() if name in B_KEYS}
        state.replace(_TRAINED_IN_B, {B.key(name): value for name, value in values.items()})


def _open_in_a(before: str | None) -> None:
    """Open A's model. If B's own text is an example of A's previous model, B gets another example of the new one."""
    text_of_b = B.own("text")
    is_offered_to_b = text_of_b is not None and is_offered(text_of_b, before)
    open_in_view(before, trained_model(A))
    if not is_offered_to_b or trained_model(B) != trained_model(A):
        return
    _, other = _pair_of_model(A.get("text"), trained_model(A))
    B.put("text", other if other != A.get("text") else None)
    if not overridden(state.get):
        state.put("compare", "")  # so that the page chooses a comparison
