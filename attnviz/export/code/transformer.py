"""Exports the toy transformer as code: one class for each part, with weights drawn as `attnviz.toy.transformer` does.

The code computes the whole model on the text, prints every matrix of every block, and compares them with torch's own
layers and with what the page shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

from attnviz.export.code.lines import TOLERANCE, Cell, compare_places, literals
from attnviz.export.code.settled import Setting, plain, settled
from attnviz.export.code.source import joined
from attnviz.export.code.toy import POSITION_FUNCTIONS
from attnviz.export.numbers import collect
from attnviz.steps import PARTS
from attnviz.toy import stacks
from attnviz.toy.config import MAX_WIDTH
from attnviz.toy.transformer.config import MAX_TOKENS, TransformerConfig
from attnviz.toy.weights import draw
from attnviz.trace.trace import Trace

MODELS = {
    "encoder": "an encoder alone: every token looks at every token",
    "decoder": "a decoder alone: a token looks at itself and at those before it",
    "both": "an encoder of one text, and a decoder of another that also looks at the encoder's output",
}

CLASSES = {"encoder": "Encoder", "decoder": "Encoder", "both": "Seq2Seq"}
"""Of `attnviz.toy.stacks`"""
TITLES = {
    "attend": "Attention: scores, softmax, weighted values",
    "MultiHeadAttention": "Heads side by side",
    "FeedForward": "Feed-forward",
    "EncoderLayer": "A layer: both, with their residual sums",
    "Encoder": "The layers one after another",
    "DecoderLayer": "A layer of the decoder: with an attention to the encoder between them",
    "Decoder": "The layers of the decoder",
    "Seq2Seq": "Encoder and decoder",
}
"""By the last definition of a cell"""
ACTIVATIONS = {
    "relu": "torch.relu", "gelu": "nn.functional.gelu", "gelu_tanh": 'nn.GELU(approximate="tanh")',
}  # fmt: skip
LAYER_NORM = """\
class LayerNorm(nn.Module):
    \"\"\"Each row, less its mean, divided by its standard deviation, times γ, plus β.\"\"\"

    def __init__(self, width, bias=True):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))
        self.beta = nn.Parameter(torch.zeros(width)) if bias else 0.0

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, correction=0, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-5) * self.gamma + self.beta\
"""
HEADING = """\
# A whole transformer in plain torch

Written by attnviz from a view of the page Transformer:
{what}.

Rows are queries, columns are keys; blocks and heads are counted from 0. It needs torch alone. The weights are drawn
from a seed and have learned nothing. At the end it compares its numbers with those of torch's own layers, and with
those that the page showed.\
"""
BEGIN = """\
import hashlib
import math
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

torch.set_printoptions(precision=4, sci_mode=False, linewidth=200, threshold=2000)
torch.set_grad_enabled(False)  # nothing is trained here
VIEW = {link}  # where the app shows the same
TOKENS = {tokens}
IDS = {ids}  # the tokenizer's output: one id per token
{target}SEED = {seed}
C, H, F, L = {width}, {heads}, {hidden}, {depth}  # width of a token, heads, hidden width of the feed-forward, blocks
{decoder}HEAD = {head}  # the head whose matrices are kept
COMPUTED = {{}}


def keep(place, name, matrix):
    \"\"\"Keep a matrix under its place in the model and its name on the page.\"\"\"
    COMPUTED.setdefault(place, {{}})[name] = matrix
    return matrix


def show(place):
    \"\"\"Print all matrices of a place.\"\"\"
    for name, matrix in COMPUTED[place].items():
        print(f"\\n{{place}}: {{name}}, {{' x '.join(map(str, matrix.shape))}}")
        print(matrix)\
"""
DECODER_BLOCKS = """\
L_DECODER = {count}  # blocks of the decoder; L are those of the encoder
"""
TARGET = """\
TARGET = {tokens}  # what the decoder has written so far
TARGET_IDS = {ids}
"""
EMBED = f"""\
VOCABULARY = list(dict.fromkeys({{ids}}))  # V tokens: each that occurs, once
rows = [draw(SEED, "embedding", one, 1, {MAX_WIDTH})[:, :C] for one in VOCABULARY]
E = torch.cat(rows) / math.sqrt(C)  # (V, C)


def embed(ids, place):
    tokens = E[[VOCABULARY.index(one) for one in ids]] * math.sqrt(C)  # section 3.4 of the paper
{{add}}\
"""
ADD = """\
    keep(place, "token_embeddings", tokens)
    return tokens + keep(place, "positions", {positions})  # (n, C), a row for each position"""
