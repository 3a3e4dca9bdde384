"""Feed-forward: two linear maps with an activation between them, for each token alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnviz.formatting import number
from attnviz.formulas.tree import Box, Call, Expression, Indexed, Name, Product, Relation, Sum, Symbol
from attnviz.marked import Marked, marked, named
from attnviz.steps.picture import Operation, Picture, panel, picture, product_picture, share
from attnviz.steps.picture import Product as Made
from attnviz.steps.step import Step
from attnviz.steps.transformer import activations
from attnviz.steps.transformer.stream import TITLES, has, lengths, part_of, read_by_feed_forward, row
from attnviz.trace.matrices import matrix

if TYPE_CHECKING:
    from attnviz.trace.walk import Walk

_UNKNOWN = "# the feed-forward of this family is not known; {} is as the model computes it"


def _mapped(walk: Walk, x: str, number_of_map: str) -> Expression:
    index = Symbol(number_of_map)
    product = Product((Symbol(x), Indexed(Symbol("W"), index)))
    return Sum((product, Indexed(Symbol("b"), index))) if has(walk, f"b_{number_of_map}") else product


def _hidden_formula(walk: Walk) -> Expression:
    if not has(walk, "W_1"):
        return Relation("=", (Symbol("H"), Box(Call(Name("hidden"), Symbol("x")))))
    return activations.formula(Symbol("H"), part_of(walk).activation, _mapped(walk, "x", "1"))


def _output_formula(walk: Walk) -> Expression:
    mapped = _mapped(walk, "H", "2") if has(walk, "W_2") else Call(Name("map"), Symbol("H"))
    return Relation("=", (Name("feed-forward"), Box(mapped)))


def _hidden_notice(walk: Walk) -> str:
    activation = part_of(walk).activation
    return marked(
        "Each column is a neuron: it compares a token's row with its column of [W₁](matrix=W_1). "
        + ("" if activation is None else activations.NOTICES[activation])
        if has(walk, "W_1")
        else "Each column is a neuron that looks at one token's row at a time. How this family computes it, such as "
        "with a gate, is not shown."
    )


def _hidden_code(walk: Walk) -> str:
    activation = part_of(walk).activation
    if activation is None or not has(walk, "W_1"):
        return _UNKNOWN.format("feed_forward_hidden")
    bias = " + b_1" if has(walk, "b_1") else ""
    return (
        f"feed_forward_inner = {read_by_feed_forward(walk)} @ W_1{bias}\n"
        f"feed_forward_hidden = {activations.code(activation, 'feed_forward_inner')}"
    )


def _hidden_picture(walk: Walk) -> Picture:
    hidden = panel("feed_forward_hidden", TITLES["feed_forward_hidden"], bar=True)
    if not has(walk, "W_1"):
        return picture(((hidden,),), (1,))
    source, activation = read_by_feed_forward(walk), part_of(walk).activation
    width = matrix(walk, "W_1").shape[0]
    inner = panel("feed_forward_inner", "x · W₁ + b₁" if has(walk, "b_1") else "x · W₁")
    products = {"feed_forward_inner": Made(source, "W_1", "b_1" if has(walk, "b_1") else None)}
    made = Operation("activation", ("feed_forward_inner",), name=activation)
    grid = ((None, panel("W_1", "W₁"), None), (panel(source, f"x {TITLES[source]}"), inner, hidden))
    heights = share(width, matrix(walk, source).shape[0])
    return picture(
        grid,
        (0.6, 1, 1),
        heights,
        products,
        operations={} if activation is None else {"feed_forward_hidden": made},
    )


def _hidden_fact(walk: Walk) -> str:
    hidden = matrix(walk, "feed_forward_hidden")
    largest, neurons = int(hidden.argmax()), hidden.shape[1]
    at, neuron = divmod(largest, neurons)
    fires = 100 * float((hidden > 0).float().mean())
    return Marked.of(
        f"Here {number(fires, 0)} % of the cells are above 0. Neuron {neuron} fires most, with ",
        f"{number(float(hidden[at, neuron]))}, on ",
        named(row(walk, at), row=at, matrix="feed_forward_hidden"),
        ".",
    )


def _output_picture(walk: Walk) -> Picture:
    output = panel("feed_forward_output", TITLES["feed_forward_output"], bar=True)
    if not has(walk, "W_2"):
        return picture(((panel("feed_forward_hidden", TITLES["feed_forward_hidden"]), output),), (1, 1))
    biased = has(walk, "b_2")
    sizes = matrix(walk, "feed_forward_hidden").shape[0], *matrix(walk, "W_2").shape
    return product_picture(
        panel("feed_forward_hidden", TITLES["feed_forward_hidden"]),
        panel("W_2", TITLES["W_2"]),
        output,
        (sizes[0], sizes[1], sizes[2]),
        "hidden · W₂ + b₂" if biased else "hidden · W₂",
        "b_2" if biased else None,
    )


def _output_code(walk: Walk) -> str:
    if not has(walk, "W_2"):
        return _UNKNOWN.format("feed_forward_output")
    return f"feed_forward_output = feed_forward_hidden @ W_2{' + b_2' if has(walk, 'b_2') else ''}"


def _output_notice(walk: Walk) -> str:
    if not has(walk, "W_2"):
        return "The second map brings the hidden numbers back to the width of the stream."
    hidden, width = matrix(walk, "W_2").shape
    is_larger = hidden > 2 * width  # 2 · C · F weights, where an attention has 4 · C · C
    return marked(
        "Each neuron that fires adds its row of [W₂](matrix=W_2) to the token's new row"
        + (": most of a transformer's parameters are in W₁ and W₂." if is_larger else ".")
    )


def _output_fact(walk: Walk) -> str:
    found = lengths(walk, "feed_forward_output")
    low, high = int(found.argmin()), int(found.argmax())
    return Marked.of(
        "Here the longest row is ",
        named(row(walk, high), row=high, matrix="feed_forward_output"),
        f", with a length of {number(float(found[high]))}, and the shortest ",
        named(row(walk, low), row=low, matrix="feed_forward_output"),
        f", with {number(float(found[low]))}.",
    )


HIDDEN: Step[Walk] = Step(
    name="feed_forward_hidden",
    title="Hidden",
    formula=_hidden_formula,
    notice=_hidden_notice,
    code=_hidden_code,
    picture=_hidden_picture,
    fact=_hidden_fact,
    weights={"W_1": ("feature", "neuron"), "b_1": ("bias", "neuron")},
    matrices={"feed_forward_inner": ("query", "neuron"), "feed_forward_hidden": ("query", "neuron")},
    is_of_head=False,
)

OUTPUT: Step[Walk] = Step(
    name="feed_forward_output",
    title="Feed-forward",
    formula=_output_formula,
    notice=_output_notice,
    code=_output_code,
    picture=_output_picture,
    fact=_output_fact,
    weights={"W_2": ("neuron", "feature"), "b_2": ("bias", "feature")},
    matrices={"feed_forward_output": ("query", "feature")},
    is_of_head=False,
)
