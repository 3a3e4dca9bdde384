"""Writes the script that generates a text: the model, its file, and each draw, in plain torch.

It draws the same numbers from the same seed, so it prints the text of the page.
"""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.export.code.cells import literals
from attnviz.export.code.training.models import model_code
from attnviz.export.code.training.script import NoTrainingCodeError
from attnviz.toy.language.config import ModelConfig, TokenConfig, longest_context
from attnviz.training.generation import Sampling

BEGIN = '''\
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
END = '''

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
        ids: what it begins with.
        generated: what the app generated after it.
        file: the name of the model's file, without a folder: letters, digits, dots and hyphens.
        sha256: of the file.

    Raises:
        NoTrainingCodeError: the model is no decoder alone.
    """
    if isinstance(config, TokenConfig) and config.architecture != "decoder":
        raise NoTrainingCodeError("Only a decoder goes on with a text.")
    begin = BEGIN.format(
        file=file, digest=ascii(sha256), seed=sampling.seed, temperature=sampling.temperature, top_k=sampling.top_k,
        top_p=sampling.top_p, count=len(generated), characters=literals(characters),
        block=longest_context(config),
        prompt=ascii("".join(characters[one] for one in ids)),
        shown=ascii("".join(characters[one] for one in generated)),
    )  # fmt: skip
    return begin + model_code(config) + END