NO_POSITIONS = "    return tokens  # positions are off"
RANDOM = f'draw(SEED, "position", 0, {MAX_TOKENS}, {MAX_WIDTH})[: len(ids), :C]'

DRAW = """\
for name, module in model.named_modules():  # each matrix has a seed of its own, from its name
    if isinstance(module, nn.Linear):
        inputs, outputs = module.in_features, module.out_features
        bound = math.sqrt(6 / (inputs + outputs))  # Glorot and Bengio 2010
        module.weight.uniform_(-bound, bound, generator=generator(SEED, f"{name}.weight", 0))\
"""
DRAW_BIAS = """
        bound = 1 / math.sqrt(inputs)  # as nn.Linear draws it
        module.bias.uniform_(-bound, bound, generator=generator(SEED, f"{name}.bias", 0))\
"""
WATCH = """\
def watch(place, layer, modules):
    \"\"\"Keep what modules of a layer give while the model runs, or what they take if their names end with "<".\"\"\"
    for name, path in modules.items():
        module = layer.get_submodule(path.removesuffix("<"))
        if path.endswith("<"):
            module.register_forward_pre_hook(partial(keep_taken, place, name))
        else:
            module.register_forward_hook(partial(keep_given, place, name))


def keep_taken(place, name, module, args):
    keep(place, name, args[0])


def keep_given(place, name, module, args, result):
    keep(place, name, result)


def keep_attention(place, module, args, result):
    \"\"\"Keep the steps of an attention.\"\"\"
    if len(args) > 1:
        keep(place, "embeddings_k", args[1])
    for name in ("query", "key", "value", "scores", "scaled", "masked", "weights", "head_outputs"):
        keep(place, name, getattr(module.steps, name)[HEAD])
    keep(place, "concat", module.steps.concat)
    keep(place, "output", result)


# Which module of a layer gives a matrix, or takes it ("<"); "" is the layer itself
{watched}\
"""
WATCHED = """\
{table} = {{
{modules}
}}
for i, layer in enumerate({layers}):
    watch(f"{place}", layer, {table})
    layer.{attention}.register_forward_hook(partial(keep_attention, f"{place}"))\
"""
FINAL_NORM = 'watch(f"{place}", {stack}, {{"final_norm": "norm"}})'
TO_RESIDUAL = {
    "post": {"embeddings": "{first}", "attention_residual": "{attention}_norm<", "attention_norm": "{attention}_norm"},
    "pre": {"embeddings": "{first}", "input_norm": "{attention}_norm", "attention_residual": "{next}_norm<"},
}
"""What gives the steps up to the sum after an attention, by the place of the norm"""
FEED_FORWARD = {
    "feed_forward_inner": "feed_forward.first", "feed_forward_hidden": "feed_forward.second<",
    "feed_forward_output": "feed_forward.second",
}  # fmt: skip
TO_END = {
    "post": {**FEED_FORWARD, "feed_forward_residual": "feed_forward_norm<", "block_output": "feed_forward_norm"},
    "pre": {"feed_forward_norm": "feed_forward_norm", **FEED_FORWARD, "feed_forward_residual": ""},
}
"""What gives the steps after it"""
RUN = {
    "encoder": 'hidden = model(embed(IDS, "encoder block 0"))  # (T, C): a row of numbers for each token',
    "decoder": 'hidden = model(embed(IDS, "decoder block 0"))  # (T, C)',
    "both": 'hidden = model(embed(IDS, "encoder block 0"), embed(TARGET_IDS, "decoder block 0"))  # (Tq, C)',
}
LOGITS = """\
LAST = "{place}"
logits = keep(LAST, "logits", hidden @ E.T)  # (T, C) @ (C, V): the embeddings once more
probabilities = keep(LAST, "probabilities", torch.softmax(logits, dim=-1))
LABELS = dict(zip({ids}, {tokens}))
print("After the last token, the likeliest are:")
for column in probabilities[-1].argsort(descending=True)[:5].tolist():
    print(f"  {{LABELS[VOCABULARY[column]]!a}}: {{probabilities[-1, column]:.4f}}")\
"""
TORCH = """\
def copied(ours, theirs):
    \"\"\"Give one of torch's layers the weights of ours. Its norms begin with γ = 1 and β = 0, as ours do.\"\"\"
    pairs = [(ours.attention, theirs.self_attn)]
    if hasattr(ours, "cross_attention"):
        pairs.append((ours.cross_attention, theirs.multihead_attn))
    for mine, its in pairs:
        for kind in {kinds}:  # torch keeps W_Q, W_K and W_V in one matrix
            joined = torch.cat([getattr(one, kind) for one in (mine.query, mine.key, mine.value)])
            getattr(its, f"in_proj_{{kind}}").copy_(joined)
        its.out_proj.load_state_dict(mine.output.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.first.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.second.state_dict())
    return theirs.eval()


settings = dict(activation={activation}, norm_first={norm_first}, bias={bias}, batch_first=True)
{run}
torch.testing.assert_close(hidden, theirs, rtol={tolerance}, atol={tolerance})
print("The last hidden state is that of torch's own layers.")\
"""
HIDDEN = "torch.ones(len(theirs), len(theirs), dtype=torch.bool).triu(1)"
TORCH_ENCODER = """\
theirs = COMPUTED["{stack} block 0"]["embeddings"]
hidden_cells = {mask}
for ours in {model}.layers:
    theirs = copied(ours, nn.TransformerEncoderLayer(C, H, F, **settings))(theirs, src_mask=hidden_cells)
{norm}\
"""
TORCH_DECODER = """
memory, theirs = theirs, COMPUTED["decoder block 0"]["embeddings"]
hidden_cells = {mask}
for ours in model.decoder.layers:
    theirs = copied(ours, nn.TransformerDecoderLayer(C, H, F, **settings))(theirs, memory, tgt_mask=hidden_cells)
{norm}\
"""


