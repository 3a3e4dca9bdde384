"""What a person sees of what a browser component is sent.

The names in a payload are internal. Here, and nowhere else among these files, they are read, so that a payload may
be built otherwise while the recordings stay as they are: they hold texts, and arrays under the names given here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Header = Mapping[str, Any]
Arrays = Mapping[str, np.ndarray]


@dataclass
class Seen:
    """The texts of a view, and its arrays by name; float arrays as they are, others as shares of their range."""

    texts: list[str] = field(default_factory=list)
    arrays: dict[str, list[np.ndarray]] = field(default_factory=lambda: defaultdict(list))


def seen_in(component: str, header: Header, arrays: Arrays) -> Seen:
    """Return what is seen of one payload."""
    seen = Seen()
    COMPONENTS[component](header, arrays, seen)
    seen.texts = [text for text in seen.texts if text]
    return seen


def _keys(header: Header, _arrays: Arrays, seen: Seen) -> None:
    seen.texts += [f"key {' '.join(line['shown'])}: {line['says']}" for line in header["lines"]]
    seen.texts += ["lecture mode"] * header["lecture"]


def _steps(header: Header, arrays: Arrays, seen: Seen) -> None:
    steps, chosen = dict(header["steps"]), header["chosen"]
    seen.texts += [f"steps: {_joined(steps.values())}", f"step: {steps[chosen['step']]}", header["place"]]
    drawings = dict(header["drawings"])
    seen.texts += [f"drawn as: {drawings.get(chosen['drawing'])} of {_joined(drawings.values())}"]
    seen.texts += [f"heads of {header['layer_label']}: {header['heads']}, layers: {header['layers']}"]
    seen.texts += [f"{name} {chosen[name]}" for name in ("layer", "head") if name in chosen]
    seen.texts += [f"switch {label}: {chosen[name]} ({about})" for name, label, about in header["switches"]]
    for name, array in arrays.items():
        seen.arrays[f"small pictures of heads: {name}"].append(array / np.float32(255 if name == "weights" else 1))


def _picture(header: Header, arrays: Arrays, seen: Seen) -> None:
    seen.texts += [header["alt"], header["between"], *_labels(header["labels"])]
    seen.texts += [f"step {header['order']}", "a row is covered" if header.get("predict") else ""]
    for number, panel in enumerate(header["panels"]):
        seen.texts.append(_panel(panel))
        seen.arrays[f"picture: {panel['title']}"].append(arrays[str(number)])


def _panel(panel: Header) -> str:
    axes = f", rows {panel['rows']}, columns {panel['cols']}" if "rows" in panel else ""
    ticks = f", ticks {_joined(panel['ticks'])}" if panel.get("ticks") else ""
    colours = f"{panel['scale']} colours from {panel['low']:.3f} to {panel['high']:.3f}"
    return f"panel {panel['title']}{axes}{ticks}: {colours}"


def _chart(header: Header, arrays: Arrays, seen: Seen) -> None:
    seen.texts += [header["alt"], *_writing(header["layout"])]
    for number, trace in enumerate(header["data"]):
        if str(number) in arrays:
            seen.arrays[f"chart: {trace['name']}"].append(arrays[str(number)])
        seen.texts.append(f"chart {trace.get('name')}: {trace.get('hovertemplate')} {trace.get('texttemplate')}")


def _writing(layout: object) -> Iterator[str]:
    """Yield what a Plotly layout writes: titles, notes, and the labels at the ticks."""
    if isinstance(layout, Mapping):
        for name, value in layout.items():
            if name in ("text", "title") and isinstance(value, str):
                yield value
            elif name == "ticktext":
                yield f"ticks: {_joined(value)}"
            else:
                yield from _writing(value)
    elif isinstance(layout, list):
        for value in layout:
            yield from _writing(value)


def _arithmetic(header: Header, arrays: Arrays, seen: Seen) -> None:
    seen.texts += [f"scale {header['scale']:.5f} = {header['scale_label']}", f"mask: {header['mask']}", *_pin(header)]
    seen.texts += _labels({"query": header["query_labels"], "key": header["key_labels"]})
    for name, array in arrays.items():
        seen.arrays[f"arithmetic: {name}"].append(array)


def _grid(header: Header, arrays: Arrays, seen: Seen) -> None:
    view = header["view"]
    seen.texts += [f"{header['model']}, {header['kind']}: {header['layers']} layers of {header['heads']} heads"]
    seen.texts += [f"{name}: {value}" for name, value in view.items() if name not in ("q", "k")]
    seen.texts += [*_pin(view), *_labels({"query": header["query_labels"], "key": header["key_labels"]})]
    seen.texts += [f"groups: {_joined(header['query_groups'])} by {_joined(header['key_groups'])}"]
    seen.texts += [f"{name}: {header[name]}" for name in ("causal", "rollout", "norms")]
    for layer, heads in enumerate(header["labels"]):
        called = (f"{head} {_joined(labels)}" for head, labels in enumerate(heads) if labels)
        seen.texts.append(f"heads of layer {layer} are called: {'; '.join(called)}")
    for one in header["measures"]:
        seen.texts.append(f"measure {one['title']} {one['unit']}: from {one['low']:.3f} to {one['high']:.3f}")
    sent = header["sent"]
    seen.texts.append(f"weights of {len(sent)} heads, {sent[0]} to {sent[-1]}")
    full = {"weights": 65535, "overview": 255}
    for name, array in arrays.items():
        seen.arrays[f"grid: {name}"].append(array / np.float32(full.get(name, 1)))


def _comparison(header: Header, arrays: Arrays, seen: Seen) -> None:
    seen.texts += [header["quantity"], header["alt"], header["hidden"] or "", *_pin(header), *_labels(header["labels"])]
    for side, labels in header["own"].items():
        seen.texts += [f"{side.upper()}: {labelled}" for labelled in _labels(labels)]
    for panel in header["panels"]:
        seen.texts.append(_panel(panel))
        array, bounds = arrays[panel["name"]], header["ranges"][panel["name"]]
        if bounds is not None:  # 16 bits a cell; the last level is for a cell without a number
            levels = np.where(array == 65535, np.nan, array / 65534)
            array = (bounds[0] + levels * (bounds[1] - bounds[0])).astype(np.float32)
        seen.arrays[f"comparison: {panel['title']}"].append(array)


def _pin(header: Header) -> list[str]:
    pinned = (("row", header["q"]), ("column", header["k"]))
    return [f"pinned {axis}: {place}" for axis, place in pinned if place is not None]


def _labels(labels: Mapping[str, Sequence[str | None]]) -> list[str]:
    joined = {axis: _joined(tokens) for axis, tokens in labels.items()}
    if len(set(joined.values())) == 1:
        return [f"tokens: {next(iter(joined.values()))}"]
    return [f"{axis} tokens: {tokens}" for axis, tokens in joined.items()]


def _joined(several: Iterable[object]) -> str:
    return " · ".join(map(str, several))


COMPONENTS: dict[str, Callable[[Header, Arrays, Seen], None]] = {
    "lecture": _keys,
    "stepper": _steps,
    "stage": _picture,
    "chart": _chart,
    "inspector": _arithmetic,
    "explorer": _grid,
    "compare": _comparison,
}
"""The readers of payloads, by the component's name"""
