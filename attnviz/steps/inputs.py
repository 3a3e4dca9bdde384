"""Tokens, embeddings and the projections Q, K, V: what one head of attention reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from attnviz.annotated_text import AnnotatedText, annotated, named
from attnviz.formatting import counted, joined, number
from attnviz.formulas.tree import (
    Box,
    Call,
    Expression,
    Indexed,
    List,
    Name,
    Negative,
    Product,
    Relation,
    Row,
    Sum,
    Symbol,
    Text,
)
from attnviz.steps.formula import KEY, QUERY, VALUE, normed_symbol, operand_symbol
from attnviz.steps.picture import MatrixProduct, Operation, PanelSpec, Picture, panel, picture, share
from attnviz.steps.step import Step, follows_another, row_words
from attnviz.tokens import NO_ID
from attnviz.trace import matrices

if TYPE_CHECKING:
    from attnviz.tokens import Tokens
    from attnviz.trace.layer import LayerTrace, Operand
    from attnviz.trace.walk import Walk


X = Symbol("X")

_TOKENS_CODE = {
    "word": "hashes = [blake2b(word.encode(), digest_size=8).digest() for word in text.split()]\n"
    "ids = [int.from_bytes(digest) % 20_000 for digest in hashes]",
    "char": "ids = [vocabulary.find(character) for character in text]  # -1 where it is not in the vocabulary",
}


def _tokens_fact(tokens: Tokens) -> str:
    fact = f"Here {counted(len(tokens), 'token')}, from a vocabulary of {tokens.vocab_size:,}."
    return f"{fact} What is not in the vocabulary has no id." if NO_ID in tokens.ids else fact


TOKENS: Step[Tokens] = Step(
    name="tokens",
    title="Sentence",
    formula=lambda _: Relation("→", (Text("text"), Box(Text("tokens")), X)),
    notice=lambda _: (
        "Each word gives its attention in shares, 100\u00a0% in all, to the words that it may look at. Attention reads "
        "no letters, but numbered pieces: the tokens."
    ),
    sink_notice=(
        "Each word gives its attention in shares to the words that it may look at; a sink takes the rest, and gives "
        "nothing. Attention reads no letters, but numbered pieces: the tokens."
    ),
    code=lambda tokens: _TOKENS_CODE.get(tokens.tokenizer, "ids = tokenizer(text).input_ids"),
    fact=_tokens_fact,
)


_POSITION = {True: ", position included", False: ". No position is added to it", None: ""}
"""What the notice says of positions that have no separate matrix, by whether X includes them (None: not known)"""


def projection_formula(walk: Walk) -> Row:
    """Return the formulas of Q, K and V."""
    return Row(tuple(Relation("=", (symbol, _projected(walk, symbol.name))) for symbol in (QUERY, KEY, VALUE)))


def projection_kind(walk: Walk) -> str:
    """Return the kind of the projections; "linear" if they are not known."""
    return walk.layer.projections["query"].kind if walk.layer.projections else "linear"


def _projected(walk: Walk, name: str) -> Expression:
    kind = projection_kind(walk)
    if kind == "identity":
        return X
    if kind == "positions":
        return Product((Indexed(Symbol("U"), Symbol(name)), X))
    return Product((X, Indexed(Symbol("W"), Symbol(name))))


def is_later(walk: Walk) -> bool:
    """Return whether X is the output of an earlier attention, not the embeddings."""
    return follows_another(walk.kind, walk.layer_index)


def input_title(walk: Walk) -> str:
    """Return the title of X: the embeddings, or the hidden states that a later layer receives."""
    return "X hidden states" if is_later(walk) else "X embeddings"


def _embeddings_notice(walk: Walk) -> str:
    if walk.kind == "cross":
        return "Not the embeddings: queries come from what the decoder has so far, keys and values from the encoder."
    if is_later(walk):
        return "Not the embeddings: the hidden states that this layer receives from the one before, a row a token."
    if walk.parts is None:
        return f"This is what the layer receives: a row of numbers for each token{_POSITION[walk.has_positions]}."
    return annotated(
        "Each token is now a row of numbers. [Position](matrix=positions) must be added, for attention itself knows no "
        "order."
    )


def _embeddings_fact(walk: Walk) -> str:
    """Name the first token without an id whose embedding is a row of zeros, as in this project's trained models."""
    if walk.parts is None:
        return ""
    rows = zip(walk.query_tokens.ids, walk.parts[0], strict=True)
    unknown = next((at for at, (id_, embedding) in enumerate(rows) if id_ == NO_ID and not embedding.any()), None)
    if unknown is None:
        return ""
    place = named(row_words(walk, unknown), row=unknown)
    return AnnotatedText.of("Here ", place, ", is not in the vocabulary: the model reads a row of zeros for it.")


