"""Exports a training as code: a script of plain torch that trains the same model to the same losses.

It draws weights and batches in the same order from the same seeds, so on the same machine its losses are equal to the
last digits. The data are a task's, a text, or a user's two files of words and tags.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attnviz.export.code import source
from attnviz.export.code.models import attentions, class_of, model_code
from attnviz.export.code.settled import plain
from attnviz.export.code.source import Extract
from attnviz.toy.language.config import GRUConfig, TokenConfig, has_attention
from attnviz.training.loop import MUON_RATE
from attnviz.training.plan import TAGGED, TEXT, Plan, subject_of
from attnviz.training.settings import TrainingSettings
from attnviz.training.tagged.files import FILL, UNKNOWN, TaggedFiles
from attnviz.training.tagged.task import AT_ONCE as SENTENCES_AT_ONCE
from attnviz.training.tagged.task import DROPPED
from attnviz.training.tasks.task import IGNORED
from attnviz.training.text.cut import sequences_of
from attnviz.training.text.subject import AT_ONCE, TRAIN_PART, block_pairs, blocks_of, padded, result_of

if TYPE_CHECKING:
    from attnviz.training.tasks.task import Subject, Task


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
"""By whether a sequence is right only as a whole"""
PATTERNS = """\

# The head that shows each pattern most
PATTERNS = [
{patterns}
]
for title, score, attentions in PATTERNS:
    heads = {{
        (layer, head): one
        for layer, attention in enumerate(attentions)
        for head, one in enumerate(score(attention.steps.weights, held).tolist())
    }}
    layer, head = max(heads, key=heads.get)
    print(f"{{title}}: {{heads[layer, head]:.4f}} of 1 in layer {{layer}}, head {{head}}")