def transformer_cells(trace: Trace, config: TransformerConfig, head: int, link: str = "") -> tuple[Cell, ...]:
    """Return a whole toy transformer as cells of a notebook.

    Args:
        trace: the model on the text.
        config: its settings.
        head: the head whose matrices the code keeps and prints.
        link: the view's address.
    """
    places = [place.name for place in trace.places]
    weights = DRAW + (DRAW_BIAS if config.bias else "")
    architecture = config.architecture
    shown = (Cell(kind, text) for place in places for kind, text in _printed(place))
    return (
        Cell("markdown", HEADING.format(what=MODELS[architecture])),
        Cell("code", _begin(trace, config, head, link)),
        Cell("markdown", "## The weights come from the seed"),
        Cell("code", plain(draw, *filter(None, [POSITION_FUNCTIONS.get(config.positions)])).text),
        Cell("markdown", "## embeddings: a row of numbers for each token, and one for each position"),
        Cell("code", _embeddings(config)),
        *_parts(config),
        Cell("markdown", "## The model with its weights, and the text on its way through it"),
        Cell("code", f"model = {CLASSES[architecture]}()\n{weights}"),
        Cell("code", WATCH.format(watched="\n".join(_watched(config)))),
        Cell("code", RUN[architecture]),
        *_logits(config, places[-1]),
        *shown,
        Cell("markdown", "## The same as torch, and as the page"),
        Cell("code", _torch(config)),
        compare_places(_matrices(trace, head)),
    )


def _begin(trace: Trace, config: TransformerConfig, head: int, link: str) -> str:
    tokens, target = trace.tokens, trace.decoder_tokens
    return BEGIN.format(
        link=ascii(link), tokens=literals(tokens.labels), ids=literals(tokens.ids), seed=config.seed, head=head,
        target="" if target is None else TARGET.format(tokens=literals(target.labels), ids=literals(target.ids)),
        width=config.width, heads=config.heads, hidden=config.hidden_width, depth=config.depth,
        decoder=DECODER_BLOCKS.format(count=config.decoder_blocks) if _has_two_depths(config) else "",
    )  # fmt: skip


def _has_two_depths(config: TransformerConfig) -> bool:
    """Whether encoder and decoder have numbers of blocks of their own."""
    return config.architecture == "both" and config.decoder_blocks != config.depth


def _embeddings(config: TransformerConfig) -> str:
    ids = "IDS + TARGET_IDS" if config.architecture == "both" else "IDS"
    computed = POSITION_FUNCTIONS.get(config.positions)
    positions = RANDOM if computed is None else f"{computed.__name__}(len(ids), C)"
    return EMBED.format(ids=ids, add=NO_POSITIONS if config.positions == "none" else ADD.format(positions=positions))


