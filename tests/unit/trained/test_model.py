"""A trained model against plain torch with the same weights, and its trace against nn.MultiheadAttention."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from attnviz import trained
from attnviz.pretrained import ModelError
from attnviz.steps import PARTS, names_at, steps_of
from attnviz.tokens import NoTokensError, WordTokenizer
from attnviz.tokens.value import label_of
from attnviz.toy.config import TransformerConfig
from attnviz.toy.language.config import BigramConfig, GRUConfig, ModelConfig, TokenConfig
from attnviz.toy.language.model import NO_RESIDUAL
from attnviz.toy.transformer import trace_transformer
from attnviz.trained.card import Card, Corpus, FoundHead
from attnviz.trained.files import Saved
from attnviz.trained.model import NO_ATTENTION, TrainedModel, about, examples, heads
from attnviz.trained.shipped import opening
from attnviz.training.plan import Plan, build
from attnviz.training.settings import TrainingSettings
from attnviz.training.tasks import TASKS

LABELS = tuple("abcdefghij")
TEXT = "decade"
IDS = torch.tensor([LABELS.index(one) for one in TEXT])
GPT = TokenConfig(10, 8, layers=2, heads=2, width=8)
REDUCED = [
    replace(GPT, feed_forward=0),
    replace(GPT, norm=False),
    replace(GPT, feed_forward=0, norm=False),
    replace(GPT, residual=False),
    replace(GPT, residual=False, feed_forward=0, norm=False),
]


def model(config: ModelConfig, seed: int = 0) -> TrainedModel:
    module = build(config, seed).eval().requires_grad_(False)
    plan = Plan("text", config, TrainingSettings())
    return TrainedModel("mine", Saved(plan, LABELS, Card("mine", 0.0, 0.0, 0.0), module), f"{config}{seed}")


class Plain(nn.Module):
    """A decoder of torch's own modules, with or without parts, that takes the weights of ours."""

    def __init__(self, ours: TrainedModel, config: TokenConfig) -> None:
        super().__init__()
        self.config, self.weights = config, ours.module.state_dict()

    def attend(self, layer: int, x: Tensor) -> tuple[Tensor, Tensor]:
        width = self.config.width
        theirs = nn.MultiheadAttention(width, self.config.heads, batch_first=True)
        own = {name: self.weights[f"blocks.layers.{layer}.attention.{name}"] for name in self.names()}
        order = ("query", "key", "value")
        theirs.load_state_dict(
            {
                "in_proj_weight": torch.cat([own[f"{one}.weight"] for one in order]),
                "in_proj_bias": torch.cat([own[f"{one}.bias"] for one in order]),
                "out_proj.weight": own["output.weight"],
                "out_proj.bias": own["output.bias"],
            }
        )
        hidden = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
        found: tuple[Tensor, Tensor] = theirs(x, x, x, attn_mask=hidden, average_attn_weights=False)
        return found

    @staticmethod
    def names() -> list[str]:
        return [f"{one}.{kind}" for one in ("query", "key", "value", "output") for kind in ("weight", "bias")]

    def norm(self, name: str, x: Tensor) -> Tensor:
        if not self.config.norm:
            return x
        weights = self.weights[f"blocks.{name}.weight"], self.weights[f"blocks.{name}.bias"]
        return functional.layer_norm(x, x.shape[-1:], *weights)

    def linear(self, name: str, x: Tensor) -> Tensor:
        return functional.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def run(self, ids: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return the logits, (T, V), and the weights of each layer, (H, T, T)."""
        x, maps = self.weights["token.weight"][ids] + self.weights["position.weight"][: len(ids)], []
        for layer in range(self.config.layers):
            at = f"layers.{layer}"
            added, weights = self.attend(layer, self.norm(f"{at}.attention_norm", x))
            maps.append(weights)
            x = x + added if self.config.residual else added
            if self.config.feed_forward != 0:
                normed = self.norm(f"{at}.feed_forward_norm", x)
                hidden = functional.gelu(self.linear(f"blocks.{at}.feed_forward.first", normed))
                added = self.linear(f"blocks.{at}.feed_forward.second", hidden)
                x = x + added if self.config.residual else added
        return self.linear("head", self.norm("norm", x)), maps


@pytest.mark.parametrize("config", [GPT, *REDUCED])
def test_logits_and_attention_are_those_of_plain_torch(config: TokenConfig) -> None:
    ours = model(config)
    logits, maps = Plain(ours, config).run(IDS)
    torch.testing.assert_close(ours.logits(IDS), logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(ours.logits(IDS[None])[0], logits, atol=1e-5, rtol=1e-5)
    trace = ours.trace(TEXT)
    assert trace.has_learned
    assert trace.model == "mine"
    assert trace.logits is not None
    torch.testing.assert_close(trace.logits, logits, atol=1e-5, rtol=1e-5)
    for layer, weights in enumerate(maps):
        torch.testing.assert_close(trace.attentions(layer), weights, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("config", [GPT, *REDUCED])
def test_the_steps_lead_from_the_embeddings_to_the_logits(config: TokenConfig) -> None:
    ours = model(config)
    trace = ours.trace(TEXT)
    assert set(trace.embedding_parts) == {"token", "position"}
    assert trace.embeddings is not None
    assert torch.equal(sum(trace.embedding_parts.values()), trace.embeddings)  # type: ignore[arg-type]
    for number, place in enumerate(trace.places):
        walk = trace.walk_at(number, 0)
        assert tuple(steps_of(walk)) == names_at(ours.description, place)
    assert walk.block is not None
    there = walk.block.matrices
    if not config.residual:
        assert there == {}
        assert trace.block(0).unavailable_reason == NO_RESIDUAL
        assert ours.description.unavailable == {"attention_residual": NO_RESIDUAL}
        return
    torch.testing.assert_close(there["logits"], ours.logits(IDS), atol=1e-5, rtol=1e-5)
    assert walk.block.vocabulary == LABELS
    assert ("input_norm" in there, "final_norm" in there) == (config.norm, config.norm)
    assert ("feed_forward_hidden" in there) == (config.feed_forward != 0)
    first, second = trace.block(0).steps(), trace.block(1)
    assert first is not None
    assert second.input is not None
    torch.testing.assert_close(first.block_output, second.input)


def test_the_future_changes_no_row_before_it() -> None:
    ours = model(GPT)
    one, other = ours.trace("abcdef"), ours.trace("abcdeh")
    assert torch.equal(one.last_hidden_state[:5], other.last_hidden_state[:5])
    assert not torch.equal(one.last_hidden_state[5], other.last_hidden_state[5])


def test_a_symbol_without_an_embedding_is_marked_and_the_rest_goes_on() -> None:
    ours = model(GPT)
    trace = ours.trace("ab🙂d")
    assert trace.tokens.unknown == (False, False, True, False)
    assert torch.equal(trace.embedding_parts["token"][2], torch.zeros(8))
    assert torch.equal(trace.embedding_parts["token"][3], ours.module.get_parameter("token.weight")[3])
    assert trace.last_hidden_state.isfinite().all()
    (kind,) = trace.kinds
    facts = [PARTS["embeddings"].fact(of.walk(0, 0, kind)) for of in (trace, ours.trace("abcd"))]
    assert facts == ["Here row 2, “🙂”, is not in the vocabulary: the model reads a row of zeros for it.", ""]
    with pytest.raises(IndexError):
        ours.logits(torch.tensor([0, 10]))


def test_a_text_is_cut_to_the_block_size_and_an_empty_one_has_no_trace() -> None:
    ours = model(GPT)
    tokens, _ = ours.read("abcdefghij")
    assert (len(tokens), tokens.dropped) == (8, 2)
    with pytest.raises(NoTokensError):
        ours.trace("")
    with pytest.raises(ValueError, match=r"^9 tokens are more than the block size, 8$"):
        ours.logits(torch.zeros(9, dtype=torch.long))


def test_traces_of_other_weights_or_texts_have_other_keys() -> None:
    keys = {model(GPT, seed).trace_key(text) for seed in (0, 1) for text in ("abc", "abd")}
    assert len(keys) == 4
    assert model(GPT).trace_key("abc") == model(GPT).trace_key("abc")


@pytest.mark.parametrize("config", [GRUConfig(10, 8, width=4), BigramConfig(10), replace(GPT, layers=0)])
def test_a_model_without_attention_has_logits_and_no_trace(config: ModelConfig) -> None:
    ours = model(config)
    assert ours.logits(IDS[None]).shape == (1, 6, 10)
    assert not ours.has_attention
    for ask in (lambda: ours.trace(TEXT), lambda: ours.description):
        with pytest.raises(ModelError, match=NO_ATTENTION):
            ask()
    assert repr(ours)


def test_it_holds_what_notebooks_ask_for() -> None:
    ours = model(GPT)
    assert ours.block_size == 8
    assert not any(one.requires_grad for one in ours.parameters())
    described = ours.description
    assert described.layers == {"decoder": (2, 2)}
    assert sum(described.parameters.values()) == sum(one.numel() for one in ours.parameters())


@pytest.mark.parametrize(
    ("task", "text", "right"),
    [
        ("sort", "31415926", "11234569"), ("sort", " 9 0 2 1 0 ", "00129"), ("sort", "21>5", "12"), ("sort", "x", ""),
        ("addition", "47+85", "132"), ("addition", " 9 + 1 = 99", "10"), ("addition", "0+0", "0"),
        ("addition", "47+85+1", ""), ("addition", "a+b", ""),
        ("numbers", "342", "three hundred forty two"), ("numbers", "0", "zero"), ("numbers", "007", "seven"),
        ("numbers", "", ""), ("induction", "abab", ""),
    ],
)  # fmt: skip
def test_the_right_answer_is_known_and_the_models_that_ship_write_it(task: str, text: str, right: str) -> None:
    assert TASKS[task].solution(text) == right
    if task in trained.names() and TASKS[task].writes:
        assert TASKS[task].answer(trained.load(task), text) == right or text == "007"  # it has seen no leading zeros


def test_what_is_said_of_a_model_of_a_text_and_of_a_task() -> None:
    card = Card("mine", 1.234, 0.98765, 0.5, Corpus("Emma", 12345, "ff"))
    settings = TrainingSettings(steps=2000)

    def said(plan: Plan, card: Card) -> str:
        module = build(plan.model, 0).eval()
        task = TASKS.get(plan.subject)
        return about(TrainedModel("mine", Saved(plan, LABELS if task is None else task.labels, card, module, task), ""))

    text = Plan("text", GPT, settings)
    assert said(text, card) == (
        "Trained on Emma, 12,345 characters, to predict the next character: 2,000 steps. On the part that it was not "
        "trained on, its loss is 1.23 nats a character."
    )
    assert said(text, replace(card, corpus=None, after=1)).startswith(
        "Trained on a text, to predict the next character: 1 step."
    )
    stories = TASKS["stories"]
    assert said(Plan("stories", stories.model, settings), card) == (
        f"Trained on short stories from a grammar of this project, of {len(stories.labels) - 1} different words and "
        "punctuation marks, and of <end> after the last, to predict each next one: 2,000 steps. On stories that it was "
        "not trained on, its loss is 1.23 nats a word, and its first guess is right for 98.8 %."
    )
    for name in ("induction", "sort"):
        task = TASKS[name]
        end = "" if task.title.endswith(("?", "!", ".")) else "."
        found = said(Plan(name, task.model, settings), replace(card, after=300))
        assert found == f"{task.title}{end} After 300 steps 98.8 % of what it was not trained on is right."


def test_the_heads_that_do_a_task_are_named_in_its_order() -> None:
    task = TASKS["induction"]
    assert len(task.patterns) > 1
    found = {one.name: FoundHead("decoder", at, 1 - at, 0.456 + at / 10) for at, one in enumerate(task.patterns)}
    plan = Plan("induction", task.model, task.training)
    saved = Saved(plan, task.labels, Card("mine", 0.0, 0.0, 0.0, heads=found), build(task.model, 0).eval(), task)
    assert heads(TrainedModel("mine", saved, "")) == tuple(
        (f"Layer {at}, head {1 - at}: {one.title} ({0.46 + at / 10:.2f})", "decoder", at, 1 - at)
        for at, one in enumerate(task.patterns)
    )
    last = task.patterns[-1].name
    few = replace(saved, card=replace(saved.card, heads={last: found[last]}))
    assert [one[2] for one in heads(TrainedModel("mine", few, ""))] == [len(task.patterns) - 1]
    assert heads(model(GPT)) == ()  # no head with a clear pattern
    assert examples(model(GPT))[0].startswith("To be") and examples(TrainedModel("mine", saved, "")) == task.examples


@pytest.mark.parametrize("config", [GPT, *REDUCED])
def test_the_description_says_what_a_model_has_and_lacks(config: TokenConfig) -> None:
    is_, module = model(config).description, build(config, 0)
    assert (is_.width, is_.head_size, is_.vocabulary, is_.outputs) == (8, 4, 10, 10)
    assert is_.norm_first is (True if config.residual else None)
    assert is_.lacks == {
        *([] if config.norm else ["norm"]), *(["feed_forward"] if config.feed_forward == 0 else [])
    }  # fmt: skip
    assert (is_.final_norm, is_.shows_logits) == (config.norm and config.residual, config.residual)
    assert is_.feed_forward == (0 if config.feed_forward == 0 else 32)
    counts = dict.fromkeys(("embeddings", "attention", "feed_forward", "norms", "output"), 0)
    for name, one in module.named_parameters():
        first = name.partition(".")[0]
        part = {"token": "embeddings", "position": "embeddings", "head": "output"}.get(first)
        part = part or ("norms" if "norm" in name else "attention" if "attention" in name else "feed_forward")
        counts[part] += one.numel()
    assert is_.parameters == counts


def test_of_a_task_with_answers_of_its_own_the_outputs_are_these() -> None:
    ours = trained.load("tagging")
    assert ours.outputs == TASKS["tagging"].outputs != ours.labels
    assert ours.logits(torch.tensor([[1, 2]])).shape == (1, 2, len(ours.outputs))
    assert model(GPT).outputs == LABELS
    with pytest.raises(ValueError, match=r"^this model has no encoder to read a source$"):
        model(BigramConfig(10)).logits(IDS, IDS)
    both = trained.load("numbers")
    ids, source = torch.tensor([[1, 2]]), torch.tensor([[3, 4, 5]])
    assert torch.equal(both.logits(ids, source), both.module(ids, source))
    assert (model(GRUConfig(10, 5, width=4)).block_size, model(BigramConfig(10)).block_size) == (5, 1)


def test_the_guesses_are_the_likeliest_next_characters() -> None:
    chargpt = trained.load("chargpt")
    trace = chargpt.trace("ROMEO:")
    shares = chargpt.logits(torch.tensor(trace.tokens.ids)).softmax(-1)
    guesses = trace.walk(0, 0).guess()
    assert [of.row for of in guesses] == list(range(6))
    for of in guesses:
        best = shares[of.row].topk(5)
        assert of.shares == pytest.approx(best.values.tolist(), abs=1e-5)
        assert of.labels == tuple(label_of(chargpt.labels[token]) for token in best.indices.tolist())
    assert guesses[3].labels[0] == "O"  # after "ROME"
    assert trace.walk(1, 2).guess() is guesses  # computed once for all layers


def test_an_encoder_of_a_task_and_weights_that_learned_nothing_make_no_guesses() -> None:
    tagging = trained.load("tagging")
    assert tagging.trace(examples(tagging)[0]).guesses("encoder") == ()
    toy = trace_transformer(WordTokenizer().tokenize("a cat"), None, TransformerConfig(architecture="decoder"))
    assert toy.vocabulary is not None
    assert toy.guesses("decoder") == ()


def test_the_character_gpt_opens_on_the_head_that_looks_at_the_character_before_most() -> None:
    chargpt = trained.load("chargpt")
    text = examples(chargpt)[0]
    trace = chargpt.trace(text)
    by_head = {
        (layer, head): float(trace.attentions(layer)[head].diagonal(-1).mean())
        for layer in range(5)
        for head in range(5)
    }
    layer, head = max(by_head, key=by_head.__getitem__)
    assert by_head[layer, head] > 0.9
    said = f"Layer {layer}, head {head}: looks at the character before ({by_head[layer, head]:.2f})"
    assert heads(chargpt) == ((said, "decoder", layer, head),)
    assert opening("chargpt") == {"text": text, "kind": "decoder", "layer": layer, "head": head, "block": layer}