"""
TRAIN = '''\
torch.manual_seed(SEED)
model = {model}().train()
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
    """What the data of a training bring to its script."""

    about: str
    imports: frozenset[str]
    text: str
    end: str
    draw: str = "drawn = draw(BATCH, generator)"
    """The statement that draws a batch"""
    reads: str = "drawn.ids"
    """The arguments of the model"""
    targets: str = "drawn.targets.flatten(), ignore_index=IGNORED"
    """The arguments of the loss, after the logits"""


def training_script(
    plan: Plan, *, losses: Mapping[int, float], sha256: str | None = None, files: TaggedFiles | None = None
) -> str:
    """Return a script of plain torch that trains a model on a task, a text or a user's files, as a plan says.

    Args:
        plan: the training.
        losses: some losses of the training, by step; the script compares its own with them.
        sha256: of the text as it is trained on (`as_read`), in UTF-8; the script says so if it is given another.
            None for a task.
        files: the files, of a training on these; the script says so if it is given others.

    Raises:
        NoTrainingCodeError: the plan's model does not fit its task, or no script is known for it.
    """
    config, settings = plan.token_model, plan.training
    if plan.subject == TAGGED:
        part = _of_files(plan, files)
    else:
        part = _of_text(plan, sha256 or "") if plan.subject == TEXT else _of_task(plan)
    model = model_code(config)
    begin = BEGIN.format(
        what=_what(plan), about=part.about, imports=import_lines(part.imports | model.imports), seed=settings.seed,
        steps=settings.steps, batch=settings.batch,
    )  # fmt: skip
    text = "\n\n".join((begin + part.text, model.text, _train(plan, part, losses))) + part.end
    return text.replace("functional.", "F.")


def _what(plan: Plan) -> str:
    named = {TEXT: "a text", TAGGED: "words and their tags"}
    config, on = plan.model, named.get(plan.subject, f"the task {plan.subject}")
    if isinstance(config, TokenConfig):
        return f"{ARCHITECTURES[config.architecture]} on {on}"
    return f"{'a GRU' if isinstance(config, GRUConfig) else 'a bigram model'} on {on}"


USUAL = ("import math", "import torch", "from torch import nn", "from torch.nn import functional as F")


def import_lines(more: Iterable[str], usual: Iterable[str] = USUAL) -> str:
    """Return the import statements of a script, sorted as usual: the standard library first."""
    given = {*usual, *more} - {"from torch.nn import functional"}  # which is F in a script
    if "from torch import Tensor" in given:
        given = {*given, "from torch import Tensor, nn"} - {"from torch import Tensor", "from torch import nn"}
    ordered = sorted(given, key=lambda one: ("torch" in one, one.startswith("from"), one))
    first = next(number for number, one in enumerate(ordered) if "torch" in one)
    return "\n".join([*ordered[:first], "", *ordered[first:]])


def _of_text(plan: Plan, sha256: str) -> _Part:
    config = plan.model
    if isinstance(config, TokenConfig) and (
        config.architecture != "decoder" or config.outputs not in (None, config.vocabulary)
    ):
        raise NoTrainingCodeError("There is a script for decoders, GRUs and bigram models only.")
    code = text_code(plan, sha256)
    return _Part(TEXT_ABOUT, code.imports | {"import hashlib", "import sys"}, code.text, text_end(plan))


def _of_files(plan: Plan, files: TaggedFiles | None) -> _Part:
    config = plan.model
    if files is None or not isinstance(config, TokenConfig):
        raise NoTrainingCodeError("The files of this training are missing.")
    return _Part(
        FILES_ABOUT, FILES_IMPORTS, tagged_code(config, files), tagged_end(),
        "x, y = draw(BATCH, generator)", "x", f"y.flatten(), ignore_index={IGNORED}",
    )  # fmt: skip


def _of_task(plan: Plan) -> _Part:
    from attnviz.training.tasks.task import Task

    config, task = plan.model, _subject(plan)
    if not isinstance(config, TokenConfig) or not isinstance(task, Task):
        raise NoTrainingCodeError("There is a script for transformers that learn a task, and for texts.")
    draw = "draw" if type(task).batch is type(task).draw else "batch"  # a task may draw what is not held out at once
    extract = source.extract(task, [draw, "held_out"], ["IGNORED", *(one.score.__name__ for one in task.patterns)])
    reads = "{0}.ids, {0}.source" if config.architecture == "both" else "{0}.ids"
    begin = TASK_BEGIN.format(vocabulary=config.vocabulary, block=config.block_size)
    end = TASK_END.format(reads=reads.format("held"), accuracy=ACCURACY[task.whole])
    return _Part(
        _about(task), extract.imports, f"{begin}{extract.text}\n", end + _patterns(task, config),
        f"drawn = {draw}(BATCH, generator)", reads.format("drawn"),
    )  # fmt: skip


def _subject(plan: Plan) -> Subject:
    try:
        return subject_of(plan)
    except ValueError as error:
        raise NoTrainingCodeError(str(error)) from error


def _about(task: Task) -> str:
    return f"{task.title}\n{textwrap.fill(f'{task.explanation} {task.expected}', 118)}"


def _patterns(task: Task, config: TokenConfig) -> str:
    found = ((one, attentions(config, one.kind)) for one in task.patterns)
    lines = [f"    ({one.title!r}, {one.score.__name__}, {where})," for one, where in found if where]
    return PATTERNS.format(patterns="\n".join(lines).replace("'", '"')) if lines else ""


def _train(plan: Plan, part: _Part, losses: Mapping[int, float]) -> str:
    settings = plan.training
    return TRAIN.format(
        model=class_of(plan.token_model),
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
    made = {
        "adamw": f"torch.optim.AdamW(groups, lr={rate}, betas={betas}, fused=True)",
        "sgd": f"torch.optim.SGD(groups, lr={rate})",
    }
    return GROUPS.format(decay=decay) + f"optimisers = [{made.get(settings.optimiser, made['adamw'])}]\n"


def _rate(settings: TrainingSettings) -> Iterator[str]:
    yield f"risen = min(1, (step + 1) / {settings.warm_up})" if settings.warm_up else "risen = 1"
    if settings.decay == "none":
        yield "return risen"
    else:
        yield "fallen = 0.5 * (1 + math.cos(math.pi * min(1, step / STEPS)))"
        yield f"return risen * ({settings.last_rate} + {1 - settings.last_rate} * fallen)"


TEXT_ABOUT = "Run it with the text as a file:  python this_script.py corpus.txt"
READ_TEXT = f"""\
SHA256 = {{sha256}}
T = {{block}}  # {{size}}

with open(sys.argv[1] if len(sys.argv) > 1 else "corpus.txt", encoding="utf-8-sig") as file:
    text = file.read()
if hashlib.sha256(text.encode()).hexdigest() != SHA256:
    print("This is not the text of the training that was exported: the losses will differ.")