def _parts(config: TransformerConfig) -> Iterator[Cell]:
    """Yield the classes of the model, the source of `attnviz.toy`, in a cell each."""
    is_pre, activation = config.norm == "pre", ACTIVATIONS[config.activation]
    setting = Setting(
        {"width": "C", "heads": "H", "layers": "L", "hidden": "F", "dropout": "0.0", "bias": str(config.bias),
         "eps": "1e-05", "norm_first": str(is_pre), "final_norm": "None"},
        {"self.heads": "H", "self.norm_first": str(is_pre), "self.causal": str(config.architecture == "decoder"),
         "self.activation": repr(config.activation), "scaled.requires_grad": "False",
         "ACTIVATIONS[self.activation](self.first(x))": f"{activation}(self.first(x))"},
        ("x_mask", "y_mask", "encoded_mask"),
        {"Decoder": {"layers": "L_DECODER"}} if _has_two_depths(config) else {},
        merges=config.architecture != "both",
    )  # fmt: skip
    found = settled(CLASSES[config.architecture], stacks.__name__, setting)
    yield Cell("markdown", "## LayerNorm")
    yield Cell("code", LAYER_NORM)
    cell: list[str] = []
    for name, text in found.texts.items():
        cell.append(text.replace("nn.LayerNorm(", "LayerNorm("))
        if name in TITLES:
            yield Cell("markdown", f"## {TITLES[name]}")
            yield Cell("code", joined(cell))
            cell = []


def _watched(config: TransformerConfig) -> Iterator[str]:
    """Yield the lines that let the script keep all steps of all blocks."""
    is_both = config.architecture == "both"
    for stack in ("encoder", "decoder") if is_both else (config.architecture,):
        path, place = f"model.{stack}" if is_both else "model", f"{stack} block {{i}}"
        crosses = is_both and stack == "decoder"
        attentions = {"attention": (place, "<", "cross_attention" if crosses else "feed_forward")}
        if crosses:
            place += ", attention to the encoder"
            first = "attention_norm" if config.norm == "post" else "cross_attention_norm<"
            attentions["cross_attention"] = place, first, "feed_forward"
        for name, (at, first, after) in attentions.items():
            steps = TO_RESIDUAL[config.norm] | (TO_END[config.norm] if after == "feed_forward" else {})
            modules = {step: one.format(first=first, attention=name, next=after) for step, one in steps.items()}
            yield WATCHED.format(
                table=f"{stack}_{name}".upper(), layers=f"{path}.layers", place=at, attention=name,
                modules="\n".join(f'    "{step}": "{module}",' for step, module in modules.items()),
            )  # fmt: skip
        if config.norm == "pre":
            count = "L_DECODER" if crosses and _has_two_depths(config) else "L"
            yield FINAL_NORM.format(place=place.replace("{i}", f"{{{count} - 1}}"), stack=path)


def _logits(config: TransformerConfig, place: str) -> Iterator[Cell]:
    """Yield the code of what comes after the last block, if there is anything."""
    if config.architecture == "encoder":
        return
    ids, tokens = ("TARGET_IDS + IDS", "TARGET + TOKENS") if config.architecture == "both" else ("IDS", "TOKENS")
    yield Cell("markdown", "## logits and softmax: how likely each token is to come next")
    yield Cell("code", LOGITS.format(place=place, ids=ids, tokens=tokens))


def _printed(place: str) -> Iterator[tuple[Literal["markdown", "code"], str]]:
    yield "markdown", f"## {place[0].upper()}{place[1:]}"
    yield "code", f'show("{place}")'


def _torch(config: TransformerConfig) -> str:
    """Return the comparison with torch's own layers."""
    is_both = config.architecture == "both"
    norm = "theirs = nn.functional.layer_norm(theirs, (C,))\n" if config.norm == "pre" else ""
    first = "encoder" if is_both else config.architecture
    mask = "None" if first == "encoder" else HIDDEN
    run = TORCH_ENCODER.format(stack=first, model="model.encoder" if is_both else "model", mask=mask, norm=norm)
    if is_both:
        run += TORCH_DECODER.format(norm=norm, mask=HIDDEN)
    return TORCH.format(
        kinds='("weight", "bias")' if config.bias else '("weight",)',
        activation=ACTIVATIONS[config.activation], norm_first=config.norm == "pre", bias=config.bias,
        run=run, tolerance=TOLERANCE,
    )  # fmt: skip


def _matrices(trace: Trace, head: int) -> dict[str, dict[str, Tensor]]:
    """Return what the page shows of each attention with the steps around it, by place and name."""
    names = {name for step in PARTS.values() for name in step.matrices}
    return {
        place.name: {
            name: torch.from_numpy(array).flatten(0, -2)
            for name, array in collect(trace.walk_at(number, head), [head]).items()
            if name in names
        }
        for number, place in enumerate(trace.places)
    }
