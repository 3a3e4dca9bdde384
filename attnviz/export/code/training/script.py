"""Writes the script of a training (data, model, loop and results), and the script of a generated text.

A training's script draws weights and batches in the app's order from the same seeds, so on the same machine its losses
agree to the last digits. A generation's script draws the same numbers from the same seed, so it prints the same text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnviz.export.code.cells import literals
from attnviz.export.code.training import source
from attnviz.export.code.training.data import (
    TAGGED_ABOUT,
    TAGGED_IMPORTS,
    TEXT_ABOUT,
    TEXT_END,
    tagged_code,
    tagged_end,
    text_code,
)
from attnviz.export.code.training.models import attentions, inside, model_code
from attnviz.toy.language.config import GRUConfig, ModelConfig, TokenConfig, has_attention, longest_context
from attnviz.training.generation import Sampling
from attnviz.training.loop import MUON_RATE
from attnviz.training.plan import Plan, subject_of
from attnviz.training.settings import TAGGED, TEXT, TrainingSettings
from attnviz.training.tasks.task import IGNORED

if TYPE_CHECKING:
    from attnviz.training.tagged.files import TaggedFiles
    from attnviz.training.tasks.task import Task


BEGIN = '''\
"""Trains a small model as attnviz did: {what}. It needs torch alone.

{about}
"""

from __future__ import annotations

{imports}

torch.set_num_threads(1)
SEED, STEPS, BATCH = {seed}, {steps}, {batch}
'''
TASK_BEGIN = """\
V, T = {vocabulary}, {block}  # tokens of the vocabulary, and the longest sequence

# The task: how its sequences are drawn, and how much a head shows the pattern that solves it

"""
TASK_END = """
# What it does on sequences on which it was not trained
model.eval()
held = held_out()
with torch.no_grad():
    logits = model({reads})
loss = F.cross_entropy(logits.flatten(0, 1), held.targets.flatten(), ignore_index=IGNORED)
right = logits.argmax(-1) == held.targets
accuracy = {accuracy}
print(f"held out: loss {{loss.item():.6f}}, accuracy {{accuracy.item():.4f}}")
"""
ACCURACY = {
    False: "right[held.targets != IGNORED].float().mean()  # of all positions that count",
    True: "(right | (held.targets == IGNORED)).all(-1).float().mean()  # a sequence is right if all of it is",
}
"""The code for the accuracy, by whether a sequence is right only as a whole"""
PATTERNS = """\

# The head that shows each pattern most
PATTERNS = [
{patterns}
]
for title, score, attentions in PATTERNS:
    heads = {{
        (layer, head): one
        for layer, attention in enumerate(attentions)
        for head, one in enumerate(score(attention.weights, held).tolist())
    }}
    layer, head = max(heads, key=heads.get)
    print(f"{{title}}: {{heads[layer, head]:.4f}} of 1 in layer {{layer}}, head {{head}}")
"""
TRAIN = '''\
torch.manual_seed(SEED)
model = Model().train()
print(sum(one.numel() for one in model.parameters()), "parameters")
# Matrices inside the blocks decay; embeddings, biases and norms do not.
matrices = [one for name, one in model.named_parameters() if one.ndim == 2 and name.startswith({inside})]
others = [one for name, one in model.named_parameters() if one.ndim != 2 or not name.startswith({inside})]
{optimiser}rates = [[group["lr"] for group in one.param_groups] for one in optimisers]


def rate(step):
    """The learning rate of a step, as a part of the highest."""
{rate}

SHOWN = {losses}  # what the app showed, by step
torch.manual_seed(SEED)  # of dropout
generator = torch.Generator().manual_seed(SEED)  # of the batches
for step in range(STEPS):
    {draw}
    with torch.autocast("cpu", torch.bfloat16, enabled={bfloat16}):
        logits = model({reads})
    loss = F.cross_entropy(logits.float().flatten(0, 1), {targets})
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
'''
ARCHITECTURES = {"encoder": "an encoder", "decoder": "a decoder", "both": "an encoder with a decoder"}
GROUPS = """\
groups = [{{"params": matrices, "weight_decay": {decay}}}, {{"params": others, "weight_decay": 0.0}}]
groups = [group for group in groups if group["params"]]
"""
MUON = """\
optimisers = [
    torch.optim.Muon(matrices, lr={rate}, weight_decay={decay}),
    torch.optim.AdamW(others, lr={other}, betas={betas}, weight_decay=0.0, fused=True),
]
"""


class NoTrainingCodeError(ValueError):
    """No script can be written for a training. The message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The parts of a training's script that depend on its data."""

    about: str
    imports: frozenset[str]
    text: str
    draw: str
    """The statement that draws a batch"""
    reads: str
    """The arguments of the model"""
    targets: str
    """The arguments of the loss, after the logits"""
    end: str


