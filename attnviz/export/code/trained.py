"""Exports a head of a trained model as code that reads the model's file and computes the whole model on the text."""

from __future__ import annotations

from collections.abc import Iterator

from attnviz.export.code.cells import Cell, compare_places, literals, section
from attnviz.export.code.training.models import ACTIVATIONS
from attnviz.pretrained.names import ModelError
from attnviz.tokens import NO_ID, Tokens
from attnviz.toy.language.config import TokenConfig
from attnviz.trace.walk import Walk
from attnviz.trained.model import NO_ATTENTION, TrainedModel
from attnviz.trained.shipped import OWN

LOAD = """\
import hashlib
from pathlib import Path

from safetensors.torch import load_file

{where}
FILE = Path({file})
SHA256 = {digest}
{ids}
C, D, L = {width}, {head_size}, {layers}  # width of a token, width of a head, blocks

assert hashlib.sha256(FILE.read_bytes()).hexdigest() == SHA256, "this is another file"
W = {{name: one.float() for name, one in load_file(FILE).items()}}  # by name; the file holds float16\
"""
SHIPPED = (
    "# It ships with attnviz, in assets/weights, and the app exports it beside this code: put it in the same folder."
)
OF_VISITOR = "# The model's own file, as you opened it or as the page Train saves it; write its name here."
IDS = "{name} = {ids}  # {what}: one id per token{unknown}"
UNKNOWN = "; None is not in the vocabulary"
FUNCTIONS = """\
KEPT = {{}}  # the steps, by their place in the model and their name on the page
CALLS = {{}}  # what each attention is given


def keep(place, name, matrix):
    KEPT.setdefault(place, {{}})[name] = matrix
    return matrix


def embed(ids):
    rows = [torch.zeros(C) if one is None else W["token.weight"][one] for one in ids]
    return torch.stack(rows) + W["position.weight"][: len(ids)]  # (T, C)


def linear(x, name):
    return F.linear(x, W[f"{{name}}.weight"], W.get(f"{{name}}.bias"))  # x @ weightᵀ + bias


def norm(x, name):
    return F.layer_norm(x, (C,), W[f"{{name}}.weight"], W.get(f"{{name}}.bias"))


def heads(x):
    return x.unflatten(-1, (-1, D)).transpose(0, 1)  # (T, C) -> (T, H, D) -> (H, T, D)


def causal(x):
    return torch.ones(len(x), len(x), dtype=torch.bool).tril()  # a token looks at itself and those before it


def attention(x, context, place, name, mask=None):
    query, key, value = (heads(linear(y, f"{{name}}.{{kind}}"))
                         for y, kind in ((x, "query"), (context, "key"), (context, "value")))
    CALLS[place] = name, x, query, key, value, mask
    scaled = query @ key.transpose(-2, -1) / math.sqrt(D)
    weights = torch.softmax(scaled if mask is None else scaled.masked_fill(~mask, -math.inf), dim=-1)
    return linear((weights @ value).transpose(0, 1).flatten(1), f"{{name}}.output")


def layer(x, place, name, mask=None, encoded=None):
{layer}
    return x\
"""
ATTENTION = """\
    normed = {normed}
    x = keep(place, "attention_residual", {add}attention(normed, normed, place, f"{{name}}.attention", mask))\
"""
CROSS = """\
    if encoded is not None:  # a layer of the decoder: it looks at what the encoder has read
        place = f"{place}, attention to the encoder"
        normed = keep(place, "input_norm", norm(x, f"{name}.cross_attention_norm"))
        x = keep(place, "attention_residual", x + attention(normed, encoded, place, f"{name}.cross_attention"))\
"""
FEED_FORWARD = """\
    normed = {normed}
    inner = keep(place, "feed_forward_inner", linear(normed, f"{{name}}.feed_forward.first"))  # (T, C) -> (T, F)
    hidden = keep(place, "feed_forward_hidden", {activation})
    output = keep(place, "feed_forward_output", linear(hidden, f"{{name}}.feed_forward.second"))
    x = keep(place, "feed_forward_residual", {add}output)\
"""
NORMED = {
    "attention": 'keep(place, "input_norm", norm(x, f"{name}.attention_norm"))',
    "feed_forward": 'keep(place, "feed_forward_norm", norm(x, f"{name}.feed_forward_norm"))',
}
RUN = """\
    x = embed(IDS)
    for i in range(L):
        x = layer(x, f"{stack} block {{i}}", f"blocks.layers.{{i}}"{mask})
    LAST = "{last}"{norm}\
"""
RUN_BOTH = """\
    encoded, x = embed(IDS), embed(TARGET_IDS)
    for i in range(L):
        encoded = layer(encoded, f"encoder block {i}", f"blocks.encoder.layers.{i}")
    encoded = keep(f"encoder block {L - 1}", "final_norm", norm(encoded, "blocks.encoder.norm"))
    for i in range(L):
        x = layer(x, f"decoder block {i}", f"blocks.decoder.layers.{i}", causal(x), encoded)
    LAST = f"decoder block {L - 1}, attention to the encoder"
    x = keep(LAST, "final_norm", norm(x, "blocks.decoder.norm"))\
"""
LOGITS = """
    logits = keep(LAST, "logits", linear(x, "head"))  # (T, V)
    keep(LAST, "probabilities", torch.softmax(logits, dim=-1))

name, x, query, key, value, mask = CALLS["{place}"]
scale = 1 / math.sqrt(D)
W_O, b_O = W[f"{{name}}.output.weight"].T, W.get(f"{{name}}.output.bias")
show("embeddings", x)
show("query", query[HEAD])
show("key", key[HEAD])
show("value", value[HEAD])\
"""
AROUND = """\
COMPUTED = KEPT
for name, matrix in KEPT["{place}"].items():
    show(name, matrix)\
"""
STEPS = ("input_norm", "attention_residual", "feed_forward_norm", "feed_forward_inner", "feed_forward_hidden",
         "feed_forward_output", "feed_forward_residual", "final_norm", "logits", "probabilities")  # fmt: skip