def _embeddings_picture(walk: Walk) -> Picture | None:
    if walk.layer.query_input is None:
        return None
    if walk.parts is None:
        title = input_title(walk) if walk.block is None else "X input"
        return picture(((panel("embeddings", title, bar=True),),), (1,))
    names = ("token_embeddings", "positions", "embeddings")
    row = (
        panel("token_embeddings", "token", limit=names),
        panel("positions", "+ position", limit=names),
        panel("embeddings", "= X embeddings", limit=names, bar=True),
    )
    return picture((row,), (1, 1, 1), operations={"embeddings": Operation("sum", names[:2])})


EMBEDDINGS: Step[Walk] = Step(
    name="embeddings",
    title="Embeddings",
    formula=lambda walk: Row((Box(X), *projection_formula(walk).formulas)),
    notice=_embeddings_notice,
    code=lambda walk: "x = token_embeddings + positions" if walk.parts else "x = embeddings",
    picture=_embeddings_picture,
    fact=_embeddings_fact,
    matrices=("token_embeddings", "positions", "embeddings", "embeddings_k"),
    needs=("embeddings",),
    is_of_head=False,
    later_title="Hidden states",
)


_QKV_NOTICE = {
    "linear": annotated(
        "One input, three roles: [a query](matrix=query) asks, [a key](matrix=key) answers, and "
        "[a value](matrix=value) is what gets passed on. Like a search: the query is typed in, keys are titles, values "
        "are contents. But a soft one: it returns no single hit, but the mean of all contents, weighted."
    ),
    "identity": annotated(
        "Nothing is learned here: query, key and value are all [X](matrix=embeddings), so a token mostly matches "
        "itself."
    ),
    "positions": (
        "U (T × T) mixes positions, where a transformer's W (C × D) mixes features. So U fits one length only, treats "
        "a position alike whatever word stands there, and lets every token see the future before any mask."
    ),
}


_QKV_NOTICE_WITH_SINK = annotated(
    "One input, three roles: [a query](matrix=query) asks, [a key](matrix=key) answers, and "
    "[a value](matrix=value) is what gets passed on. Like a search: the query is typed in, keys are titles, values "
    "are contents. But a soft one: it returns no single hit, but the sum of all contents, weighted."
)
"""With a sink the weights of a query do not sum to 1, so the sum is no mean"""


def _qkv_notice(walk: Walk) -> str:
    kind = projection_kind(walk)
    return _QKV_NOTICE_WITH_SINK if kind == "linear" and walk.layer.sinks is not None else _QKV_NOTICE[kind]


def _qkv_code(walk: Walk) -> str:
    projections = walk.layer.projections
    if projections is None:
        return "# this family's projections are not available; query, key and value are as attention received them"
    if projections["query"].kind == "identity":
        return "query = key = value = x"
    lines = []
    for name, projection in projections.items():
        query_source = "x" if source_of(walk) == "embeddings" else source_of(walk)
        source = "x_key" if name != "query" and walk.layer.key_input is not walk.layer.query_input else query_source
        if projection.kind == "positions":
            lines.append(f"{name} = U_{name} @ {source}")
        else:
            lines.append(f"{name} = {source} @ W_{name}" + ("" if projection.bias is None else f" + b_{name}"))
    return "\n".join(lines)