def training_script(
    plan: Plan, *, losses: Mapping[int, float], sha256: str | None = None, files: TaggedFiles | None = None
) -> str:
    """Return a script of plain torch that trains a model on a task, a text or a user's files, as a plan says.

    Args:
        plan: the training.
        losses: some losses of the training, by step; the script compares its own with them.
        sha256: the digest, in UTF-8, of the text as the training reads it (`as_read`); the script warns if it is given
            another text. None for a task.
        files: the user's files, if the training is on such files; the script warns if it is given others.

    Raises:
        NoTrainingCodeError: the plan's model does not fit its task, or there is no script for it.
    """
    config, settings = plan.token_model, plan.training
    if plan.subject == TAGGED:
        part = _of_files(plan, files)
    else:
        part = _of_text(plan, sha256 or "") if plan.subject == TEXT else _of_task(plan)
    begin = BEGIN.format(
        what=_what(plan), about=part.about, imports=_imports(part.imports), seed=settings.seed, steps=settings.steps,
        batch=settings.batch,
    )  # fmt: skip
    return "\n\n".join((begin + part.text, model_code(config), _train(plan, part, losses))) + part.end


def _what(plan: Plan) -> str:
    subjects = {TEXT: "a text", TAGGED: "words and their tags"}
    config, subject = plan.model, subjects.get(plan.subject, f"the task {plan.subject}")
    if isinstance(config, TokenConfig):
        return f"{ARCHITECTURES[config.architecture]} on {subject}"
    return f"{'a GRU' if isinstance(config, GRUConfig) else 'a bigram model'} on {subject}"


def _imports(more: Iterable[str]) -> str:
    """Return the import statements, sorted as usual: the standard library first."""
    statements = {"import math", "import torch", "from torch import nn", "from torch.nn import functional as F", *more}
    if "from torch import Tensor" in statements:
        statements = {*statements, "from torch import Tensor, nn"} - {
            "from torch import Tensor",
            "from torch import nn",
        }
    ordered = sorted(statements, key=lambda statement: ("torch" in statement, statement.startswith("from"), statement))
    first = next(number for number, statement in enumerate(ordered) if "torch" in statement)
    return "\n".join([*ordered[:first], "", *ordered[first:]])


def _of_text(plan: Plan, sha256: str) -> _Part:
    config = plan.model
    if isinstance(config, TokenConfig) and (
        config.architecture != "decoder" or config.outputs not in (None, config.vocabulary)
    ):
        raise NoTrainingCodeError("There is a script for decoders, GRUs and bigram models only.")
    return _Part(
        TEXT_ABOUT, frozenset({"import hashlib", "import sys"}), text_code(plan, sha256),
        "x, y = draw(BATCH, generator)", "x", "y.flatten()", TEXT_END,
    )  # fmt: skip


def _of_files(plan: Plan, files: TaggedFiles | None) -> _Part:
    config = plan.model
    if files is None or not isinstance(config, TokenConfig):
        raise NoTrainingCodeError("The files of this training are missing.")
    return _Part(
        TAGGED_ABOUT, TAGGED_IMPORTS, tagged_code(config, files), "x, y = draw(BATCH, generator)", "x",
        f"y.flatten(), ignore_index={IGNORED}", tagged_end(),
    )  # fmt: skip