"""The steps around the attention that the code keeps, by their names on the page"""


def trained_inputs(model: TrainedModel, text: str, pair: str | None, place: str) -> tuple[Cell, ...]:
    """Return the cells from a model's file and the ids of a text to query, key and value of the attention at a place.

    Raises:
        ModelError: the model has no attention.
    """
    config, (tokens, target) = model.plan.model, model.read(text, pair)
    if not isinstance(config, TokenConfig):
        raise ModelError(NO_ATTENTION)
    ids = _ids("IDS", "the tokenizer's output", tokens)
    if target is not None:
        ids += "\n" + _ids("TARGET_IDS", "what the decoder has written", target)
    load = LOAD.format(
        where=OF_VISITOR if model.name.startswith(OWN) else SHIPPED, file=ascii(f"{model.name}.safetensors"),
        digest=ascii(model.digest), ids=ids, width=config.width, head_size=config.width // config.heads,
        layers=config.layers,
    )  # fmt: skip
    run = f"with torch.inference_mode():\n{_run(config)}{LOGITS.format(place=place)}"
    return (
        *section("The model's file and the text", load),
        *section("The parts of the model", FUNCTIONS.format(layer="\n".join(_layer(config)))),
        *section("query, key, value: the text on its way through the model", run),
    )


def around_trained(walk: Walk) -> Iterator[Cell]:
    """Yield the code that compares the steps around a walk's attention; the code of `trained_inputs` computes them."""
    part = walk.block
    if part is None:
        return
    shown = [name for name in STEPS if name in part.matrices]
    if part.rest:  # the page shows only some tokens of a large vocabulary
        shown = [name for name in shown if name not in ("logits", "probabilities")]
    if shown:
        yield from section("The steps around this attention, the same as on the page", AROUND.format(place=part.place))
        yield compare_places({part.place: {name: part.matrices[name] for name in shown}})


def _ids(name: str, what: str, tokens: Tokens) -> str:
    ids = [None if id_ == NO_ID else id_ for id_ in tokens.ids]
    return IDS.format(name=name, ids=literals(ids), what=what, unknown=UNKNOWN if None in ids else "")


def _layer(config: TokenConfig) -> Iterator[str]:
    """Yield the parts of a layer."""
    add = "x + " if config.residual else ""
    yield ATTENTION.format(normed=NORMED["attention"] if config.norm else "x", add=add)
    if config.architecture == "both":
        yield CROSS
    if config.feed_forward != 0:
        activation = ACTIVATIONS[config.activation].format("inner")
        normed = NORMED["feed_forward"] if config.norm else "x"
        yield FEED_FORWARD.format(normed=normed, activation=activation, add=add)


def _run(config: TokenConfig) -> str:
    if config.architecture == "both":
        return RUN_BOTH
    stack = config.architecture
    return RUN.format(
        stack=stack, mask=", causal(x)" if stack == "decoder" else "", last=f"{stack} block {config.layers - 1}",
        norm='\n    x = keep(LAST, "final_norm", norm(x, "blocks.norm"))' if config.norm else "",
    )  # fmt: skip
