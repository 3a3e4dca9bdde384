"""The steps around an attention in a block: residual sums, norms and the feed-forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from attnviz.annotated_text import AnnotatedText, annotated, named
from attnviz.formatting import number, percent
from attnviz.formulas.tree import (
    Box,
    Call,
    Expression,
    Fraction,
    Indexed,
    Name,
    Negative,
    Power,
    Product,
    Relation,
    Root,
    Row,
    Sum,
    Symbol,
)
from attnviz.steps.picture import MatrixProduct, Operation, PanelSpec, Picture, panel, picture, product_picture, share
from attnviz.steps.step import Step, row_words
from attnviz.trace.matrices import matrix
from attnviz.trace.model import Activation

if TYPE_CHECKING:
    from torch import Tensor

    from attnviz.trace.context import AttentionContext
    from attnviz.trace.walk import Walk


TITLES = {
    "embeddings": "X input", "output": "attention output", "input_norm": "norm of X",
    "attention_residual": "X + output", "attention_norm": "its norm", "feed_forward_norm": "its norm",
    "feed_forward_hidden": "hidden", "feed_forward_output": "feed-forward",
    "feed_forward_residual": "sum", "block_output": "block output", "final_norm": "final norm",
    "transform_inner": "x · W_T", "transform_hidden": "dense", "transform_norm": "its norm",
    "W_transform": "W_T", "W_vocabulary": "W vocabulary", "logits_and_rest": "logits",
    "W_1": "W₁", "W_2": "W₂", "logits": "logits", "probabilities": "probabilities",
}  # fmt: skip
"""The titles of matrices in pictures, by name"""


def part_of(walk: Walk) -> AttentionContext:
    """Return the part of a block that a walk goes through.

    Raises:
        TypeError: the walk goes through no block, so it has none of these steps.
    """
    if walk.block is None:
        raise TypeError("this walk has no steps around its attention")
    return walk.block


def has(walk: Walk, name: str) -> bool:
    """Return whether a walk has this matrix of a block."""
    return walk.block is not None and name in walk.block.matrices


def first_of(walk: Walk, *names: str) -> str:
    """Return the first of these names that the walk's part of a block has; the last name if it has none of them."""
    return next((name for name in names if has(walk, name)), names[-1])


def read_by_feed_forward(walk: Walk) -> str:
    """Return the name of the feed-forward's input."""
    return first_of(walk, "feed_forward_norm", "attention_norm", "attention_residual")


def before_feed_forward(walk: Walk) -> str:
    """Return the name of the stream to which the feed-forward is added."""
    return first_of(walk, "attention_norm", "attention_residual")


def end_of_block(walk: Walk) -> str:
    """Return the name of the block's output."""
    return first_of(walk, "block_output", "feed_forward_residual", "attention_residual")


def end_of_stack(walk: Walk) -> str:
    """Return the name of the last hidden state."""
    return first_of(walk, "final_norm", "block_output", "feed_forward_residual", "attention_residual")


def read_by_vocabulary(walk: Walk) -> str:
    """Return the name of the vocabulary map's input: the last hidden state, or the language head's transform of it."""
    return "transform_norm" if has(walk, "transform_norm") else end_of_stack(walk)


def lengths(walk: Walk, name: str) -> Tensor:
    """Return the length of each row of a matrix, (Tq,)."""
    norms: Tensor = matrix(walk, name).norm(dim=-1)
    return norms


def _ratio(ratio: float) -> str:
    """Return a ratio, which may be above 1, in whole percent, or a small one as `percent` does."""
    return percent(ratio) if ratio < 0.01 else f"{number(100 * ratio, 0)} %"


