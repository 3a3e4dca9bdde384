"""The activations that scripts write, each against torch's own function: GELU and its approximation differ by 5e-4."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnviz.export.code import transformer
from attnviz.export.code.training import models
from attnviz.steps import block

X = torch.linspace(-5, 5, 101)
THEIRS = {"relu": nn.ReLU(), "gelu": nn.GELU(), "gelu_tanh": nn.GELU(approximate="tanh")}
SPACE = {"torch": torch, "nn": nn, "F": F, "x": X}


@pytest.mark.parametrize("name", THEIRS)
def test_each_script_writes_the_activation_itself(name: str) -> None:
    written = (
        f"{transformer.ACTIVATIONS[name]}(x)",
        models.ACTIVATIONS[name].format("x"),
        block.activation_code(name, "x"),  # type: ignore[arg-type]
    )
    for code in written:
        torch.testing.assert_close(eval(code, dict(SPACE)), THEIRS[name](X), rtol=0, atol=1e-6)


def test_the_two_gelus_are_told_apart() -> None:
    assert float((THEIRS["gelu"](X) - THEIRS["gelu_tanh"](X)).abs().max()) > 1e-4