def _of_task(plan: Plan) -> _Part:
    from attnviz.training.tasks.task import Task

    try:
        config, task = plan.model, subject_of(plan)
    except ValueError as error:
        raise NoTrainingCodeError(str(error)) from error
    if not isinstance(config, TokenConfig) or not isinstance(task, Task):
        raise NoTrainingCodeError("There is a script for transformers that learn a task, and for texts.")
    # Some tasks draw only sequences that are not held out.
    draw = "draw" if type(task).batch is type(task).draw else "batch"
    extract = source.extract(
        task, [draw, "held_out"], ["IGNORED", *(pattern.score.__name__ for pattern in task.patterns)]
    )
    reads = "{0}.ids, {0}.source" if config.architecture == "both" else "{0}.ids"
    begin = TASK_BEGIN.format(vocabulary=config.vocabulary, block=config.block_size)
    end = TASK_END.format(reads=reads.format("held"), accuracy=ACCURACY[task.whole])
    return _Part(
        _about(task), extract.imports, f"{begin}{extract.text}\n", f"drawn = {draw}(BATCH, generator)",
        reads.format("drawn"), "drawn.targets.flatten(), ignore_index=IGNORED", end + _patterns(task, config),
    )  # fmt: skip


def _about(task: Task) -> str:
    return f"{task.title}\n{textwrap.fill(f'{task.explanation} {task.expected}', 118)}"


def _patterns(task: Task, config: TokenConfig) -> str:
    places = ((pattern, attentions(config, pattern.kind)) for pattern in task.patterns)
    lines = [f"    ({pattern.title!r}, {pattern.score.__name__}, {where})," for pattern, where in places if where]
    return PATTERNS.format(patterns="\n".join(lines).replace("'", '"')) if lines else ""


def _train(plan: Plan, part: _Part, losses: Mapping[int, float]) -> str:
    settings = plan.training
    return TRAIN.format(
        inside=inside(plan.token_model),
        optimiser=_optimiser(settings, has_matrices=has_attention(plan.model)),
        rate="".join(f"    {line}\n" for line in _rate(settings)),
        bfloat16=settings.precision == "bfloat16",
        clip=f"    nn.utils.clip_grad_norm_(model.parameters(), {settings.clip})\n" if settings.clip else "",
        losses=_literal(losses),
        draw=part.draw, reads=part.reads, targets=part.targets,
    )  # fmt: skip


def _literal(losses: Mapping[int, float]) -> str:
    written = ", ".join(f"{step}: {round(loss, 6)}" for step, loss in sorted(losses.items()))
    return "{" + "\n    ".join(textwrap.wrap(written, 110)) + "}"


def _optimiser(settings: TrainingSettings, *, has_matrices: bool) -> str:
    rate, decay, betas = settings.learning_rate, settings.weight_decay, (0.9, settings.beta2)
    if settings.optimiser == "muon" and has_matrices:
        return MUON.format(rate=MUON_RATE * rate, decay=decay, other=rate, betas=betas)
    classes = {
        "adamw": f"torch.optim.AdamW(groups, lr={rate}, betas={betas}, fused=True)",
        "sgd": f"torch.optim.SGD(groups, lr={rate})",
    }
    return GROUPS.format(decay=decay) + f"optimisers = [{classes.get(settings.optimiser, classes['adamw'])}]\n"


def _rate(settings: TrainingSettings) -> Iterator[str]:
    yield f"risen = min(1, (step + 1) / {settings.warm_up})" if settings.warm_up else "risen = 1"
    if settings.decay == "none":
        yield "return risen"
    else:
        yield "fallen = 0.5 * (1 + math.cos(math.pi * min(1, step / STEPS)))"
        yield f"return risen * ({settings.last_rate} + {1 - settings.last_rate} * fallen)"