def _residual_sum(
    name: str,
    title: str,
    terms: Callable[[Walk], tuple[str, str]],
    formula: Expression,
    notice: str,
    cross_title: str = "",
) -> Step[Walk]:
    """Return a step that adds two matrices; `terms` names the stream and the matrix added to it."""
    marked = annotated(notice)

    def draw(walk: Walk) -> Picture:
        stream, added = terms(walk)
        names = (stream, added, name)
        summands = (panel(stream, TITLES[stream], limit=names), panel(added, f"+ {TITLES[added]}", limit=names))
        result = panel(name, "= sum", limit=names, bar=True)
        return picture(((*summands, result),), (1, 1, 1), operations={name: Operation("sum", (stream, added))})

    def fact(walk: Walk) -> str:
        stream, added = terms(walk)
        ratios = lengths(walk, added) / lengths(walk, stream).clamp(min=1e-12)
        largest = int(ratios.argmax())
        return AnnotatedText.of(
            f"Here what is added is on average {_ratio(float(ratios.mean()))} as long as the row that it is "
            "added to, most in ",
            named(row_words(walk, largest), row=largest),
            f": {_ratio(float(ratios[largest]))}.",
        )

    return Step(
        name=name,
        title=title,
        cross_title=cross_title,
        formula=lambda _: formula,
        notice=lambda _: marked,
        code=lambda walk: f"{name} = {' + '.join(terms(walk))}".replace("embeddings", "x"),
        picture=draw,
        fact=fact,
        matrices=(name,),
        is_of_head=False,
    )


ATTENTION_RESIDUAL = _residual_sum(
    "attention_residual",
    "Add (attention)",
    lambda _: ("embeddings", "output"),
    Relation("=", (Symbol("R"), Box(Sum((Symbol("X"), Name("output")))))),
    "The residual sum: attention does not replace a token's row, it [adds to it](matrix=output). What stood in "
    "[X](matrix=embeddings) is still there.",
    "Add (cross-attention)",
)
FEED_FORWARD_RESIDUAL = _residual_sum(
    "feed_forward_residual",
    "Add (feed-forward)",
    lambda walk: (before_feed_forward(walk), "feed_forward_output"),
    Relation("=", (Symbol("R"), Box(Sum((Symbol("X"), Name("feed-forward")))))),
    "The second residual sum: the [feed-forward's output](matrix=feed_forward_output) is added to the stream, as the "
    "attention's was.",
)


_NORM_X, _I = Symbol("x"), Symbol("i")


def _norm_step(name: str, title: str, read: Callable[[Walk], str], notice: str, cross_title: str = "") -> Step[Walk]:
    """Return a step that normalises the rows of the matrix that `read` names."""

    def vectors(walk: Walk) -> tuple[str | None, str | None]:
        weight, bias = f"gamma_{name}", f"beta_{name}"
        return weight if has(walk, weight) else None, bias if has(walk, bias) else None

    def code(walk: Walk) -> str:
        source, width = read(walk).replace("embeddings", "x"), matrix(walk, name).shape[1]
        eps = part_of(walk).eps.get(name)
        if eps is None:
            return f"# the norm of this family is not known; {name} is as the model computes it"
        arguments = [f"{source}, ({width},)", *(vector for vector in vectors(walk) if vector is not None)]
        if vectors(walk)[0] is None and vectors(walk)[1] is not None:
            arguments[1] = f"bias={arguments[1]}"
        lines = ",\n    ".join([*arguments, f"eps={eps!r}"])
        return f"{name} = F.layer_norm(\n    {lines})"

    def draw(walk: Walk) -> Picture:
        source, eps = read(walk), part_of(walk).eps.get(name)
        weight, bias = vectors(walk)
        norm = {} if eps is None else {name: Operation("norm", (source,), weight, bias, eps, "token")}
        panels = (panel(source, TITLES[source], bar=True), panel(name, title.partition(" (")[0].lower(), bar=True))
        return picture((panels,), (1, 1), operations=norm)

    return Step(
        name=name,
        title=title,
        cross_title=cross_title,
        formula=lambda walk: _norm_formula(*vectors(walk)) if name in part_of(walk).eps else _NORM_UNKNOWN,
        notice=lambda walk: f"{notice} {_OF_LAYER_NORM if name in part_of(walk).eps else _OF_ANOTHER}",
        code=code,
        picture=draw,
        fact=lambda walk: _norm_fact(walk, matrix(walk, read(walk))),
        weights=(f"gamma_{name}", f"beta_{name}"),
        matrices=(name,),
        is_of_head=False,
    )


