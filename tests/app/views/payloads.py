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

from attnviz.document import Axis
from attnviz.figures.compose import compose
from attnviz.figures.panels import Layout, Panel
from attnviz.figures.steps import describe
from tests.app.heads import shared, weights
from tests.app.training import generated, moment
from tests.app.walking import document_of, of_head, step_of
from tests.pictures import board_picture_of

MOST_BYTES = 2_000_000
"""Of the weights of a large text that are recorded"""

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


def _walk(header: Header, _arrays: Arrays, seen: Seen) -> None:
    """Add what the browser shows of the walk's document, which it requests."""
    document = document_of(header)
    about, step = document.header, step_of(header, document)
    chosen = {"layer": 0, "head": 0, "predict": False, "stretch": "0", **header["values"]}
    head, drawings = chosen["head"], dict(header["drawings"])
    seen.texts += [f"steps: {_joined(one.title for one in about.steps)}", f"step: {step.title}"]
    seen.texts += [about.place] if about.place else []
    if about.kind != "averages":
        layer = f"layer {chosen['layer']}" if header["layers"] else header["only_layer"]
        seen.texts += [f"heads of {layer}: {about.heads_in_layer}, layers: {len(header['layers'])}"]
        seen.texts += [f"{name} {chosen[name]}" for name in ("layer", "head")]
    texts = [of_head(one, header, document) for one in (step.formula, step.notice, step.fact, step.advice, step.code)]
    formula, notice, fact, advice, code = texts
    facts = [] if chosen["predict"] and step.can_be_covered else [fact, "" if chosen["stretch"] == "1" else advice]
    seen.texts += [f"formula: {formula}", " ".join(filter(None, [notice, *facts])), f"code: {code}", step.missing]
    if step.picture is None and step.name == about.steps[0].name:
        _tokens(about.query, seen)
        return
    drawn, arrays = board_picture_of(document, step.name, head, stretch=chosen["stretch"])
    order = [one.name for one in about.steps].index(step.name)
    about_picture = {"alt": describe(_laid_out(drawn, arrays)), "order": order, **drawn}
    seen.texts += [f"drawn as: {drawings[chosen['drawing']]} of {_joined(drawings.values())}"]
    if not header["lecture"]:
        for name, array_name, full in (("weights", "thumbnails", 255), ("hidden", "hidden_thumbnail", 1)):
            if array_name in document.arrays:
                array = document.arrays[array_name] / np.float32(full)
                seen.arrays[f"small pictures of heads: {name}"].append(array)
    if chosen["drawing"] == "chart":
        _chart(about_picture, arrays, seen)
    else:
        _picture({**about_picture, "predict": chosen["predict"] and step.can_be_covered}, arrays, seen)
    seen.texts += [f"scale {about.scale:.5f} = {about.scale_label}", f"mask: {about.mask}", *_pin(chosen)]
    for name in ("query", "key", "value"):
        seen.arrays[f"arithmetic: {name}"].append(document.arrays[f"{name}/{head}"])


def _tokens(axis: Axis, seen: Seen) -> None:
    columns = zip(axis.labels, axis.ids, axis.covers, axis.places, axis.unknown, strict=True)
    for number, (label, own, covers, place, unknown) in enumerate(columns):
        seen.texts.append(f"token {number}: {label}, id {own}, {covers!r} at {place or '–'}{' unknown' * unknown}")


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
    figure = compose(_laid_out(header, arrays), header["labels"])  # as the browser makes it; see test_chart.py there
    seen.texts += [header["alt"], *_writing(figure["layout"])]
    for trace in figure["data"]:
        seen.arrays[f"chart: {trace['name']}"].append(trace["z"])
        seen.texts.append(f"chart {trace.get('name')}: {trace.get('hovertemplate')} {trace.get('texttemplate')}")


def _laid_out(header: Header, arrays: Arrays) -> Layout:
    panels = [
        Panel(
            one["name"], one["title"], arrays[str(number)], one["rows"], one["cols"], one["high"], one["scale"],
            {int(column): text for column, text in one.get("ticks", {}).items()},
            (one["parts"]["width"], one["parts"]["followed"]) if "parts" in one else None,
            one["bar"], one["numbered"],
        )
        for number, one in enumerate(header["panels"])
    ]  # fmt: skip
    grid = [[None if number is None else panels[number] for number in row] for row in header["grid"]]
    return Layout(grid, header["widths"], header["heights"], header["products"], header["between"])


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


def _grid(header: Header, arrays: Arrays, seen: Seen) -> None:
    view = header["view"]
    seen.texts += [f"{header['model']}, {header['kind']}: {len(header['layers'])} layers of {header['heads']} heads"]
    seen.texts += [f"{name}: {value}" for name, value in view.items() if name not in ("q", "k")]
    seen.texts += [*_pin(view), *_labels({"query": header["query_labels"], "key": header["key_labels"]})]
    seen.texts += [f"groups: {_joined(header['query_groups'])} by {_joined(header['key_groups'])}"]
    seen.texts += [f"{name}: {header[name]}" for name in ("causal", "rollout", "norms")]
    for layer, heads in zip(header["layers"], header["labels"], strict=True):
        called = (f"{head} {_joined(labels)}" for head, labels in enumerate(heads) if labels)
        seen.texts.append(f"heads of layer {layer} are called: {'; '.join(called)}")
    for one in header["measures"]:
        seen.texts.append(f"measure {one['title']} {one['unit']}: from {one['low']:.3f} to {one['high']:.3f}")
    looked_at = _looked_at(header)
    seen.texts.append(f"weights of {len(looked_at)} heads, {looked_at[0]} to {looked_at[-1]}")
    codes = np.stack([weights(header, *head) for head in looked_at])
    full = {"weights": 65535, "overview": 255}
    for name, array in {**arrays, **shared(header), "weights": codes}.items():
        seen.arrays[f"grid: {name}"].append(array / np.float32(full.get(name, 1)))


