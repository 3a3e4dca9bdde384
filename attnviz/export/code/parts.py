"""The parts of a transformer as code: attention, feed-forward, norm, layers and stacks, a class each."""

from __future__ import annotations

ATTENTION = """\
def heads(x):
    return x.unflatten(-1, (H, D)).transpose(0, 1)  # (T, C) -> (T, H, D) -> (H, T, D)


class Attention(nn.Module):
    \"\"\"H heads side by side, and W_O. Queries come from x, keys and values from the context.\"\"\"

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.output = ({linear} for _ in range(4))

    def forward(self, x, context, place, mask=None):
        query, key, value = heads(self.query(x)), heads(self.key(context)), heads(self.value(context))
        scores = query @ key.transpose(-2, -1)  # (H, Tq, D) @ (H, D, Tk) -> (H, Tq, Tk)
        scaled = scores / math.sqrt(D)
        masked = scaled if mask is None else scaled.masked_fill(~mask, -math.inf)  # True: visible
        weights = torch.softmax(masked, dim=-1)  # each row sums to 1
        head_outputs = weights @ value  # (H, Tq, Tk) @ (H, Tk, D) -> (H, Tq, D)
        for name, matrix in (
            ("query", query), ("key", key), ("value", value), ("scores", scores), ("scaled", scaled),
            ("masked", masked), ("weights", weights), ("head_outputs", head_outputs),
        ):
            keep(place, name, matrix[HEAD])
        concat = keep(place, "concat", head_outputs.transpose(0, 1).flatten(1))  # (H, Tq, D) -> (Tq, H·D)
        return keep(place, "output", self.output(concat))\
"""
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
"""By the place of the norm"""
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
CAUSAL = "torch.ones(len({x}), len({x}), dtype=torch.bool).tril()  # a token looks at itself and those before it"