def _norm_formula(weight: str | None, bias: str | None) -> Expression:
    """Return the formula of a norm; the arguments are the names of its vectors, if it has them."""
    deviation = Root(Sum((Power(Indexed(Symbol("σ"), _I), Symbol("2")), Symbol("ε"))))
    normed: Expression = Fraction(Sum((Indexed(_NORM_X, _I), Negative(Indexed(Symbol("μ"), _I)))), deviation)
    normed = normed if weight is None else Product((normed, Symbol("γ")), "dot")
    normed = normed if bias is None else Sum((normed, Symbol("β")))
    return Relation("=", (Indexed(Symbol("y"), _I), Box(normed)))


def _norm_fact(walk: Walk, rows: Tensor) -> str:
    """Describe the variances and the means of the rows before the norm."""
    means, variances = rows.mean(-1), rows.var(-1, unbiased=False)
    low, high = int(variances.argmin()), int(variances.argmax())
    return AnnotatedText.of(
        "Before, the variance of a row goes from ",
        named(f"{number(float(variances[low]))} in {row_words(walk, low)}", row=low),
        ", to ",
        named(f"{number(float(variances[high]))} in {row_words(walk, high)}", row=high),
        f"; the means go from {number(float(means.min()))} to {number(float(means.max()))}.",
    )


_NORM_UNKNOWN = Relation("=", (Symbol("y"), Box(Call(Name("norm"), _NORM_X))))
"""The formula of a norm other than LayerNorm, such as RMSNorm"""
_OF_LAYER_NORM = (
    "Each row i is normalised alone: its own mean μ and variance σ². So no token learns anything of another here."
)
_OF_ANOTHER = "Each row is normalised alone, but not by LayerNorm: this family has a norm of its own (such as RMSNorm)."

INPUT_NORM = _norm_step(
    "input_norm", "Norm (attention)", lambda _: "embeddings",
    "Pre-norm: attention reads a normalised copy, while X itself goes on.", "Norm (cross-attention)",
)  # fmt: skip
ATTENTION_NORM = _norm_step(
    "attention_norm", "Norm (attention)", lambda _: "attention_residual",
    "Post-norm: the sum itself is normalised, and goes on so.", "Norm (cross-attention)",
)  # fmt: skip
FEED_FORWARD_NORM = _norm_step(
    "feed_forward_norm", "Norm (feed-forward)", lambda _: "attention_residual",
    "Pre-norm: the feed-forward reads a normalised copy, while the sum itself goes on.",
)  # fmt: skip
BLOCK_OUTPUT = _norm_step(
    "block_output", "Norm (feed-forward)", lambda _: "feed_forward_residual",
    "Post-norm: the block ends with a norm, and the next block reads this.",
)  # fmt: skip
TRANSFORM_NORM = _norm_step(
    "transform_norm", "Norm (head)", lambda _: "transform_hidden",
    "The language head normalises before it compares a row with the tokens.",
)  # fmt: skip
FINAL_NORM = _norm_step(
    "final_norm", "Final norm", end_of_block,
    "After the last pre-norm block the stream is normalised once, for it has grown with every sum.",
)  # fmt: skip


_ACTIVATION_CODE: dict[Activation, str] = {
    "relu": "torch.relu({})", "gelu": "F.gelu({})", "gelu_tanh": 'F.gelu({}, approximate="tanh")',
}  # fmt: skip
_ACTIVATION_NAMES: dict[Activation, str] = {"relu": "ReLU", "gelu": "GELU"}
_Z, _TWO = Symbol("Z"), Symbol("2")