GENERATION_BEGIN = '''\
"""Generates a text as attnviz did, character by character. It needs torch and safetensors.

Put the model's file beside it, which the app exports too, or name it:  python this_script.py {file}
"""

from __future__ import annotations

import hashlib
import math
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
FILE = Path(sys.argv[1] if len(sys.argv) > 1 else "{file}")
SHA256 = {digest}
SEED, TEMPERATURE, TOP_K, TOP_P = {seed}, {temperature}, {top_k}, {top_p}  # top-k of 0 is no limit
COUNT = {count}  # characters to generate
CHARACTERS = {characters}
V, T = len(CHARACTERS), {block}  # size of the vocabulary, and the longest context
PROMPT = {prompt}
SHOWN = {shown}  # what the app generated


'''
GENERATION_END = '''

if hashlib.sha256(FILE.read_bytes()).hexdigest() != SHA256:
    print("This is not the model's file that was exported: the text will differ.")
# The app names some parameters otherwise.
NAMES = [("blocks.layers.", "blocks."), ("feed_forward.first", "first"), ("feed_forward.second", "second"),
         ("blocks.norm.", "norm.")]
weights = {}
for name, one in load_file(FILE).items():
    for theirs, ours in NAMES:
        name = name.replace(theirs, ours)
    weights[name] = one.float()  # the file holds float16
model = Model().eval()
model.load_state_dict(weights)
generator = torch.Generator().manual_seed(SEED)


def choose(logits):
    """Choose the next token by its logits, (V,)."""
    if TEMPERATURE == 0:  # greedy: always the likeliest
        return int(logits.argsort(descending=True, stable=True)[0])
    scaled = logits / TEMPERATURE
    order = scaled.argsort(descending=True, stable=True)  # the likeliest first
    count = min(TOP_K or V, V)
    if TOP_P < 1:  # the fewest that have this probability together
        likely = scaled[order[:count]].softmax(-1)
        before = likely.cumsum(-1) - likely
        count = max(1, int((before < TOP_P).sum()))
    left = order[:count]
    sums = scaled[left].softmax(-1).double().cumsum(-1)
    number = float(torch.rand((), generator=generator))  # from 0 to 1
    return int(left[(sums <= number * sums[-1]).sum()])


context, text = [CHARACTERS.index(one) for one in PROMPT][-T:], ""
for _ in range(COUNT):
    if len(context) > T:  # the context is full: it goes on with its last half
        context = context[-max(1, T // 2) :]
    with torch.inference_mode():
        logits = model(torch.tensor([context]))[0, -1]
    context.append(choose(logits))
    text += CHARACTERS[context[-1]]
print(PROMPT + text)
print("The same text as in the app." if text == SHOWN else "The app has shown another text.")
'''


def generation_script(
    config: ModelConfig,
    characters: Sequence[str],
    sampling: Sampling,
    *,
    ids: Sequence[int],
    generated: Sequence[int],
    file: str,
    sha256: str,
) -> str:
    """Return a script that generates a text with a model's file, and compares it with the app's.

    Args:
        config: the model's shape.
        characters: its vocabulary; characters[i] has the id i.
        sampling: how each character is chosen.
        ids: the ids of the prompt.
        generated: the ids that the app generated after it.
        file: the name of the model's file, without a folder: letters, digits, dots and hyphens.
        sha256: the file's digest.

    Raises:
        NoTrainingCodeError: the model has an encoder.
    """
    if isinstance(config, TokenConfig) and config.architecture != "decoder":
        raise NoTrainingCodeError("Only a decoder goes on with a text.")
    begin = GENERATION_BEGIN.format(
        file=file, digest=ascii(sha256), seed=sampling.seed, temperature=sampling.temperature, top_k=sampling.top_k,
        top_p=sampling.top_p, count=len(generated), characters=literals(characters),
        block=longest_context(config),
        prompt=ascii("".join(characters[id_] for id_ in ids)),
        shown=ascii("".join(characters[id_] for id_ in generated)),
    )  # fmt: skip
    return begin + model_code(config) + GENERATION_END
