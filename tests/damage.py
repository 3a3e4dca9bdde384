"""Parts of documents that a reader must refuse, by what is wrong."""

from __future__ import annotations

from typing import Any

_NORM = {"kind": "norm", "eps": 1e-5, "over": "token"}
OPERATIONS: dict[str, dict[str, Any]] = {
    "of an unknown kind": {"kind": "toString"}, "of nothing": {"of": []}, "of what is not shown": {"of": ["masked"]},
    "on a matrix of another shape": {"of": ["query"]}, "of two matrices": {"of": ["weights", "weights"]},
    "with an eps of its own": {"eps": 0}, "with a weight of its own": {"weight": "b_query"},
    "over all": {"over": "all"}, "with a name": {"name": "relu"},
    "that is a norm without eps": {**_NORM, "eps": None}, "that is a norm of a negative eps": {**_NORM, "eps": -1},
    "that is a norm over nothing": {**_NORM, "over": None}, "that is a norm over a row": {**_NORM, "over": "row"},
    "that is a norm with a name": {**_NORM, "name": "relu"},
    "that is a norm with a weight that is not there": {**_NORM, "weight": "gamma_final_norm"},
    "that is a norm with a matrix as its bias": {**_NORM, "bias": "query"},
    "that is an activation without a name": {"kind": "activation"},
    "that is an unknown activation": {"kind": "activation", "name": "constructor"},
    "that is a sum with a bias": {"kind": "sum", "of": ["weights", "weights"], "bias": "b_query"},
}  # fmt: skip
"""Fields of operations that can't make the weights, by what is wrong"""


def marks() -> dict[str, tuple[Any, str]]:
    """Return facts with a mark that a reader must refuse, by what is wrong, with its sentence."""
    empty: dict[str, Any] = dict.fromkeys(("row", "column", "layer", "head"))
    good = {"from": 0, "to": 2, "matrix": "weights", "part": "", **empty}

    def text(*several: dict[str, Any], text: str = "a😀b") -> dict[str, Any]:
        return {"text": text, "marks": [{**good, **one} for one in several]}

    path = "header.steps[0].fact"
    no_text = f"{path} is not a text, plain or marked, or a list of these."
    nothing = "A mark in the document's texts names nothing."
    outside = f"{path} has marks that are not in its text, in order."
    not_there = f"{path} has a mark that names what the document does not have."
    return {
        "without an end": ({"text": "a", "marks": [{"from": 0, "row": 1}]}, no_text),
        "with HTML": (text({"html": "<b>"}), no_text),
        "at a half": (text({"from": 0.5}), no_text),
        "of a number": ({"text": 1, "marks": []}, no_text),
        "in a list of lists": ([[text({})]], no_text),
        "of a row that is a text": (text({"row": "it"}), no_text),
        "of an endless row": (text({"row": 2**60}), no_text),
        "without a target": (text({"matrix": ""}), nothing),
        "of an unknown part": (text({"part": "toString"}), nothing),
        "of hidden cells of a row": (text({"part": "hidden", "row": 0}), nothing),
        "of a layer alone": (text({"layer": 0}), nothing),
        "for another head": ([text({}), text({})], f"{path} has 2 texts for 1 heads."),
        "beyond the text": (text({"to": 4}), outside),  # it has three characters, and four UTF-16 units
        "before the text": (text({"from": -1}), outside),
        "of no words": (text({"from": 2}), outside),
        "over another": (text({}, {"from": 1, "to": 3}), outside),
        "of a row beyond the text": (text({"row": 2}), not_there),
        "of column -1": (text({"column": -1}), not_there),
        "of an unknown matrix": (text({"matrix": "__proto__"}), not_there),
        "of another layer": (text({"layer": 1, "head": 0}), not_there),
        "of another head": (text({"head": 1}), not_there),
        "too many": (text(*({"from": n, "to": n + 1} for n in range(65)), text="a" * 65),
                     f"{path} has 65 marks; a text has at most 64."),
    }  # fmt: skip
