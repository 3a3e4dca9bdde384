"""Models of a seed: the weights that torch gives, also while other threads draw numbers."""

from __future__ import annotations

import threading

import pytest
import torch

from attnviz.toy.language.config import BigramConfig, GRUConfig, TokenConfig
from attnviz.toy.language.model import BigramModel, GRUModel, TokenModel
from attnviz.training.plan import build

CONFIG = TokenConfig(26, 32, layers=2, heads=2, width=32)


@pytest.mark.parametrize("config", [CONFIG, GRUConfig(5, 8), BigramConfig(5)])
def test_weights_are_those_of_torchs_seed(config: TokenConfig | GRUConfig | BigramConfig) -> None:
    built = build(config, 7)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        if isinstance(config, TokenConfig):
            plain: torch.nn.Module = TokenModel(config)
        elif isinstance(config, GRUConfig):
            plain = GRUModel(config.vocabulary, width=config.width, layers=config.layers)
        else:
            plain = BigramModel(config.vocabulary)
    expected = plain.state_dict()
    assert built.state_dict().keys() == expected.keys()
    assert all(torch.equal(value, expected[name]) for name, value in built.state_dict().items())


def test_what_other_threads_draw_changes_nothing() -> None:
    expected, ended = build(CONFIG, 0).state_dict(), threading.Event()

    def draw() -> None:
        while not ended.is_set():
            torch.rand(3)

    others = [threading.Thread(target=draw) for _ in range(3)]
    for other in others:
        other.start()
    try:
        for _ in range(20):
            found = build(CONFIG, 0).state_dict()
            assert all(torch.equal(value, expected[name]) for name, value in found.items())
    finally:
        ended.set()
        for other in others:
            other.join()


def test_the_generator_of_all_is_left_as_it_is() -> None:
    before = torch.random.get_rng_state()
    build(CONFIG, 3)
    assert torch.equal(torch.random.get_rng_state(), before)
