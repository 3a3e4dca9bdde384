"""Exports the toy transformer as code: one class for each part, with weights drawn as `attnviz.toy.transformer` does.

The code computes the whole model on the text, prints every matrix of every block, and compares them with torch's own
layers and with what the page shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from attnviz.export.code.cells import TOLERANCE, Cell, compare_places, literals, section
from attnviz.export.code.toy import COMPUTED_POSITIONS, SEEDED, visible_code
from attnviz.export.code.transformer_attention import (
    attention_code,
    lacking_in_torch,
    same_attention_code,
)
from attnviz.export.numbers import collect
from attnviz.figures.style import ROWS_AND_COLUMNS
from attnviz.steps import PARTS
from attnviz.toy.config import MAX_TEXT_TOKENS, MAX_WIDTH, TransformerConfig
from attnviz.trace.trace import Trace

Stack = Literal["encoder", "decoder"]
MODELS = {
    "encoder": "an encoder alone: every token looks at every token",
    "decoder": "a decoder alone: a token looks at itself and at those before it",
    "both": "an encoder of one text, and a decoder of another that also looks at the encoder's output",
}
LOCAL_MODELS = {
    "encoder": "an encoder alone: every token looks at the tokens of its window",
    "decoder": "a decoder alone: a token looks at itself and at those before it in its window",
    "both": f"{MODELS['both']}; a token of either looks at those of its own text in its window",
}
"""`MODELS` with a window"""

HEADING = """\
# A whole transformer in plain torch

Written by attnviz from a view of the page Transformer:
{what}.

{axes} Blocks and heads are counted from 0. It needs torch alone. The weights are drawn
from a seed and have learned nothing. At the end it compares its numbers with those of torch's own {peer}, and with
those that the page showed.\
"""
BEGIN = """\
import hashlib
import math

import torch
from torch import nn

torch.set_printoptions(precision=4, sci_mode=False, linewidth=200, threshold=2000)
torch.set_grad_enabled(False)  # nothing is trained here
VIEW = {link}  # where the app shows the same
TOKENS = {tokens}
IDS = {ids}  # the tokenizer's output: one id per token
{target}SEED = {seed}
C, H, F, L = {width}, {heads}, {hidden}, {depth}  # width of a token, heads, hidden width of the feed-forward, blocks
{decoder}D = C // H  # width of a head
{shared}HEAD = {head}  # the head whose matrices are kept
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
KEY_HEADS = """\
G = {count}  # heads of keys and values, which the H heads of queries share
"""
TARGET = """\
TARGET = {tokens}  # what the decoder has written so far
TARGET_IDS = {ids}
"""
EMBED = f"""\
VOCABULARY = list(dict.fromkeys({{ids}}))  # V tokens: each that occurs, once
rows = [torch.randn(1, {MAX_WIDTH}, generator=seeded("embedding", one))[:, :C] for one in VOCABULARY]
E = torch.cat(rows) / math.sqrt(C)  # (V, C)


{{positions}}def embed(ids, place):
    tokens = E[[VOCABULARY.index(one) for one in ids]] * math.sqrt(C)  # section 3.4 of the paper
{{add}}\
"""
ADD = """\
    keep(place, "token_embeddings", tokens)
    return tokens + keep(place, "positions", positions(len(ids)))"""
NO_POSITIONS = {
    "none": "    return tokens  # positions are off",
    "rotary": "    return tokens  # positions are rotary: each self-attention turns its queries and keys",
    "alibi": "    return tokens  # each self-attention adds a position bias to its scores",
    "buckets": "    return tokens  # each self-attention adds a position bias to its scores",
}
RANDOM = f"""\
def positions(n):
    \"\"\"One row for each position, (n, C), as a learned table is before training.\"\"\"
    return torch.randn({MAX_TEXT_TOKENS}, {MAX_WIDTH}, generator=seeded("position"))[:n, :C]


"""
POSITIONS = {name: f'''\
def positions(n):
    """One row for each position, (n, C)."""
    {angle.format("n")}
    return {rows}


''' for name, (angle, rows) in COMPUTED_POSITIONS.items()} | {"random": RANDOM}  # fmt: skip
POSITIONS |= dict.fromkeys(NO_POSITIONS, "")