characters = sorted(set(text))
V = len(characters)
ids = torch.tensor([characters.index(one) for one in text])
cut = int({TRAIN_PART} * len(ids))
train, validation = ids[:cut], ids[cut:]
"""
DRAW_TEXT = {
    "blocks": '''\
def draw(size, generator):
    """Draw blocks from anywhere in the training part; the target of each character is the one after it."""
    return block_pairs(train, torch.randint(len(train) - T, (size, 1), generator=generator), T)
''',
    "lines": '''\
to_train, to_validate = (torch.tensor(list(sequences_of(part, {cut}, T))) for part in (text[:cut], text[cut:]))


def draw(size, generator):
    """Draw sequences of the training part."""
    return padded(train, to_train[torch.randint(len(to_train), (size,), generator=generator)])
''',
}
VALIDATION = {"blocks": "blocks_of(validation, T)",
       "lines": f"(padded(validation, rows) for rows in to_validate.split({AT_ONCE}))"}  # fmt: skip
VALIDATE = 'print(f"validation loss {{result_of(model, {batches}).loss:.6f}}")\n'


def text_code(plan: Plan, sha256: str) -> Extract:
    """Return the code that reads the text of this digest, and draws batches of it as the plan cuts it."""
    is_cut = plan.cut != "blocks"
    size = "the longest sequence of a line, without its end" if is_cut else "block size: the longest context"
    read = READ_TEXT.format(sha256=repr(sha256), block=plan.block_size, size=size)
    source = plain(result_of, *((sequences_of, padded) if is_cut else (block_pairs, blocks_of)))
    draw = DRAW_TEXT["lines" if is_cut else "blocks"].replace("{cut}", f'"{plan.cut}"')
    return Extract(source.imports, f"{read}\n\n{source.text}\n\n\n{draw}")


def text_end(plan: Plan) -> str:
    """Return the code that validates."""
    return VALIDATE.format(batches=VALIDATION["blocks" if plan.cut == "blocks" else "lines"])


FILES_ABOUT = "Run it with the training file and the test file:  python this_script.py train.txt test.txt"
FILES_IMPORTS = frozenset({"import hashlib", "import re", "import sys", "from collections import Counter, defaultdict"})
READ_FILES = '''\
SHA256 = {digests}
T = {block}  # words of the longest sentence


def read(number):
    """The sentences of a file, each a list of pairs (word, tag): a pair a line, and a blank line between sentences."""
    with open(sys.argv[number], "rb") as file:
        data = file.read()
    if hashlib.sha256(data).hexdigest() != SHA256[number - 1]:
        print(f"{{sys.argv[number]}} is not the file of the training that was exported: the losses will differ.")
    found = [[]]
    for line in re.split("\\r\\n|\\r|\\n", data.decode("utf-8-sig")):
        if line.strip(" \\t"):
            word, tag = re.split("[ \\t]+", line.strip(" \\t"))
            found[-1].append((word, tag))
        elif found[-1]:
            found.append([])
    return [sentence for sentence in found if sentence]


train, test = read(1), read(2)
words = sorted({{word for sentence in train for word, _ in sentence}})
tags = sorted({{tag for sentence in train for _, tag in sentence}})
ids = {{word: number for number, word in enumerate(words, {first})}}  # {fill} fills up, {unknown} is an unknown word
V = len(words) + {first}
counts = Counter(ids[word] for sentence in train for word, _ in sentence)
once = torch.tensor([counts[number] == 1 for number in range(V)])


def padded(sentences):
    """Sentences as ids and tags, (B, T) and (B, T), filled up to the longest."""
    longest = max(map(len, sentences))
    x, y = torch.full((len(sentences), longest), {fill}), torch.full((len(sentences), longest), {ignored})
    for row, sentence in enumerate(sentences):
        x[row, : len(sentence)] = torch.tensor([ids.get(word, {unknown}) for word, _ in sentence])
        y[row, : len(sentence)] = torch.tensor([tags.index(tag) for _, tag in sentence])
    return x, y


def draw(size, generator):
    """Sentences of the training file. Half of the words that stand in it once are unknown words here."""
    x, y = padded([train[row] for row in torch.randint(len(train), (size,), generator=generator).tolist()])
    return x.masked_fill(once[x] & (torch.rand(x.shape, generator=generator) < {dropped}), {unknown}), y
'''
TEST_FILES = """
# What it does on the test file, beside each word's most frequent tag in the training file
model.eval()
loss, right, count = 0.0, 0, 0
with torch.no_grad():
    for start in range(0, len(test), {at_once}):
        x, y = padded(sorted(test, key=len)[start : start + {at_once}])
        logits = model(x)
        loss += F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index={ignored}, reduction="sum").item()
        right += (logits.argmax(-1) == y).sum().item()
        count += (y != {ignored}).sum().item()
print(f"test file: loss {{loss / count:.6f}}, accuracy {{right / count:.4f}}")
seen = defaultdict(Counter)
for word, tag in sorted(pair for sentence in train for pair in sentence):  # of equal counts, the first tag is taken
    seen[word][tag] += 1
usual = Counter(sorted(tag for sentence in train for _, tag in sentence)).most_common(1)[0][0]
pairs = [pair for sentence in test for pair in sentence]
right = sum(tag == (seen[word].most_common(1)[0][0] if word in seen else usual) for word, tag in pairs)
print(f"baseline: accuracy {{right / count:.4f}}; unknown words: {{sum(word not in seen for word, _ in pairs)}}")
"""


def tagged_code(config: TokenConfig, files: TaggedFiles) -> str:
    """Return the code that reads files of these digests and draws batches of them."""
    return READ_FILES.format(
        digests=(files.train.sha256, files.test.sha256), block=config.block_size, fill=FILL, unknown=UNKNOWN,
        first=len(files.labels) - len(files.words), ignored=IGNORED, dropped=DROPPED,
    )  # fmt: skip


def tagged_end() -> str:
    """Return the code that tests the model."""
    return TEST_FILES.format(at_once=SENTENCES_AT_ONCE, ignored=IGNORED)