def source_of(walk: Walk) -> str:
    """Return the name of the matrix that queries are computed from: X, or in a pre-norm block its norm."""
    return "input_norm" if walk.block is not None and "input_norm" in walk.block.matrices else "embeddings"


def _qkv_title(walk: Walk, source: str) -> str:
    """Return the title of the matrix that queries are computed from."""
    return "norm of X" if source == "input_norm" else input_title(walk)


MOST_GROUPS = 4
"""The most groups of heads that share keys and are listed"""
_QKV_TITLES = {"query": "Q query", "key": "K key", "value": "V value"}


def _qkv_picture(walk: Walk) -> Picture:
    """Return the picture of X, W and Q, K, V, without those that the source does not provide."""
    layer, x = walk.layer, walk.layer.query_input
    results = [panel(name, title) for name, title in _QKV_TITLES.items()]
    if layer.projections is None or x is None:
        return picture((results,), (1, 1, 1))
    if layer.key_input is not None and layer.key_input is not x:
        return _cross(walk, results)
    kind = projection_kind(walk)
    source = source_of(walk)
    input_panel = panel(source, _qkv_title(walk, source))
    if kind == "identity":
        return picture(((input_panel, *results),), (1, 1, 1, 1))
    positions, features = x.shape
    if kind == "positions":
        return _position_mixing(results, share(positions, features))
    weights, products = _maps(layer, dict.fromkeys(_QKV_TITLES, source))
    between = "X · W = Q, K, V" if layer.projections["query"].bias is None else "X · W + b"
    grid = ((None, *weights), (input_panel, *results))
    return picture(grid, (0.6, 1, 1, 1), share(features, positions), products, between)


def _maps(layer: LayerTrace, inputs: Mapping[str, str]) -> tuple[list[PanelSpec], dict[str, MatrixProduct]]:
    """Return the panels of W for query, key and value, and the products of these inputs with them."""
    weights, products = [], {}
    for name, projection in (layer.projections or {}).items():
        weights.append(panel(f"W_{name}", f"W {name}"))
        bias = None if projection.bias is None else f"b_{name}"
        products[name] = MatrixProduct(inputs[name], f"W_{name}", bias)
    return weights, products


def _cross(walk: Walk, results: list[PanelSpec]) -> Picture:
    """Return the picture of cross-attention: queries from the decoder's states, keys and values from the encoder's."""
    source = source_of(walk)
    inputs = {"query": source, "key": "embeddings_k", "value": "embeddings_k"}
    (w_query, w_key, w_value), products = _maps(walk.layer, inputs)
    query, key, value = results
    x, other = panel(source, _qkv_title(walk, source)), panel("embeddings_k", "X encoder's")
    grid = ((None, w_query, None, w_key, w_value), (x, query, other, key, value))
    return picture(grid, (1.2, 1, 1.2, 1, 1), (1, 1), products)


def _position_mixing(results: list[PanelSpec], widths: tuple[float, float]) -> Picture:
    """Return the picture of U @ X: X is on top, and each row below has one mixing matrix and its product with X."""
    rows = [(panel(f"U_{result.name}", f"U {result.name}"), result) for result in results]
    products = {result.name: MatrixProduct(mixing.name, "embeddings_k") for mixing, result in rows}
    grid = ((None, panel("embeddings_k", "X embeddings")), *rows)
    return picture(grid, widths, (1, 1, 1, 1), products, "U · X")