FEED_FORWARD = """\
class FeedForward(nn.Module):
    \"\"\"Two linear maps with an activation between them, for each token alone.\"\"\"

    def __init__(self):
        super().__init__()
        self.first, self.second = {first}, {second}

    def forward(self, x, place):
        inner = keep(place, "feed_forward_inner", self.first(x))  # (T, C) -> (T, F)
        hidden = keep(place, "feed_forward_hidden", {activation}(inner))
        return keep(place, "feed_forward_output", self.second(hidden))  # (T, F) -> (T, C)\
"""
ACTIVATIONS = {"relu": "torch.relu", "gelu": "nn.functional.gelu",
               "gelu_tanh": 'nn.GELU(approximate="tanh")'}  # fmt: skip
LAYER_NORM = """\
class LayerNorm(nn.Module):
    \"\"\"Each row, less its mean, divided by its standard deviation, {said}.\"\"\"

    def __init__(self):
        super().__init__()
        {weights}

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, correction=0, keepdim=True)
        return (x - mean) / torch.sqrt(variance + 1e-5) * self.gamma{beta}\
"""
NORM_WEIGHTS = {
    True: {"said": "times γ, plus β",
           "weights": "self.gamma, self.beta = nn.Parameter(torch.ones(C)), nn.Parameter(torch.zeros(C))",
           "beta": " + self.beta"},
    False: {"said": "times γ", "weights": "self.gamma = nn.Parameter(torch.ones(C))", "beta": ""},
}  # fmt: skip