ACTIVATION_NOTICES: dict[Activation, str] = {
    "relu": "Where it is above 0, a neuron fires; ReLU turns the rest into 0.",
    "gelu": "Where it is well above 0, a neuron fires; GELU lets the rest through as little more than 0.",
    "gelu_tanh": "Where it is well above 0, a neuron fires; GELU, here approximated by tanh, lets the rest through as "
    "little more than 0.",
}


def activation_code(activation: Activation, name: str) -> str:
    """Return the PyTorch that applies an activation to the matrix of this name."""
    return _ACTIVATION_CODE[activation].format(name)


def activation_formula(result: Expression, activation: Activation | None, inner: Expression) -> Expression:
    """Return result = activation(inner); the approximation of GELU is written out (Hendrycks and Gimpel 2016)."""
    if activation != "gelu_tanh":
        name = Name("activation" if activation is None else _ACTIVATION_NAMES[activation])
        return Relation("=", (result, Box(Call(name, inner))))
    cube = Sum((_Z, Product((Symbol("0.044715"), Power(_Z, Symbol("3"))))))
    tanh = Call(Name("tanh"), Product((Root(Fraction(_TWO, Symbol("π"), small=True)), cube)))
    gelu = Product((Fraction(_Z, _TWO, small=True), Sum((Symbol("1"), tanh))))
    return Row((Relation("=", (_Z, inner)), Relation("=", (result, Box(gelu)))))


_FEED_FORWARD_UNKNOWN = "# the feed-forward of this family is not known; {} is as the model computes it"


def mapped(walk: Walk, x: str, index: str, bias: str) -> Expression:
    """Return the formula of a linear map of x, with its bias if the walk has a vector of this name."""
    product = Product((Symbol(x), Indexed(Symbol("W"), Symbol(index))))
    return Sum((product, Indexed(Symbol("b"), Symbol(index)))) if has(walk, bias) else product


def activated_picture(
    source: PanelSpec, weight: PanelSpec, inner: PanelSpec, hidden: PanelSpec, rows: int, width: int, *,
    bias: str | None, activation: Activation | None,
) -> Picture:  # fmt: skip
    """Return the picture of a linear map of `source`, (rows, width), and of the activation after it, if it is known."""
    operation = Operation("activation", (inner.name,), name=activation)
    return picture(
        ((None, weight, None), (source, inner, hidden)),
        (0.6, 1, 1),
        share(width, rows),
        {inner.name: MatrixProduct(source.name, weight.name, bias)},
        operations={} if activation is None else {hidden.name: operation},
    )


def _hidden_formula(walk: Walk) -> Expression:
    if not has(walk, "W_1"):
        return Relation("=", (Symbol("H"), Box(Call(Name("hidden"), Symbol("x")))))
    return activation_formula(Symbol("H"), part_of(walk).activation, mapped(walk, "x", "1", "b_1"))


def _output_formula(walk: Walk) -> Expression:
    output = mapped(walk, "H", "2", "b_2") if has(walk, "W_2") else Call(Name("map"), Symbol("H"))
    return Relation("=", (Name("feed-forward"), Box(output)))


def _hidden_notice(walk: Walk) -> str:
    activation = part_of(walk).activation
    return annotated(
        "Each column is a neuron: it compares a token's row with its column of [W₁](matrix=W_1). "
        + ("" if activation is None else ACTIVATION_NOTICES[activation])
        if has(walk, "W_1")
        else "Each column is a neuron that looks at one token's row at a time. How this family computes it, such as "
        "with a gate, is not shown."
    )


def _hidden_code(walk: Walk) -> str:
    activation = part_of(walk).activation
    if activation is None or not has(walk, "W_1"):
        return _FEED_FORWARD_UNKNOWN.format("feed_forward_hidden")
    bias = " + b_1" if has(walk, "b_1") else ""
    return (
        f"feed_forward_inner = {read_by_feed_forward(walk)} @ W_1{bias}\n"
        f"feed_forward_hidden = {activation_code(activation, 'feed_forward_inner')}"
    )