def _looked_at(header: Header) -> list[list[int]]:
    """Return the heads whose weights are recorded: all of a small text; of a large one the chosen ones first."""
    chosen, own = header["view"]["chosen"], header["view"]["layer"]
    every = [[layer, head] for layer in header["layers"] for head in range(header["heads"])]
    if len(header["files"]["weights"]) == 1:
        return [*every, *(head for head in chosen if head[1] == -1)]
    beside = [head for head in every if head[0] == own and head not in chosen]
    return [*chosen, *beside][: max(len(chosen), MOST_BYTES // (2 * header["rows"] * header["cols"]))]


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


def _matrix(header: Header, arrays: Arrays, seen: Seen) -> None:
    seen.texts.append(header["alt"])
    for panel in header["panels"]:
        seen.texts.append(_panel(panel))
        seen.arrays[f"matrix: {panel['title']}"].append(arrays[panel["name"]])
    seen.texts += [f"{kind}: {' | '.join(names)}" for kind, names in header["labels"].items()]
    seen.texts += [
        header["hint"],
        *(header["click_effects"] or ()),
        *(header["click_results"] or ()),
    ]  # each cell is said in the words of its number
    seen.texts += [f"{name}: {header[name]}" for name in ("row", "chosen") if header[name] is not None]


def _training(header: Header, arrays: Arrays, seen: Seen) -> None:
    """Add what is said of trainings, and what the model does at the newest snapshot of each."""
    task, chosen = header["task"], header["values"]
    seen.texts += [task[name] for name in ("title", "explanation", "expected", "control")]
    seen.texts += [f"pattern in the {one['kind']}: {one['title']}" for one in task["patterns"]]
    seen.texts += [
        f"answers: {_joined(task['answers'])}",
        f"read: {_joined(task['read'])}",
        f"first: {task['first']}",
        *_pin(chosen["pin"]),
    ]
    seen.texts += [f"{name}: {chosen[name]}" for name in ("watch", "snapshot", "slow")]
    for run in header["runs"]:
        seen.texts += [f"{run['title']}: {run['state']} {run['message']}", f"step {run['step']} of {run['steps']}"]
        seen.texts += [f"snapshots: {_joined(run['snapshots'])}"]
        for one in run["kinds"]:
            seen.texts.append(f"{one['kind']}: {one['layers']} layers of {one['heads']}, causal {one['causal']}")
            seen.texts += _labels({"query": one["query"], "key": one["key"]})
        for step in run["snapshots"][-1:]:
            full = {"answer": 1, "probability": 1}
            for name, array in moment(run["digest"], step).items():
                seen.arrays[f"snapshot: {name}"].append(array / np.float32(full.get(name, 65535)))
    for name, array in arrays.items():
        seen.arrays[f"curve: {name}"].append(array)


def _generation(header: Header, _arrays: Arrays, seen: Seen) -> None:
    """Add the text that is generated, and the numbers of its draws."""
    model, chosen = header["model"], header["values"]
    arrays = generated(header["digest"])
    texts = {"prompt": header["prompt"], "text": arrays["ids"], "truth": header["truth"] or ()}
    seen.texts += [
        f"{name}: {_joined(model['characters'][int(one)] for one in ids)}" for name, ids in texts.items() if len(ids)
    ]
    seen.texts += [f"{name}: {model[name]}" for name in ("title", "layers", "heads", "block", "has_lens", "has_cache")]
    seen.texts += [f"{name}: {header[name]}" for name in ("count", "temperature", "top_k", "top_p", "cached")]
    seen.texts += [f"{name}: {value}" for name, value in chosen.items()]
    for name, array in arrays.items():
        if name != "seconds":
            seen.arrays[f"draws: {name}"].append(array / np.float32(65535 if name == "weights" else 1))


def _model_series(header: Header, arrays: Arrays, seen: Seen) -> None:
    """Add what is said of a text and of each stage, and what the chosen one does at the newest snapshot."""
    text, chosen = header["text"], header["values"]
    seen.texts += [f"{name}: {text[name]}" for name in ("is_built_in", "size", "train", "floor", "first", "blocks")]
    seen.texts += [f"characters: {_joined(text['labels'])}", *_pin(chosen["pin"])]
    seen.texts += [f"{name}: {chosen[name]}" for name in ("rung", "text_view", "watch", "snapshot")]
    if text["cut"] is not None:
        lines = text["cut"]["lines"] or {}
        seen.texts += [f"cut: {text['cut']['name']}", *(f"{name}: {value}" for name, value in lines.items())]
        seen.texts += [f"drawn: {stage['drawn']}" for stage in header["stages"] if stage["drawn"]]
    for stage in header["stages"]:
        run = stage["run"]
        names = ("title", "adds", "reported", "parameters", "expected", "block", "rate", "batch", "samples")
        seen.texts += [f"{name}: {stage[name]}" for name in names]
        seen.texts += [f"{run['state']} {run['message']}, step {run['step']} of {run['steps']}"]
        for one in run["kinds"]:
            seen.texts += [f"{one['layers']} layers of {one['heads']}", *_labels({"query": one["query"]})]
    for name, array in arrays.items():
        seen.arrays[f"curve: {name}"].append(array)


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
    "model_series": _model_series,
    "lecture": _keys,
    "walk": _walk,
    "explorer": _grid,
    "compare": _comparison,
    "matrix": _matrix,
    "training": _training,
    "generation": _generation,
}
"""The readers of payloads, by the component's name"""
