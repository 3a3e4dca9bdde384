"""Two heads side by side, as the component Compare reads them, in the app and in a web page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.annotated_text import AnnotatedText
from attnviz.compare import explain
from attnviz.compare.alignment import GAP, Alignment
from attnviz.compare.matrices import (
    Comparison,
    align_tokens,
    compare,
    encode,
    joined_labels,
    mask_reasons,
    may_hide,
    measure_distance,
)
from attnviz.figures.colour_limit import colour_limit, darkened_limit, end_text
from attnviz.figures.style import matrix_text
from attnviz.formatting import power_of_ten
from attnviz.sources.compared import Choice, differs
from attnviz.steps import WALK
from attnviz.steps.picture import darkens
from attnviz.trace.walk import Walk
from attnviz.trained.shipped import title as title_of_model

LONGEST_TITLE = 30
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the two heads in the picture."""

    name: str
    """a or b, the name of its panel"""
    choice: Choice
    head: Walk
    rows: tuple[int, ...]
    """(P,): the query in each aligned row, or GAP"""
    columns: tuple[int, ...]
    """(R,): the key in each aligned column, or GAP"""

    def own_labels(self) -> dict[str, list[str | None]]:
        """Return this side's own label in each aligned row and column; None in a gap."""
        return {
            "query": _placed(self.head.query_tokens.labels, self.rows),
            "key": _placed(self.head.key_tokens.labels, self.columns),
        }