ENCODER_LAYER = """\
class EncoderLayer(nn.Module):
    \"\"\"Attention, then feed-forward: {said}.\"\"\"

    def __init__(self):
        super().__init__()
        self.attention, self.attention_norm = Attention(), LayerNorm()
        self.feed_forward, self.feed_forward_norm = FeedForward(), LayerNorm()

    def forward(self, x, place, mask=None):
{forward}\
"""
DECODER_LAYER = """\
class DecoderLayer(EncoderLayer):
    \"\"\"An encoder layer with an attention to the encoder's output between its two parts.\"\"\"

    def __init__(self):
        super().__init__()
        self.cross_attention, self.cross_attention_norm = Attention(), LayerNorm()

    def forward(self, y, encoded, place, mask):
{forward}\
"""
SAID = {
    "post": "each is added to its input, and the sum is normalised (post-norm)",
    "pre": "each reads its input normalised, and is added to the input (pre-norm)",
}
ENCODER_FORWARD = {
    "post": """\
        keep(place, "embeddings", x)
        x = keep(place, "attention_residual", x + self.attention(x, x, place, mask))
        x = keep(place, "attention_norm", self.attention_norm(x))
        x = keep(place, "feed_forward_residual", x + self.feed_forward(x, place))
        return keep(place, "block_output", self.feed_forward_norm(x))""",
    "pre": """\
        normed = keep(place, "input_norm", self.attention_norm(keep(place, "embeddings", x)))
        x = keep(place, "attention_residual", x + self.attention(normed, normed, place, mask))
        normed = keep(place, "feed_forward_norm", self.feed_forward_norm(x))
        return keep(place, "feed_forward_residual", x + self.feed_forward(normed, place))""",
}
DECODER_FORWARD = {
    "post": """\
        keep(place, "embeddings", y)
        y = keep(place, "attention_residual", y + self.attention(y, y, place, mask))
        y = keep(place, "attention_norm", self.attention_norm(y))
        place = f"{place}, attention to the encoder"
        keep(place, "embeddings", y)
        keep(place, "embeddings_k", encoded)
        y = keep(place, "attention_residual", y + self.cross_attention(y, encoded, place))
        y = keep(place, "attention_norm", self.cross_attention_norm(y))
        y = keep(place, "feed_forward_residual", y + self.feed_forward(y, place))
        return keep(place, "block_output", self.feed_forward_norm(y))""",
    "pre": """\
        normed = keep(place, "input_norm", self.attention_norm(keep(place, "embeddings", y)))
        y = keep(place, "attention_residual", y + self.attention(normed, normed, place, mask))
        place = f"{place}, attention to the encoder"
        keep(place, "embeddings", y)
        keep(place, "embeddings_k", encoded)
        normed = keep(place, "input_norm", self.cross_attention_norm(y))
        y = keep(place, "attention_residual", y + self.cross_attention(normed, encoded, place))
        normed = keep(place, "feed_forward_norm", self.feed_forward_norm(y))
        return keep(place, "feed_forward_residual", y + self.feed_forward(normed, place))""",
}
"""The code of a layer's `forward`, by the place of the norm"""
STACK = """\
class {name}(nn.Module):
    \"\"\"{count} layers one after another{ended}.\"\"\"

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList({layer}() for _ in range({count})){norm}

    def forward(self, {takes}):
        mask = {mask}
        for i, layer in enumerate(self.layers):
            {x} = layer({gives}, {place}, mask)
        return {result}\
"""
DRAW = """\
for name, module in model.named_modules():  # each matrix has a seed of its own, from its name
    if isinstance(module, nn.Linear):
        inputs, outputs = module.in_features, module.out_features
        bound = math.sqrt(6 / (inputs + outputs))  # Glorot and Bengio 2010
        module.weight.uniform_(-bound, bound, generator=seeded(f"{name}.weight"))\
"""
DRAW_BIAS = """
        bound = 1 / math.sqrt(inputs)  # as nn.Linear draws it
        module.bias.uniform_(-bound, bound, generator=seeded(f"{name}.bias"))\
"""
FIRST_OF_EACH = """\
def first_of_each(rows):
    return rows.unflatten(0, (H, D))[:: H // G].flatten(0, 1)  # (H·D, ...) -> (H, D, ...) -> (G·D, ...)


"""
DRAW_SHARED = """\
for name, module in model.named_modules():  # each matrix has a seed of its own, from its name
    if isinstance(module, nn.Linear):
        is_shared = name.endswith((".key", ".value"))  # drawn for H heads; those that share have the first one's
        inputs, outputs = module.in_features, C if is_shared else module.out_features
        bounds = {"weight": math.sqrt(6 / (inputs + outputs)), "bias": 1 / math.sqrt(inputs)}  # Glorot; nn.Linear
        for kind, parameter in module.named_parameters():
            rows = torch.empty(outputs, *parameter.shape[1:])
            rows.uniform_(-bounds[kind], bounds[kind], generator=seeded(f"{name}.{kind}"))
            parameter.copy_(first_of_each(rows) if is_shared else rows)\
"""
"""`DRAW` and `DRAW_BIAS` for heads that share keys and values"""
RUN = {
    "encoder": 'hidden = model(embed(IDS, "encoder block 0"))  # (T, C): a row of numbers for each token',
    "decoder": 'hidden = model(embed(IDS, "decoder block 0"))  # (T, C)',
    "both": """\
encoded = model["encoder"](embed(IDS, "encoder block 0"))  # (Tk, C)
hidden = model["decoder"](embed(TARGET_IDS, "decoder block 0"), encoded)  # (Tq, C)""",
}
MAKE = {
    "encoder": "model = Encoder()",
    "decoder": "model = Decoder()",
    "both": 'model = nn.ModuleDict({"encoder": Encoder(), "decoder": Decoder()})',
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
OF_EACH_HEAD = """\
def of_each_head(rows):
    \"\"\"Repeat the rows of shared keys and values for each head: torch's layers share none.\"\"\"
    by_head = rows.unflatten(0, (-1, D))
    return by_head.repeat_interleave(H // len(by_head), dim=0).flatten(0, 1)


"""
TORCH = """\
{repeat}def copied(ours, theirs):
    \"\"\"Give one of torch's layers the weights of ours. Its norms begin with γ = 1 and β = 0, as ours do.\"\"\"
    pairs = [(ours.attention, theirs.self_attn)]
    if hasattr(ours, "cross_attention"):
        pairs.append((ours.cross_attention, theirs.multihead_attn))
    for mine, its in pairs:
        for kind in {kinds}:  # torch keeps W_Q, W_K and W_V in one matrix
            joined = torch.cat([{rows} for one in (mine.query, mine.key, mine.value)])
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
for ours in model["decoder"].layers:
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
    function, draw = "", DRAW + (DRAW_BIAS if config.bias else "")
    if config.shared_by > 1:
        function, draw = FIRST_OF_EACH, DRAW_SHARED
    architecture = config.architecture
    peer = "attention" if lacking_in_torch(config) else "layers"
    what = (MODELS if config.window is None else LOCAL_MODELS)[architecture]
    run = f"{function}{MAKE[architecture]}\n{draw}\n\n{RUN[architecture]}"
    return (
        Cell("markdown", HEADING.format(axes=ROWS_AND_COLUMNS, what=what, peer=peer)),
        Cell("code", _begin(trace, config, head, link)),
        *section("The weights come from the seed", SEEDED),
        *section("embeddings: a row of numbers for each token, and one for each position", _embeddings(config)),
        *_parts(config),
        *section("The model with its weights, and the text on its way through it", run),
        *_logits(config, places[-1]),
        *(cell for place in places for cell in section(f"{place[0].upper()}{place[1:]}", f'show("{place}")')),
        *section("The same as torch, and as the page", _torch(config)),
        compare_places(_matrices(trace, head)),
    )


def _begin(trace: Trace, config: TransformerConfig, head: int, link: str) -> str:
    tokens, target = trace.tokens, trace.decoder_tokens
    return BEGIN.format(
        link=ascii(link), tokens=literals(tokens.labels), ids=literals(tokens.ids), seed=config.seed, head=head,
        target="" if target is None else TARGET.format(tokens=literals(target.labels), ids=literals(target.ids)),
        width=config.width, heads=config.heads, hidden=config.hidden_width, depth=config.depth,
        decoder=DECODER_BLOCKS.format(count=config.decoder_blocks) if _has_two_depths(config) else "",
        shared="" if config.shared_by == 1 else KEY_HEADS.format(count=config.kv_heads),
    )  # fmt: skip


def _has_two_depths(config: TransformerConfig) -> bool:
    """Whether encoder and decoder have different numbers of blocks."""
    return config.architecture == "both" and config.decoder_blocks != config.depth


def _embeddings(config: TransformerConfig) -> str:
    ids = "IDS + TARGET_IDS" if config.architecture == "both" else "IDS"
    add = NO_POSITIONS.get(config.positions, ADD)
    return EMBED.format(ids=ids, positions=POSITIONS[config.positions], add=add)


def _parts(config: TransformerConfig) -> Iterator[Cell]:
    """Yield the classes of the parts."""
    stacks: tuple[Stack, ...] = ("encoder", "decoder")
    if config.architecture != "both":
        stacks = (config.architecture,)
    forward = {"first": _linear(config, "C", "F"), "second": _linear(config, "F", "C")}
    layer = ENCODER_LAYER.format(said=SAID[config.norm], forward=ENCODER_FORWARD[config.norm])
    attention = attention_code(config, partial(_linear, config))
    yield from section("Attention: scores, softmax, weighted values", attention)
    yield from section("Feed-forward", FEED_FORWARD.format(activation=ACTIVATIONS[config.activation], **forward))
    yield from section("LayerNorm", LAYER_NORM.format(**NORM_WEIGHTS[config.bias]))
    yield from section("A layer: both, with their residual sums", layer)
    if config.architecture == "both":
        layer = DECODER_LAYER.format(forward=DECODER_FORWARD[config.norm])
        yield from section("A layer of the decoder: with an attention to the encoder between them", layer)
    for stack in stacks:
        yield from section(f"The {stack}", _stack(config, stack))


def _stack(config: TransformerConfig, stack: Stack) -> str:
    """Return the class of a stack of layers."""
    x, arguments = ("y", "y, encoded") if (config.architecture, stack) == ("both", "decoder") else ("x", "x")
    count = "L_DECODER" if x == "y" and _has_two_depths(config) else "L"
    place = f"{stack} block {{i}}"
    last = f"{stack} block {{{count} - 1}}{', attention to the encoder' if x == 'y' else ''}"
    is_pre = config.norm == "pre"
    return STACK.format(
        name=stack.title(),
        count=count,
        ended=", and a final norm" if is_pre else "",
        layer="DecoderLayer" if x == "y" else "EncoderLayer",
        norm="\n        self.norm = LayerNorm()" if is_pre else "",
        takes=arguments, gives=arguments, x=x, place=f'f"{place}"',
        mask=_mask(config, stack, f"len({x})"),
        result=f'keep(f"{last}", "final_norm", self.norm({x}))' if is_pre else x,
    )  # fmt: skip


def _mask(config: TransformerConfig, stack: Stack, length: str) -> str:
    """Return the expression of a stack's mask, with a comment."""
    reach, is_causal = config.reach(stack), stack == "decoder"
    whom = "itself and those before it" if is_causal else "every token"
    if reach is not None:
        whom = f"itself and {reach[0]} before it" if is_causal else f"itself and {reach[0]} on each side"
    subject = "a token" if is_causal or reach is not None else "every token"
    return f"{visible_code(length, reach, causal=is_causal)}  # {subject} looks at {whom}"


def _logits(config: TransformerConfig, place: str) -> tuple[Cell, ...]:
    """Return the code that follows the last block, if any."""
    if config.architecture == "encoder":
        return ()
    ids, tokens = ("TARGET_IDS + IDS", "TARGET + TOKENS") if config.architecture == "both" else ("IDS", "TOKENS")
    code = LOGITS.format(place=place, ids=ids, tokens=tokens)
    return section("logits and softmax: how likely each token is to come next", code)


def _linear(config: TransformerConfig, inputs: str, outputs: str) -> str:
    return f"nn.Linear({inputs}, {outputs}{'' if config.bias else ', bias=False'})"


def _torch(config: TransformerConfig) -> str:
    """Return the comparison with torch's own layers, or with its attention if layers of this kind are not in torch."""
    if lacking_in_torch(config):
        return same_attention_code(config)
    is_both = config.architecture == "both"
    norm = "theirs = nn.functional.layer_norm(theirs, (C,))\n" if config.norm == "pre" else ""
    first: Stack = "decoder" if config.architecture == "decoder" else "encoder"
    model = 'model["encoder"]' if is_both else "model"
    run = TORCH_ENCODER.format(stack=first, model=model, mask=_hidden(config, first), norm=norm)
    if is_both:
        run += TORCH_DECODER.format(norm=norm, mask=_hidden(config, "decoder"))
    is_shared = config.shared_by > 1
    return TORCH.format(
        repeat=OF_EACH_HEAD if is_shared else "",
        rows="of_each_head(getattr(one, kind))" if is_shared else "getattr(one, kind)",
        kinds='("weight", "bias")' if config.bias else '("weight",)',
        activation=ACTIVATIONS[config.activation], norm_first=config.norm == "pre", bias=config.bias,
        run=run, tolerance=TOLERANCE,
    )  # fmt: skip


def _hidden(config: TransformerConfig, stack: Stack) -> str:
    """Return the expression of the cells that a stack's mask hides, as torch's layers take them."""
    visible = visible_code("len(theirs)", config.reach(stack), causal=stack == "decoder")
    return visible if visible == "None" else f"~{visible}"


def _matrices(trace: Trace, head: int) -> dict[str, dict[str, Tensor]]:
    """Return the matrices that the page shows of each attention and the steps around it, by place and name."""
    names = {name for step in PARTS.values() for name in step.matrices}
    return {
        place.name: {
            name: torch.from_numpy(array).flatten(0, -2)
            for name, array in collect(trace.walk_at(number, head), [head]).items()
            if name in names
        }
        for number, place in enumerate(trace.places)
    }
