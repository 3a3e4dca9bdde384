"""The source of a model for one setting computes what the app and torch compute, and holds nothing that is decided."""

from __future__ import annotations

import ast
import itertools
import re

import pytest
import torch
from torch import nn

from attnviz.export.code.models import class_of, model_code
from attnviz.export.code.settled import Setting, plain, settled
from attnviz.toy import stacks
from attnviz.toy.copying import copy_encoder_layer
from attnviz.toy.language.config import BigramConfig, GRUConfig, ModelConfig, TokenConfig
from attnviz.training.plan import build
from attnviz.training.text.cut import sequences_of

USUAL = "import math\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F\nV, T = 11, 8\n"
C, H = 8, 2


def run(imports: frozenset[str], text: str) -> dict[str, object]:
    """Return the names that a script's code defines."""
    names: dict[str, object] = {"__name__": __name__}  # of a module that dataclasses find
    source = "\n".join(["from __future__ import annotations", *imports, USUAL, text.replace("functional.", "F.")])
    exec(compile(source.replace("as F.", "as F"), "script", "exec"), names)
    return names


def choices() -> list[ModelConfig]:
    """Return a configuration for every combination of parts, and the other kinds of models."""
    parts = itertools.product(("encoder", "decoder"), (0, 1, 2), (None, 0, 12), (True, False), (True, False))
    reduced = [
        TokenConfig(11, 8, architecture, layers, H, C, forward, residual, norm, bias=residual, outputs=None)  # type: ignore[arg-type]
        for architecture, layers, forward, residual, norm in parts
    ]
    both = [TokenConfig(11, 8, "both", 2, H, C, padding=one, activation="relu") for one in (None, 3)]
    padded = [TokenConfig(11, 8, "encoder", 1, H, C, padding=3, dropout=0.1, outputs=5, activation="gelu_tanh")]
    return [*reduced, *both, *padded, BigramConfig(11), GRUConfig(11, 8, C, 2)]


def test_every_model_of_a_script_draws_the_weights_and_gives_the_logits_of_the_apps() -> None:
    ids = torch.tensor([[1, 4, 3, 3], [5, 0, 10, 3]])
    for config in choices():
        code = model_code(config, learns=False)
        torch.manual_seed(7)
        theirs = run(code.imports, code.text)[class_of(config)]().eval()  # type: ignore[operator]
        ours = build(config, 7).eval()
        assert {name: one.shape for name, one in theirs.state_dict().items()} == {
            name: one.shape for name, one in ours.state_dict().items()
        }, config
        given = (ids, ids.flip(0)) if isinstance(config, TokenConfig) and config.architecture == "both" else (ids,)
        with torch.inference_mode():
            assert torch.equal(theirs(*given), ours(*given)), config


def test_nothing_stays_of_what_a_setting_decides() -> None:
    for config in choices():
        text = model_code(config).text
        for gone in (
            "_check",
            "watch_",
            "config",
            "past=",
            "isinstance",
            "norm_first",
            "attnviz",
            "Dropout(0.0)",
            ") -> Tensor",
        ):
            assert gone not in text, (gone, config)
        assert max(map(len, text.splitlines())) <= 120
        functions = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.FunctionDef)]
        assert all(argument.annotation is None for one in functions for argument in one.args.args)
        assert not re.search(r"^ +if (True|False)", text, re.MULTILINE)


@pytest.mark.parametrize("is_pre", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_a_stack_of_a_script_is_torchs(is_pre: bool, bias: bool) -> None:
    names = {"width": "C", "heads": "H", "layers": "2", "hidden": "12", "dropout": "0.0", "bias": str(bias),
             "eps": "1e-05", "norm_first": str(is_pre), "final_norm": "None"}  # fmt: skip
    expressions = {"self.heads": "H", "self.norm_first": str(is_pre), "self.causal": "True",
                   "ACTIVATIONS[self.activation](self.first(x))": "torch.relu(self.first(x))",
                   "self.activation": "'relu'", "scaled.requires_grad": "False"}  # fmt: skip
    found = settled("Encoder", stacks.__name__, Setting(names, expressions))
    ours = run(found.imports, f"C, H = {C}, {H}\n{found.text}")["Encoder"]()  # type: ignore[operator]
    torch.manual_seed(0)
    layers = [nn.TransformerEncoderLayer(C, H, 12, 0.0, batch_first=True, norm_first=is_pre, bias=bias) for _ in "ab"]
    x = expected = torch.randn(2, 5, C)
    hidden = torch.ones(5, 5, dtype=torch.bool).triu(1)
    with torch.no_grad():
        for mine, its in zip(ours.layers, layers, strict=True):
            copy_encoder_layer(its, mine)
            expected = its(expected, src_mask=hidden)
        expected = nn.functional.layer_norm(expected, (C,)) if is_pre else expected
        torch.testing.assert_close(ours(x), expected, rtol=1e-5, atol=1e-5)


def test_plain_functions_keep_their_arguments_and_their_loops() -> None:
    found = plain(sequences_of)
    cut = run(found.imports, found.text)["sequences_of"]
    text = "one two three\n\nfour\nfive six seven eight nine"
    for kind in ("chunks", "plain"):
        for most in (2, 5, 40):
            assert list(cut(text, kind, most)) == list(sequences_of(text, kind, most))  # type: ignore[operator,arg-type]