def shared_keys(layer: LayerTrace) -> str:
    """Say which query heads share a head of keys and values (Ainslie et al. 2023); "" if each has its own."""
    shared, heads = layer.shared_by, layer.heads
    if shared == 1:
        return ""
    if shared == heads:
        return f"All {heads} heads of queries share one head of keys and values (multi-query attention)."
    groups = [f"{first} to {first + shared - 1}" if shared > 2 else f"{first} and {first + 1}"
              for first in range(0, heads, shared)]  # fmt: skip
    shown = f"{'; '.join(groups[:MOST_GROUPS])}{' and so on' if len(groups) > MOST_GROUPS else ''}"
    return (
        f"{heads} heads of queries share {heads // shared} heads of keys and values, each used by {shared} of them "
        f"(grouped-query attention): heads {shown}."
    )


def shared_keys_in(layers: Mapping[int, LayerTrace]) -> str:
    """Say which query heads share a head of keys and values in layers, by their numbers; "" if each has its own."""
    by_sentence: dict[str, list[int]] = {}
    for number_of_layer, layer in layers.items():
        by_sentence.setdefault(shared_keys(layer), []).append(number_of_layer)
    if len(by_sentence) < 2:
        return "".join(by_sentence)
    return " ".join(
        f"Layer{'s' if len(numbers) > 1 else ''} {joined(map(str, numbers))}: "
        f"{sentence or 'each head has keys and values of its own.'}"
        for sentence, numbers in by_sentence.items()
    )


def _qkv_fact(walk: Walk) -> str:
    """Say with which other heads this one shares its keys and values."""
    shared = walk.layer.shared_by
    if shared == 1:
        return ""
    first = walk.head // shared * shared
    others = joined(str(head) for head in range(first, first + shared) if head != walk.head)
    own = f"Here head {walk.head} has the keys and values of {'head' if shared == 2 else 'heads'} {others} too."
    return f"{own} {shared_keys(walk.layer)}"


QKV: Step[Walk] = Step(
    name="qkv",
    title="Q, K, V",
    formula=lambda walk: Box(projection_formula(walk)),
    notice=_qkv_notice,
    fact=_qkv_fact,
    code=_qkv_code,
    picture=_qkv_picture,
    weights=tuple(f"{letter}_{name}" for letter in "WUb" for name in matrices.QKV),
    matrices=matrices.QKV,
    needs=("embeddings", "projections"),
)


_NORMED_TITLES = {"query": "Q normed", "key": "K normed"}


def _normed_formula(walk: Walk) -> Expression:
    """Return the formula of the norm of queries, and that keys have one too."""
    norms = walk.layer.norms
    kind = norms["query"].kind if norms else "rms"
    norm = Name("RMSNorm" if kind == "rms" else "LayerNorm")
    results = [Relation("=", (normed_symbol(symbol), Call(norm, symbol))) for symbol in (QUERY, KEY)]
    return Box(Row(tuple(results)))


def _normed_notice(walk: Walk) -> str:
    norms = walk.layer.norms
    numbers = "a token's numbers in all heads" if norms and norms["query"].is_joint else "a token's numbers in a head"
    loses = f"lose their size: each is divided by the root of the mean of the squares of {numbers}"
    if norms and norms["query"].kind == "layer":
        loses = (
            f"lose their mean and their size: the mean of {numbers} is subtracted, and the rest divided by their spread"
        )
    scaled = "Then each dimension is multiplied by a learned γ."
    if all(norm.is_untrained for norm in norms.values()):
        scaled = "The γ by which a model would multiply each dimension is 1 here."
    return annotated(
        f"[Queries](matrix=normed_query) and [keys](matrix=normed_key) {loses}. {scaled} So no vector gets a large "
        "score by its length alone."
    )