def _hidden_picture(walk: Walk) -> Picture:
    hidden = panel("feed_forward_hidden", TITLES["feed_forward_hidden"], bar=True)
    if not has(walk, "W_1"):
        return picture(((hidden,),), (1,))
    source = read_by_feed_forward(walk)
    return activated_picture(
        panel(source, f"x {TITLES[source]}"),
        panel("W_1", "W₁"),
        panel("feed_forward_inner", "x · W₁ + b₁" if has(walk, "b_1") else "x · W₁"),
        hidden,
        *matrix(walk, source).shape,
        bias="b_1" if has(walk, "b_1") else None,
        activation=part_of(walk).activation,
    )


def _hidden_fact(walk: Walk) -> str:
    hidden = matrix(walk, "feed_forward_hidden")
    largest, neurons = int(hidden.argmax()), hidden.shape[1]
    token, neuron = divmod(largest, neurons)
    fires = percent(float((hidden > 0).double().mean()))
    return AnnotatedText.of(
        f"Here {fires} of the cells are above 0. Neuron {neuron} fires most, with ",
        f"{number(float(hidden[token, neuron]))}, on ",
        named(row_words(walk, token), row=token, matrix="feed_forward_hidden"),
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
        return _FEED_FORWARD_UNKNOWN.format("feed_forward_output")
    return f"feed_forward_output = feed_forward_hidden @ W_2{' + b_2' if has(walk, 'b_2') else ''}"


def _output_notice(walk: Walk) -> str:
    if not has(walk, "W_2"):
        return "The second map brings the hidden numbers back to the width of the stream."
    hidden, width = matrix(walk, "W_2").shape
    is_larger = hidden > 2 * width  # 2 · C · F weights, where an attention has 4 · C · C
    return annotated(
        "Each neuron that fires adds its row of [W₂](matrix=W_2) to the token's new row"
        + (": most of a transformer's parameters are in W₁ and W₂." if is_larger else ".")
    )


def _output_fact(walk: Walk) -> str:
    norms = lengths(walk, "feed_forward_output")
    low, high = int(norms.argmin()), int(norms.argmax())
    return AnnotatedText.of(
        "Here the longest row is ",
        named(row_words(walk, high), row=high, matrix="feed_forward_output"),
        f", with a length of {number(float(norms[high]))}, and the shortest ",
        named(row_words(walk, low), row=low, matrix="feed_forward_output"),
        f", with {number(float(norms[low]))}.",
    )


FEED_FORWARD_HIDDEN: Step[Walk] = Step(
    name="feed_forward_hidden",
    title="Hidden",
    formula=_hidden_formula,
    notice=_hidden_notice,
    code=_hidden_code,
    picture=_hidden_picture,
    fact=_hidden_fact,
    weights=("W_1", "b_1"),
    matrices=("feed_forward_inner", "feed_forward_hidden"),
    is_of_head=False,
)

FEED_FORWARD_OUTPUT: Step[Walk] = Step(
    name="feed_forward_output",
    title="Feed-forward",
    formula=_output_formula,
    notice=_output_notice,
    code=_output_code,
    picture=_output_picture,
    fact=_output_fact,
    weights=("W_2", "b_2"),
    matrices=("feed_forward_output",),
    is_of_head=False,
)

AFTER_ATTENTION = (
    ATTENTION_RESIDUAL, ATTENTION_NORM, FEED_FORWARD_NORM, FEED_FORWARD_HIDDEN, FEED_FORWARD_OUTPUT,
    FEED_FORWARD_RESIDUAL, BLOCK_OUTPUT, FINAL_NORM,
)  # fmt: skip
"""The steps after an attention up to the end of its stack, in order"""
