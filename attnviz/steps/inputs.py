"""Tokens, embeddings and the projections Q, K, V: what one head of attention reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attnviz.annotated_text import annotated
from attnviz.formatting import counted
from attnviz.formulas.tree import Box, Expression, Indexed, Product, Relation, Row, Symbol, Text
from attnviz.steps.attention import KEY, QUERY, VALUE
from attnviz.steps.picture import MatrixProduct, Operation, PanelSpec, Picture, panel, picture, share
from attnviz.steps.step import Step, follows_another
from attnviz.tokens import NO_ID
from attnviz.trace import matrices

if TYPE_CHECKING:
    from attnviz.tokens import Tokens
    from attnviz.trace.layer import LayerTrace
    from attnviz.trace.walk import Walk


X = Symbol("X")

_TOKENS_CODE = {
    "word": "hashes = [blake2b(word.encode(), digest_size=8).digest() for word in text.split()]\n"
    "ids = [int.from_bytes(digest) % 20_000 for digest in hashes]",
    "char": "ids = [vocabulary.find(character) for character in text]  # -1 where it is not in the vocabulary",
}


def _tokens_fact(tokens: Tokens) -> str:
    fact = f"Here {counted(len(tokens), 'token')}, from a vocabulary of {tokens.vocab_size:,}."
    return f"{fact} A character that is not in the vocabulary has no id." if NO_ID in tokens.ids else fact


TOKENS: Step[Tokens] = Step(
    name="tokens",
    title="Sentence",
    formula=lambda _: Relation("→", (Text("text"), Box(Text("tokens")), X)),
    notice=lambda _: (
        "Each word gives its attention in shares, 100 % in all, to the words that it may look at. Attention reads no "
        "letters, but numbered pieces: the tokens."
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


QKV: Step[Walk] = Step(
    name="qkv",
    title="Q, K, V",
    formula=lambda walk: Box(projection_formula(walk)),
    notice=lambda walk: _QKV_NOTICE[projection_kind(walk)],
    code=_qkv_code,
    picture=_qkv_picture,
    weights=tuple(f"{letter}_{name}" for letter in "WUb" for name in matrices.QKV),
    matrices=matrices.QKV,
    needs=("embeddings", "projections"),
)