def _normed_code(walk: Walk) -> str:
    norms = walk.layer.norms
    lines = []
    for name, norm in norms.items():
        if norm.is_joint:
            lines.append(f"every_{name} = torch.cat({name}_of_all_heads, dim=-1)")
            lines.append(f"root = torch.sqrt((every_{name} ** 2).mean(-1, keepdim=True) + {norm.eps!r})")
            lines.append(f"normed_{name} = {name} / root * gamma_{name}")
            continue
        x: str = name
        if norm.kind == "layer":
            lines.append(f"centred = {name} - {name}.mean(-1, keepdim=True)")
            x = "centred"
        added = "" if norm.bias is None else f" + beta_{name}"
        root = f"torch.sqrt(({x} ** 2).mean(-1, keepdim=True) + {norm.eps!r})"
        lines.append(f"normed_{name} = {x} / {root} * gamma_{name}{added}")
    return "\n".join(lines)


def _normed_picture(walk: Walk) -> Picture | None:
    rows: list[tuple[PanelSpec, ...]] = []
    operations: dict[str, Operation] = {}
    for name, norm in walk.layer.norms.items():
        result = f"normed_{name}"
        before = panel(name, _QKV_TITLES[name], limit=("query", "key"))
        rows.append((before, panel(result, _NORMED_TITLES[name], limit=matrices.NORMED, bar=not rows)))
        weight, bias = f"gamma_{name}", None if norm.bias is None else f"beta_{name}"
        if norm.kind == "layer":
            operations[result] = Operation("norm", (name,), weight=weight, bias=bias, eps=norm.eps, over="token")
        else:
            root = f"root_{name}" if norm.is_joint else None
            operations[result] = Operation("rms_norm", (name,), weight=weight, eps=norm.eps, root=root)
    return picture(rows, (1, 1), (1, 1), operations=operations) if rows else None


def _normed_fact(walk: Walk) -> str:
    norms = walk.layer.norms
    if not norms or norms["query"].is_joint:  # which would need the numbers of all heads for each of them
        return ""
    before, after = (matrices.matrix(walk, name).norm(dim=-1) for name in ("query", "normed_query"))
    low, high, new_low, new_high = (number(float(x)) for of in (before, after) for x in (of.min(), of.max()))
    return f"Here the lengths of the queries go from {low} to {high}, and after the norm from {new_low} to {new_high}."


NORMED: Step[Walk] = Step(
    name="normed",
    title="Normed Q, K",
    formula=_normed_formula,
    notice=_normed_notice,
    code=_normed_code,
    picture=_normed_picture,
    fact=_normed_fact,
    weights=("gamma_query", "beta_query", "gamma_key", "beta_key", "root_query", "root_key"),
    matrices=matrices.NORMED,
    is_in=lambda walk: bool(walk.layer.norms),
)


TURNED_NOTICE = annotated(
    "A position is an angle here: it turns each pair of dimensions of [Q](matrix=rotated_query) and "
    "[K](matrix=rotated_key) by [θ](matrix=query_angles), the position times the pair's frequency. So a score depends "
    "on how far apart two tokens are, not on where they stand."
)


def _turned_notice(walk: Walk) -> str:
    """Say what turns, and by which factor vectors get longer in a model that stretches its range."""
    factor = 1.0 if walk.layer.rotation is None else walk.layer.rotation.factor
    if factor == 1:
        return TURNED_NOTICE
    changed = "longer" if factor > 1 else "shorter"
    also = f" This model stretches its range: vectors also get {changed}, by the factor f = {number(factor, 4)}."
    return AnnotatedText.of(TURNED_NOTICE, also)


_TURNED_TITLES: dict[Operand, str] = {"query": "Q rotated", "key": "K rotated"}


def _rotated_formula(walk: Walk) -> Expression:
    """Return Q_θ = rotate(Q, θ) and K_θ = rotate(K, θ), and what that does to a pair of dimensions."""
    theta, (a, b) = Symbol("θ"), (Symbol("a"), Symbol("b"))
    cos, sin = (Product((Name(name), theta)) for name in ("cos", "sin"))

    def rotated(of: Symbol) -> Expression:
        return Call(Name("rotate"), List((normed_symbol(of) if walk.layer.norms else of, theta)))

    results = [Relation("=", (operand_symbol(walk, symbol), rotated(symbol))) for symbol in (QUERY, KEY)]
    turned = Sum((Product((a, cos)), Negative(Product((b, sin))))), Sum((Product((a, sin)), Product((b, cos))))
    longer = tuple(Product((Symbol("f"), component)) for component in turned)
    is_longer = walk.layer.rotation is not None and walk.layer.rotation.factor != 1
    pair = Relation("→", (List((a, b)), List(longer if is_longer else turned)))
    return Row((Box(Row(tuple(results))), pair))


