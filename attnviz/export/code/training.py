"""Exports a training as code: a script of plain torch that trains the same model to the same losses.

It draws weights and batches in the same order from the same seeds, so on the same machine its losses are equal to the
last digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attnviz.toy.language.config import BigramConfig, GRUConfig, ModelConfig, TokenConfig
from attnviz.training.ladder import BLOCK as BLOCK_SIZE
from attnviz.training.loop import MUON_RATE
from attnviz.training.plan import TEXT, Plan
from attnviz.training.settings import TrainingSettings
from attnviz.training.text.subject import AT_ONCE, TRAIN_PART

BEGIN = '''\
"""Trains a small model as attnviz did: {what}. It needs torch alone.

Run it with the text as a file:  python this_script.py corpus.txt
"""

import hashlib
import math
import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
SEED, STEPS, BATCH = {seed}, {steps}, {batch}
IGNORED = -100  # a target that does not count
'''
OF_TEXT = f'''\
SHA256 = {{sha256}}
T = {{block}}  # block size: the longest context

with open(sys.argv[1] if len(sys.argv) > 1 else "corpus.txt", encoding="utf-8", newline="") as file:
    text = file.read()
if hashlib.sha256(text.encode()).hexdigest() != SHA256:
    print("This is not the text of the training that was exported: the losses will differ.")
characters = sorted(set(text))
V = len(characters)
ids = torch.tensor([characters.index(one) for one in text])
cut = int({TRAIN_PART} * len(ids))
train, validation = ids[:cut], ids[cut:]


def draw(size, generator):
    """Blocks from anywhere in the training part, and the character after each of theirs: (B, T) and (B, T)."""
    starts = torch.randint(len(train) - T, (size, 1), generator=generator)
    blocks = train[starts + torch.arange(T + 1)]
    return blocks[:, :-1], blocks[:, 1:]


def validation_loss(model):
    """The mean loss of the validation part in nats a character, in blocks without overlap."""
    model.eval()
    x, y, total = validation[:-1], validation[1:], 0.0
    with torch.no_grad():
        for start in range(0, len(x), {AT_ONCE} * T):
            part, then = x[start : start + {AT_ONCE} * T], y[start : start + {AT_ONCE} * T]
            whole = len(part) // T * T
            for one, after in ((part[:whole].view(-1, T), then[:whole]), (part[whole:][None], then[whole:])):
                if one.numel():
                    total += F.cross_entropy(model(one).flatten(0, 1), after, reduction="sum").item()
    model.train()
    return total / len(x)
'''
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

    def forward(self, x):
        heads = lambda y: y.unflatten(-1, (H, -1)).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        query, key, value = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
        scores = query @ key.transpose(-2, -1) / math.sqrt(C // H)  # (B, H, T, T)
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -math.inf)  # the causal mask
        weights = torch.softmax(scores, dim=-1)
        return self.output((weights @ value).transpose(1, 2).flatten(2))


'''
BLOCK = '''\
class Block(nn.Module):
    """One block of the model; each of its parts is read from its input in this order."""

    def __init__(self):
        super().__init__()
        self.attention = Attention()
{init}        self.dropout = nn.Dropout({dropout})

    def forward(self, x):
{forward}        return x


class Model(nn.Module):
    """Token and position embeddings, the blocks, and a linear map to the logits."""

    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(V, C), nn.Embedding(T, C)
        self.blocks = nn.ModuleList(Block() for _ in range(L))
        self.norm = {norm}
        self.head = nn.Linear(C, V)

    def forward(self, ids):
        x = self.token(ids) + self.position.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
'''
TRAIN = '''\
torch.manual_seed(SEED)
model = Model().train()
print(sum(one.numel() for one in model.parameters()), "parameters")
# Matrices inside the blocks decay; embeddings, biases and norms do not.
matrices = [one for name, one in model.named_parameters() if one.ndim == 2 and name.startswith("blocks.")]
others = [one for name, one in model.named_parameters() if one.ndim != 2 or not name.startswith("blocks.")]
{optimiser}rates = [[group["lr"] for group in one.param_groups] for one in optimisers]


def rate(step):
    """The learning rate of a step, as a part of the highest."""
{rate}

SHOWN = {losses}  # what the app showed, by step
torch.manual_seed(SEED)  # of dropout
generator = torch.Generator().manual_seed(SEED)  # of the batches
for step in range(STEPS):
    x, y = draw(BATCH, generator)
    with torch.autocast("cpu", torch.bfloat16, enabled={bfloat16}):
        logits = model(x)
    loss = F.cross_entropy(logits.float().flatten(0, 1), y.flatten(), ignore_index=IGNORED)
    for optimiser, highest in zip(optimisers, rates):
        for group, one in zip(optimiser.param_groups, highest):
            group["lr"] = one * rate(step)
    model.zero_grad()
    loss.backward()
{clip}    for optimiser in optimisers:
        optimiser.step()
    if step in SHOWN or step % 100 == 0 or step == STEPS - 1:
        shown = f", in the app {{SHOWN[step]:.6f}}" if step in SHOWN else ""
        print(f"step {{step}}: loss {{loss.item():.6f}}{{shown}}")
print(f"validation loss {{validation_loss(model):.6f}}")
'''
MUON = """\
optimisers = [
    torch.optim.Muon(matrices, lr={rate}, weight_decay={decay}),
    torch.optim.AdamW(others, lr={other}, betas={betas}, weight_decay=0.0, fused=True),
]
"""
ACTIVATIONS = {"relu": "F.relu({})", "gelu": "F.gelu({})", "gelu_tanh": "F.gelu({}, approximate='tanh')"}


class NoTrainingCodeError(ValueError):
    """No script can be written for a training. The message is one sentence for the user."""


def training_script(plan: Plan, *, sha256: str, losses: Mapping[int, float]) -> str:
    """Return a script of plain torch that trains a model on a text, as a plan says.

    Args:
        plan: the training.
        sha256: of the text, in UTF-8; the script says so if it is given another.
        losses: some losses of the training, by step; the script compares its own with them.

    Raises:
        NoTrainingCodeError: the plan is not of a text, or its model is no decoder.
    """
    config = plan.model
    if plan.subject != TEXT:
        raise NoTrainingCodeError(
            "There is a script for trainings on a text only: a task draws its examples in the app."
        )
    begin = BEGIN.format(
        what=_what(config), seed=plan.training.seed, steps=plan.training.steps, batch=plan.training.batch
    )
    data = OF_TEXT.format(sha256=repr(sha256), block=getattr(config, "block_size", BLOCK_SIZE))
    return "\n\n".join((begin + data, _model(config), _train(plan.training, losses)))


def _what(config: ModelConfig) -> str:
    return {TokenConfig: "a transformer", GRUConfig: "a GRU", BigramConfig: "a bigram model"}[type(config)]


def _model(config: ModelConfig) -> str:
    if isinstance(config, BigramConfig):
        return BIGRAM
    if isinstance(config, GRUConfig):
        return GRU.format(width=config.width, layers=config.layers)
    if config.architecture != "decoder" or config.outputs not in (None, config.vocabulary):
        raise NoTrainingCodeError("There is a script for decoders, GRUs and bigram models only.")
    norm = f"nn.LayerNorm(C, bias={config.bias})" if config.norm else "nn.Identity()"
    attention = ATTENTION.format(width=config.width, heads=config.heads, layers=config.layers, bias=config.bias)
    return attention + BLOCK.format(
        init="".join(f"        {line}\n" for line in _init(config, norm)),
        dropout=config.dropout,
        forward="".join(f"        x = {line}\n" for line in _forward(config)),
        norm=norm,
    )


def _init(config: TokenConfig, norm: str) -> Iterator[str]:
    yield f"self.attention_norm = {norm}"
    if config.feed_forward != 0:
        hidden = 4 * config.width if config.feed_forward is None else config.feed_forward
        yield f"self.first = nn.Linear(C, {hidden}, bias={config.bias})"
        yield f"self.second = nn.Linear({hidden}, C, bias={config.bias})"
        yield f"self.feed_forward_norm = {norm}"


def _forward(config: TokenConfig) -> Iterator[str]:
    add = "x + " if config.residual else ""
    yield f"{add}self.dropout(self.attention(self.attention_norm(x)))"
    if config.feed_forward != 0:
        hidden = ACTIVATIONS[config.activation].format("self.first(self.feed_forward_norm(x))")
        yield f"{add}self.dropout(self.second({hidden}))"


def _train(settings: TrainingSettings, losses: Mapping[int, float]) -> str:
    return TRAIN.format(
        optimiser=_optimiser(settings),
        rate="".join(f"    {line}\n" for line in _rate(settings)),
        bfloat16=settings.precision == "bfloat16",
        clip=f"    nn.utils.clip_grad_norm_(model.parameters(), {settings.clip})\n" if settings.clip else "",
        losses={step: round(loss, 6) for step, loss in sorted(losses.items())},
    )


def _optimiser(settings: TrainingSettings) -> str:
    rate, decay, betas = settings.learning_rate, settings.weight_decay, (0.9, settings.beta2)
    groups = f'[{{"params": matrices, "weight_decay": {decay}}}, {{"params": others, "weight_decay": 0.0}}]'
    groups = f'[group for group in {groups} if group["params"]]'
    if settings.optimiser == "muon":
        return MUON.format(rate=MUON_RATE * rate, decay=decay, other=rate, betas=betas)
    made = {
        "adamw": f"torch.optim.AdamW(groups, lr={rate}, betas={betas}, fused=True)",
        "sgd": f"torch.optim.SGD(groups, lr={rate})",
    }
    return f"groups = {groups}\noptimisers = [{made[settings.optimiser]}]\n"


def _rate(settings: TrainingSettings) -> Iterator[str]:
    yield f"risen = min(1, (step + 1) / {settings.warm_up})" if settings.warm_up else "risen = 1"
    if settings.decay == "none":
        yield "return risen"
    else:
        yield "fallen = 0.5 * (1 + math.cos(math.pi * min(1, step / STEPS)))"
        yield f"return risen * ({settings.last_rate} + {1 - settings.last_rate} * fallen)"
