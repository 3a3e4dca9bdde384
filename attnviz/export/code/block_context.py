"""Exports the steps around an attention of a pretrained model as code that watches the modules of its block."""

from __future__ import annotations

from collections.abc import Iterator

from attnviz.export.code.assertions import compare
from attnviz.export.code.lines import Cell, literals
from attnviz.trace.trace import Trace
from attnviz.trace.walk import Walk

LAYOUTS = {
    ".attention.self": {
        "attention_residual": "attention.output.LayerNorm<", "attention_norm": "attention.output.LayerNorm",
        "feed_forward_inner": "intermediate.dense", "feed_forward_hidden": "intermediate",
        "feed_forward_output": "output.dense", "feed_forward_residual": "output.LayerNorm<",
        "block_output": "output.LayerNorm",
    },
    ".attn": {
        "input_norm": "ln_1", "attention_residual": "ln_2<", "feed_forward_norm": "ln_2",
        "feed_forward_inner": "mlp.c_fc", "feed_forward_hidden": "mlp.c_proj<", "feed_forward_output": "mlp.c_proj",
        "feed_forward_residual": "",
    },
    ".self_attn": {
        "input_norm": "input_layernorm", "attention_residual": "post_attention_layernorm<",
        "feed_forward_norm": "post_attention_layernorm", "feed_forward_hidden": "mlp.down_proj<",
        "feed_forward_output": "mlp.down_proj", "feed_forward_residual": "",
    },
}  # fmt: skip
"""The layouts of BERT, GPT-2 and Llama, by the end of the path of their attention: the module of a layer that gives
each step, or takes it where its name ends with "<"; "" is the layer itself"""
FINAL_NORMS = {".attn": "ln_f", ".self_attn": "norm"}

WATCH = """\
STEPS = {{  # by name: a module, and whether the step is what the module takes or what it gives
{steps}
}}
PLACE = "{place}"
COMPUTED = {{PLACE: {{}}}}


def watch(name, path, side):
    def keep(module, args, result):
        matrix = args[0] if side == "takes" else result
        COMPUTED[PLACE][name] = (matrix[0] if isinstance(matrix, tuple) else matrix)[0]

    model.get_submodule(path).register_forward_hook(keep)


for name, (path, side) in STEPS.items():
    watch(name, path, side)
with torch.inference_mode():
    model(**inputs, use_cache=False)
for name, matrix in COMPUTED[PLACE].items():
    show(name, matrix)\
"""
LOGITS = """\
from transformers import {auto}

IDS_SHOWN = {ids}  # the tokens of the vocabulary that the page shows
TOKENS_SHOWN = {tokens}

whole = {auto}.from_pretrained(
    MODEL, attn_implementation="eager", dtype=torch.float32, use_safetensors=True
).eval()
with torch.inference_mode():
    logits = whole(**inputs, use_cache=False).logits[0]  # (T, V)
    probabilities = torch.softmax(logits, dim=-1)[:, IDS_SHOWN]
COMPUTED[PLACE]["logits"] = logits[:, IDS_SHOWN]
COMPUTED[PLACE]["probabilities"] = {probabilities}
for name in ("logits", "probabilities"):
    show(name, COMPUTED[PLACE][name])\
"""
WITH_OTHERS = "torch.cat([probabilities, 1 - probabilities.sum(-1, keepdim=True)], dim=-1)  # last: all other tokens"


def around(walk: Walk, trace: Trace, path: str) -> Iterator[Cell]:
    """Yield the code of the steps around a walk's attention, as far as the model's layout is known.

    Args:
        walk: the walk, with the steps around its attention.
        trace: the model on the text.
        path: the path of the attention's module in transformers' model.
    """
    part = walk.block
    end = next((end for end in LAYOUTS if path.endswith(end)), "")
    if part is None or not part.matrices or not end:
        return
    modules = {name: f"{path.removesuffix(end)}.{module}".rstrip(".") for name, module in LAYOUTS[end].items()}
    modules |= {"final_norm": FINAL_NORMS[end]} if end in FINAL_NORMS else {}
    there = {name: module for name, module in modules.items() if name in part.matrices}
    yield Cell("markdown", "## The steps around this attention")
    yield Cell("code", WATCH.format(steps="\n".join(_step(*one) for one in there.items()), place=part.place))
    shown = list(there)
    if part.vocabulary and trace.vocabulary is not None:
        hidden = part.matrices.get("transform_norm", trace.last_hidden_state)
        ids = trace.vocabulary.shown(hidden, trace.focus).tokens
        auto = "AutoModelForCausalLM" if walk.kind == "decoder" else "AutoModelForMaskedLM"
        probabilities = WITH_OTHERS if part.rest else "probabilities"
        yield Cell("markdown", "## logits and softmax: how likely each token of the vocabulary is")
        yield Cell("code", LOGITS.format(
            auto=auto, ids=literals(ids), tokens=literals(part.vocabulary), probabilities=probabilities
        ))  # fmt: skip
        shown += ["logits", "probabilities"]
    yield Cell("markdown", "## The same as the page")
    yield compare({part.place: {name: part.matrices[name] for name in shown}})


def _step(name: str, module: str) -> str:
    return f'    "{name}": ("{module.removesuffix("<")}", "{"takes" if module.endswith("<") else "gives"}"),'