def _rotated_code(walk: Walk) -> str:
    """Return the lines that turn queries and keys by `cos` and `sin`, (T, R / 2)."""
    rotation = walk.layer.rotation
    if rotation is None:
        return ""
    width = rotation.width
    before = [matrices.before_rotation(walk.layer, name) for name in _TURNED_TITLES]
    rest = f", x[..., {width}:]" if width < walk.layer.head_size else ""
    if rotation.pairing == "halves":
        first, second = f"x[..., :{width // 2}]", f"x[..., {width // 2}:{width}]"
        joined = f"torch.cat((a * cos - b * sin, a * sin + b * cos{rest}), dim=-1)"
        made = f"    return {joined}"
    else:
        first, second = f"x[..., 0:{width}:2]", f"x[..., 1:{width}:2]"
        pairs = "torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)"
        made = f"    turned = {pairs}\n    return torch.cat((turned{rest}), dim=-1)" if rest else f"    return {pairs}"
    return (
        f"def rotate(x):\n    a, b = {first}, {second}  # the two dimensions of each pair\n{made}\n\n"
        f"rotated_query, rotated_key = rotate({before[0]}), rotate({before[1]})"
    )


def _rotated_picture(walk: Walk) -> Picture | None:
    rotation = walk.layer.rotation
    if rotation is None:
        return None
    rows: list[tuple[PanelSpec, ...]] = []
    operations: dict[str, Operation] = {}
    turned = [matrices.before_rotation(walk.layer, name) for name in _TURNED_TITLES]
    limit = (*turned, *matrices.ROTATED)
    for name, title in _TURNED_TITLES.items():
        before = matrices.before_rotation(walk.layer, name)
        result = f"rotated_{name}"
        rows.append(
            (
                panel(before, (_NORMED_TITLES if walk.layer.norms else _QKV_TITLES)[name], limit=limit),
                panel(f"{name}_angles", "θ", limit=math.pi),
                panel(result, title, limit=limit, bar=not rows),
            )
        )
        operations[result] = Operation("rotation", (before,), cos="cos", sin="sin", pairing=rotation.pairing)
    angles = max(0.5, rotation.width / 2 / walk.layer.head_size)
    return picture(rows, (1, angles, 1), (1, 1), operations=operations)


def _rotated_fact(walk: Walk) -> str:
    rotation = walk.layer.rotation
    if rotation is None:
        return ""
    pairs, width = rotation.width // 2, walk.layer.head_size
    first, second = rotation.pair(0)
    share = f"all {width} dimensions" if rotation.width == width else f"{rotation.width} of {width} dimensions"
    fact = f"Here {share} turn, in {counted(pairs, 'pair')}: dimensions {first} and {second} are the first."
    frequencies = rotation.frequencies
    if frequencies is None:
        return fact
    most, least = (number(float(frequencies[pair]), 4) for pair in (0, -1))
    if pairs == 1:
        return f"{fact} It turns by {most} a token."
    return f"{fact} It turns by {most} a token, the last pair by {least} (in radians: a full turn is 2π)."


ROTATED: Step[Walk] = Step(
    name="rotated",
    title="Rotated Q, K",
    formula=_rotated_formula,
    notice=_turned_notice,
    code=_rotated_code,
    picture=_rotated_picture,
    fact=_rotated_fact,
    weights=("cos", "sin", "query_angles", "key_angles"),
    matrices=matrices.ROTATED,
    is_in=lambda walk: walk.layer.rotation is not None,
)
