"""The model of a training as plain torch code: `Model`, with weights drawn in the same order as in the app."""

from __future__ import annotations

from collections.abc import Iterator

from attnviz.toy.language.config import BigramConfig, GRUConfig, ModelConfig, TokenConfig, has_attention

BIGRAM = '''\
class Model(nn.Module):
    """A table, (V, V): row i holds the logits of what follows token i."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(V, V)

    def forward(self, ids):
        return self.table(ids)
'''
GRU = '''\
class Model(nn.Module):
    """A recurrent network: it reads one token after another and keeps one vector."""

    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(V, {width})
        self.gru = nn.GRU({width}, {width}, {layers}, batch_first=True)
        self.head = nn.Linear({width}, V)

    def forward(self, ids):
        states, _ = self.gru(self.token(ids))
        return self.head(states)
'''
ATTENTION = '''\
C, H, L = {width}, {heads}, {layers}  # width, heads, blocks


class Attention(nn.Module):
    """H heads side by side (Vaswani et al. 2017, section 3.2.2)."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(C, C, bias={bias}) for _ in range(4))

    def forward(self, x, context, visible=None):
        """Let the tokens of x look at those of the context: at all, or where `visible` is True."""
        heads = lambda y: y.unflatten(-1, (H, -1)).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        query, key, value = heads(self.query(x)), heads(self.key(context)), heads(self.value(context))
        scaled = query @ key.transpose(-2, -1) * (1 / math.sqrt(C // H))  # (B, H, Tq, Tk)
        if visible is not None:
            scaled = scaled.masked_fill(~visible, -math.inf)
        self.weights = torch.softmax(scaled, dim=-1)  # each row sums to 1
        return self.output((self.weights @ value).transpose(1, 2).flatten(2))


'''
BLOCK = '''\
class Block(nn.Module):
    """One block: each of its parts reads the stream in this order."""

    def __init__(self):
        super().__init__()
        self.attention = Attention()
{init}        self.dropout = nn.Dropout({dropout})

    def forward(self, x, visible):
{attention}{feed_forward}        return x


'''
DECODER_BLOCK = '''\
class DecoderBlock(Block):
    """A block with an attention to the encoder's output between its parts (cross-attention)."""

    def __init__(self):
        super().__init__()
        self.cross_attention, self.cross_attention_norm = Attention(), {norm}

    def forward(self, x, visible, encoded, seen):
{attention}        x = x + self.dropout(self.cross_attention(self.cross_attention_norm(x), encoded, seen))
{feed_forward}        return x


'''
ONE_STACK = '''\
class Model(nn.Module):
    """Token and position embeddings, the blocks, and a linear map to the logits."""

    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(V, C), nn.Embedding(T, C)
        self.blocks = nn.ModuleList(Block() for _ in range(L))
        self.norm = {norm}
        self.head = nn.Linear(C, {outputs})

    def forward(self, ids):
        visible = {visible}
        x = self.token(ids) + self.position.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x, visible)
        return self.head(self.norm(x))
'''
TWO_STACKS = '''\
class Model(nn.Module):
    """An encoder that reads the source, and a decoder that writes and looks at what the encoder has read."""

    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(V, C), nn.Embedding(T, C)
        self.encoder = nn.ModuleList(Block() for _ in range(L))
        self.encoder_norm = {norm}
        self.decoder = nn.ModuleList(DecoderBlock() for _ in range(L))
        self.decoder_norm = {norm}
        self.head = nn.Linear(C, {outputs})

    def embed(self, ids):
        return self.token(ids) + self.position.weight[: ids.shape[1]]

    def forward(self, ids, source):
        x, y = self.embed(source), self.embed(ids)
        seen = {seen}
        for block in self.encoder:
            x = block(x, seen)
        encoded, visible = self.encoder_norm(x), {causal}
        for block in self.decoder:
            y = block(y, visible, encoded, seen)
        return self.head(self.decoder_norm(y))
'''
CAUSAL = "torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()"
NOT_FILLED = "({} != {})[:, None, None, :]  # nobody looks at what fills up a shorter sequence"
EVERYTHING = "None  # every token looks at every token"
ACTIVATIONS = {"relu": "F.relu({})", "gelu": "F.gelu({})", "gelu_tanh": "F.gelu({}, approximate='tanh')"}
STACKS = {"encoder": "encoder", "decoder": "decoder", "cross": "decoder"}
"""The stack with each kind of attention, in an encoder with a decoder"""


def model_code(config: ModelConfig) -> str:
    """Return the class `Model` and the classes of its parts; the code before it must define `V` and `T`."""
    if isinstance(config, BigramConfig):
        return BIGRAM
    if isinstance(config, GRUConfig):
        return GRU.format(width=config.width, layers=config.layers)
    norm = f"nn.LayerNorm(C, bias={config.bias})" if config.norm else "nn.Identity()"
    add = "x + " if config.residual else ""
    values = {
        "norm": norm,
        "outputs": "V" if config.outputs is None else config.outputs,
        "attention": f"        normed = self.attention_norm(x)\n"
        f"        x = {add}self.dropout(self.attention(normed, normed, visible))\n",
        "feed_forward": _feed_forward(config, add),
    }
    attention = ATTENTION.format(width=config.width, heads=config.heads, layers=config.layers, bias=config.bias)
    init = "".join(f"        {line}\n" for line in _init(config, norm))
    block = attention + BLOCK.format(init=init, dropout=config.dropout, **values)
    if config.architecture == "both":
        seen = _not_filled(config, "source")
        return block + DECODER_BLOCK.format(**values) + TWO_STACKS.format(seen=seen, causal=CAUSAL, **values)
    is_decoder = config.architecture == "decoder"
    return block + ONE_STACK.format(visible=CAUSAL if is_decoder else _not_filled(config, "ids"), **values)


def inside(config: ModelConfig) -> str:
    """Return the prefix or prefixes of the names of the parameters inside the blocks, as an expression."""
    is_both = isinstance(config, TokenConfig) and config.architecture == "both"
    return '("encoder.", "decoder.")' if is_both else '"blocks."'


def attentions(config: ModelConfig, kind: str) -> str:
    """Return all attentions of a kind as an expression; "" if the model has none."""
    if not has_attention(config):
        return ""
    if config.architecture == "both":
        name = "cross_attention" if kind == "cross" else "attention"
        return f"[block.{name} for block in model.{STACKS[kind]}]"
    return "[block.attention for block in model.blocks]" if kind == config.architecture else ""


def _not_filled(config: TokenConfig, ids: str) -> str:
    return EVERYTHING if config.padding is None else NOT_FILLED.format(ids, config.padding)


def _init(config: TokenConfig, norm: str) -> Iterator[str]:
    yield f"self.attention_norm = {norm}"
    if config.feed_forward != 0:
        hidden = config.feed_forward_width
        yield f"self.first = nn.Linear(C, {hidden}, bias={config.bias})"
        yield f"self.second = nn.Linear({hidden}, C, bias={config.bias})"
        yield f"self.feed_forward_norm = {norm}"


def _feed_forward(config: TokenConfig, add: str) -> str:
    if config.feed_forward == 0:
        return ""
    hidden = ACTIVATIONS[config.activation].format("self.first(self.feed_forward_norm(x))")
    return f"        x = {add}self.dropout(self.second({hidden}))\n"