@dataclass(frozen=True, slots=True, eq=False)
class HeadComparison:
    """Two heads, and the comparison of one quantity."""

    choices: tuple[Choice, Choice]
    heads: tuple[Walk, Walk]
    comparison: Comparison

    @property
    def labels(self) -> dict[str, list[str]]:
        """The labels of the aligned rows, "query", and columns, "key"."""
        left, right = self.heads
        return {
            "query": joined_labels(self.comparison.queries, left.query_tokens.labels, right.query_tokens.labels),
            "key": joined_labels(self.comparison.keys, left.key_tokens.labels, right.key_tokens.labels),
        }

    @property
    def sides(self) -> tuple[Side, Side]:
        """A and B in the picture."""
        queries, keys = self.comparison.queries, self.comparison.keys
        return (
            Side("a", self.choices[0], self.heads[0], queries.first, keys.first),
            Side("b", self.choices[1], self.heads[1], queries.second, keys.second),
        )

    @property
    def titles(self) -> tuple[str, str]:
        """The titles of A and B, which state their difference."""
        a, b = self.sides
        return title(a, b, self.comparison.keys), title(b, a, self.comparison.keys)

    def matrices(self) -> dict[str, Floats]:
        """Return a, b and their difference, (P, R), and the divergence of their rows, (P, 1), if there is one."""
        both = self.comparison
        matrices = {"a": both.a, "b": both.b, "difference": both.difference}
        if both.divergence is not None:
            matrices["divergence"] = both.divergence.astype(np.float32)[:, None]
        return matrices

    def _hidden(self) -> str:
        """Return what hidden cells of A or B hold, such as "−∞ (masked)"; before the mask, why they hold nothing."""
        step = WALK[self.comparison.quantity]
        if step.is_distribution:
            return "0 (masked)"
        if not step.masked_value:
            return "outside of the window: no bias is shown"
        layers = [head.layer for head in self.heads if head.layer.mask.kind != "none"]
        values = (layer.mask.hidden_value(layer.scale, layer.cap) for layer in layers)
        return f"{' or '.join(dict.fromkeys(map(power_of_ten, values))) or '−∞'} (masked)"

    def _reasons(self) -> dict[str, dict[str, Any]]:
        """Return why cells of A and B are hidden, and that of their difference if it is the same for both."""
        both = self.comparison
        if both.queries.gaps or both.keys.gaps:
            return {}
        known = {side.name: mask_reasons(side.head, both.quantity) for side in self.sides}
        reasons = {name: asdict(why) for name, why in known.items() if why is not None}
        first, *others = known.values()
        return {**reasons, "difference": asdict(first)} if first is not None and others == [first] else reasons

    def payload(self, *, stretch: bool | None) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return what the component Compare reads: its header, all but the pin and the focus, and the matrices encoded.

        The header has `trace` (an id: equal ids have equal numbers), `panels` (name, title, role, low, high, scale of
        each matrix), `labels` (of the aligned rows, "query", and columns, "key"), `own` (for "a" and "b" and each
        axis, the label at each aligned position or null), `hidden` (what a hatched cell of an aligned token means, or
        null), `mask_reasons` (why cells of a matrix are masked, where that is known), `alt` (the text alternative) and
        `ranges` (of encoded matrices: see `compare.matrices.encode`).
        """
        hides = any(may_hide(head.steps, self.comparison.quantity) for head in self.heads)
        encoded = {name: encode(matrix) for name, matrix in self.matrices().items()}
        header = {
            "trace": self.digest(stretch=stretch),
            "quantity": self.comparison.quantity,
            "panels": self._panels(stretch=stretch),
            "labels": self.labels,
            "own": {side.name: side.own_labels() for side in self.sides},
            "hidden": self._hidden() if hides else None,
            "mask_reasons": self._reasons(),
            "alt": describe(self.comparison, self.titles),
            "ranges": {name: ends for name, (_, ends) in encoded.items()},
        }
        return header, {name: array for name, (array, _) in encoded.items()}

    def _panels(self, *, stretch: bool | None) -> list[dict[str, Any]]:
        """Return the panels: A and B share a colour domain; the difference has its own, centred at 0."""
        both, weights = self.comparison, WALK[self.comparison.quantity].is_distribution
        end = colour_limit(both.a, both.b)
        high = end if not weights else self.darkened_limit if darkens(stretch, self.keys) else 1.0
        shared = {"role": "attention", "low": 0.0 if weights else -end, "high": high,
                  "scale": "weights" if weights else "signed"}  # fmt: skip
        # What changes most is what a difference shows, so its colours end there.
        largest = float(np.abs(both.difference[np.isfinite(both.difference)]).max(initial=0.0)) or 1.0
        panels = [{"name": name, "title": text, **shared} for name, text in zip("ab", self.titles, strict=True)]
        panels.append({"name": "difference", "title": "A − B", "low": -largest, "high": largest, "scale": "signed"})
        if both.divergence is not None:
            shown = {"name": "divergence", "title": explain.DIVERGENCE_TITLE}
            panels.append({**shown, "low": 0.0, "high": 1.0, "scale": "weights"})
        return panels

    def digest(self, *, stretch: bool | None) -> str:
        """Return a digest of the picture without its pin."""
        description = repr((self.labels, self.titles, self.comparison.quantity, stretch))
        digest = blake2b(description.encode(), digest_size=12)
        for matrix in (self.comparison.a, self.comparison.b):
            digest.update(matrix.tobytes())
        return digest.hexdigest()

    def notice(self) -> AnnotatedText:
        """Return what to notice: how A and B differ, and how many rows and columns only one of them has."""
        labels = self.labels
        distance = measure_distance(self.comparison)
        sentence = explain.notice(self.comparison, distance, labels["query"], labels["key"], differs(*self.choices))
        return AnnotatedText.joined((sentence, explain.gap_note(self.comparison)))

    @property
    def darkened_limit(self) -> float:
        """The weight at which the colours of A and B end when they are darkened; 1 if darkening changes nothing."""
        weights = WALK[self.comparison.quantity].is_distribution
        return darkened_limit(self.comparison.a, self.comparison.b) if weights else 1.0

    @property
    def keys(self) -> int:
        """The number of columns of the picture."""
        return int(self.comparison.a.shape[1])

    def colours(self, *, stretch: bool | None) -> str:
        """Return a sentence on where the colours of weights end, if not at 1."""
        end = self.darkened_limit if darkens(stretch, self.keys) else 1
        return f"The colours of A and B end at {end_text(end)}, not 1." if end != 1 else ""

    def caveats(self) -> str:
        """Return notes on hypothetical scales and masks, and on untrained weights."""
        parts = []
        hypothetical = [choice.name for choice in self.choices if choice.is_what_if]
        if hypothetical:
            parts.append(
                f"{' and '.join(hypothetical)}: a what-if: the model's own Q and K with another scale or mask; "
                "the layers before are unchanged."
            )
        if self.choices[0].source is not self.choices[1].source:
            parts += [choice.source.caution(choice.get) for choice in self.choices]
        return " ".join(filter(None, parts))


def compared(choices: tuple[Choice, Choice], heads: tuple[Walk, Walk], quantity: str) -> HeadComparison:
    """Align two heads by their tokens and compare a quantity, one of `compare.matrices.QUANTITIES`."""
    left, right = heads
    queries = align_tokens(left.query_tokens, right.query_tokens)
    across = any(head.query_tokens is not head.key_tokens for head in heads)
    keys = align_tokens(left.key_tokens, right.key_tokens) if across else queries
    return HeadComparison(choices, heads, compare(left.steps, right.steps, quantity, queries, keys))


def title(side: Side, other: Side, keys: Alignment) -> str:
    """Return a side's title, which states the difference: "A · head 3", or "B · wide" if the texts differ."""
    differing = differs(side.choice, other.choice)
    parts = [_word(side.choice, name) for name in differing if name != "text"]
    if differing == ["text"]:
        new = [changed or of_other == GAP for changed, of_other in zip(keys.changed, other.columns, strict=True)]
        labels = side.own_labels()["key"]
        parts = [" ".join(label for label, is_new in zip(labels, new, strict=True) if label and is_new)]
    full_title = " · ".join([side.choice.name, *filter(None, parts)])
    return full_title if len(full_title) <= LONGEST_TITLE else f"{full_title[: LONGEST_TITLE - 1]}…"


def describe(compared: Comparison, names: Sequence[str]) -> str:
    """Return the alternative text of the picture."""
    matrices = zip((*names, "A − B"), (compared.a, compared.b, compared.difference), strict=True)
    return "; ".join(matrix_text(f"{name}: {compared.quantity}", values) for name, values in matrices)


def _word(choice: Choice, name: str) -> str:
    """Return the value of a setting in short form, for a title."""
    value = choice.get(name)
    if name in ("source", "model"):
        return title_of_model(choice.model) if choice.model else choice.source.key
    if name == "scale":
        names: Mapping[str, str] = {
            "sqrt_d": "its own scale" if choice.source.has_own_scale else "1/√D",
            "off": "no scale",
            "sqrt_c": "1/√C",
        }
        return names.get(value, f"scale {value}")
    if name == "mask":
        return "causal mask" if value == "causal" else "its own mask" if choice.source.has_own_scale else "no mask"
    return str(value) if name == "kind" else f"{name} {value}"


def _placed(labels: Sequence[str], places: Sequence[int]) -> list[str | None]:
    return [None if at == GAP else labels[at] for at in places]
