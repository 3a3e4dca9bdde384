"""What the parts of BERT say in words, on numbers made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import entropy as scipy_entropy
from torch import Tensor

from attnviz.bert.agent import Decision
from attnviz.bert.blank import Blanks
from attnviz.bert.blocks import Guesses, Row, Setup, Stack, attend_in_parts
from attnviz.bert.classification.outcome import Outcome
from attnviz.bert.configuration import BERT_BASE, Configuration
from attnviz.bert.round_trip import RoundTrip, there_and_back
from attnviz.bert.table import EmbeddingTable
from attnviz.export.code.bert import embeddings
from attnviz.links.bert import BERT_KEYS
from attnviz.settings import Settings
from attnviz.tokens import Tokens
from attnviz.training.jobs.view import View
from attnviz.ui.bert import (
    MODULES,
    ablation,
    agent,
    blank,
    classifier,
    configuration,
    language,
    round_trip,
    search,
    subsets,
    token_tables,
)
from attnviz.ui.bert.classifier.training import progress_text
from attnviz.ui.bert.classifier.views import TypedText
from attnviz.ui.bert.parts import Part
from attnviz.ui.bert.round_trip import _told_apart
from attnviz.ui.bert.token_tables import RoundTripSetup
from tests.toy import tokens_of

X = torch.randn(5, 12, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(
    ("heads", "parts", "titles"),
    [(1, "1 part</b> of 12 columns, with the scale 1/√12; each gives (5, 12)", ["head 0: 0–11"]),
     (2, "2 parts</b> of 6 columns, with the scale 1/√6; each gives (5, 6)", ["head 0: 0–5", "head 1: 6–11"]),
     (4, "4 parts</b> of 3 columns", ["head 0: 0–2", "head 1: 3–5", "head 2: 6–8", "head 3: 9–11"]),
     (6, "6 parts</b> of 2 columns", [f"head {head}" for head in range(6)])],
)  # fmt: skip
def test_parts_are_counted_with_their_columns(heads: int, parts: str, titles: list[str]) -> None:
    made = attend_in_parts(X, heads)
    assert parts in subsets._shapes(made) and "<b>X</b> (5, 12)" in subsets._shapes(made)
    assert [subsets._title(made, head) for head in range(heads)] == titles


def row(other: tuple[int | None, ...]) -> Row:
    """Return a row of 7 keys in which the whole differs most from the heads, with one more head for each of `other`."""
    count = 1 + len(other)
    difference = torch.full((count, count), 0.9)
    difference[1:, 1:] = 0.4
    bits = torch.tensor([12.6, 0.3, 10.5, *[1.2] * 9])[:count]
    return Row(torch.tensor([[0.1, 0.6, 0.3]]).expand(count, 3), (1,) * count, (2, *other), bits, difference)


def test_a_row_is_told_by_its_largest_keys_its_bits_and_the_heads_differences() -> None:
    tokens = tokens_of(range(7), ("a", "<b>", "c", "d", "e", "f", "g"))
    said = subsets._row_said(row((3, 4, 3)), tokens, 1)
    assert "<b>“&lt;b&gt;”</b>: one softmax gives one distribution, largest at “&lt;b&gt;” (0.60), 12.6 bits." in said
    assert "3 heads give 3, of 0.3 to 10.5 bits; any two differ by up to <b>0.40</b>" in said
    assert said.endswith(" Besides itself, they look most at “d” (2), “e” (1).</div>")
    four, five = (subsets._row_said(row(tuple(range(2, 2 + count))), tokens, 1) for count in (4, 5))
    assert "and others" not in four and "“f” (1) and others." in five
    assert "look most" not in subsets._row_said(row((None, None)), tokens, 1)


def test_the_tables_of_a_row_have_each_softmax_with_its_own_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, made = tokens_of(range(5), "abcde"), attend_in_parts(X, 3)
    monkeypatch.setattr(subsets, "subsets_of", lambda *_: made)
    monkeypatch.setattr("attnviz.ui.bert.parts.state.get", {"q": 2}.__getitem__)
    weights, differences = subsets.tables(None, tokens).values()  # type: ignore[arg-type]
    expected = torch.stack([torch.softmax(x @ x.T / x.shape[1] ** 0.5, -1)[2] for x in (X, *X.chunk(3, dim=1))])
    assert weights.index.tolist() == ["whole X", "head 0", "head 1", "head 2"]
    np.testing.assert_allclose(weights.iloc[:, :5].to_numpy(float), expected, rtol=1e-5)
    bits = scipy_entropy(expected, base=2, axis=1)
    np.testing.assert_allclose(weights["entropy (bits)"].to_numpy(float), bits, rtol=1e-5)
    assert weights["largest key"].tolist() == [f"{key} {'abcde'[key]}" for key in expected.argmax(1)]
    apart = (expected[:, None] - expected[None]).abs().sum(-1) / 2
    np.testing.assert_allclose(differences, apart, atol=1e-6)


def test_of_many_tokens_a_cell_is_the_largest_of_a_block_and_its_label_the_first() -> None:
    tokens = tokens_of(range(128))
    weights = torch.rand(3, 128, 128, generator=torch.Generator().manual_seed(0))
    small, labels, starts = subsets._small(weights, tokens)
    assert torch.equal(small, weights.unflatten(2, (64, 2)).amax(3).unflatten(1, (64, 2)).amax(2))
    assert labels == [f"· {2 * block} {2 * block} …" for block in range(64)]
    assert starts == list(range(0, 128, 2))
    _, labels, starts = subsets._small(weights[:, :64, :64], tokens_of(range(64)))
    assert (labels[63], starts[63]) == ("63", 63)


@pytest.mark.parametrize(("causal", "attention"), [(True, "attention, masked <i>"), (False, "attention <i>")])
def test_the_path_of_a_first_language_model_has_each_shape(causal: bool, attention: str) -> None:
    said = language.path(Setup("tokens", 3, 0, causal), 5, 30522, 12)
    for part in ("ids <i>(5,)", "X = E[ids] <i>(5, 12)", attention, "softmax(X Xᵀ / √12) X", "<i>12 → 12</i></b> × 3",
                 "X Eᵀ <i>(5, 30,522)", "largest <i>(5,)"):  # fmt: skip
        assert part in said
    assert "X = embeddings" in language.path(Setup("embeddings", 3), 5, 30522, 12)


def test_tokens_in_and_out_are_escaped_and_the_chosen_one_is_marked() -> None:
    said = language.in_and_out(("<a>", "b"), ("c", "<d>"), 1)
    assert '<small dir="auto">&lt;a&gt;</small><b dir="auto">c</b>' in said
    assert '<span class="chosen" title="row 1: b → &lt;d&gt;">' in said and said.count("chosen") == 1


@pytest.mark.parametrize(
    ("blocks", "ids", "layers", "named"),
    [(1, (4, 4, 4), "the linear layer is random (seed 7)", "3 rows name the same token."),
     (2, (4, 4, 9), "the 2 linear layers are random (seed 7)", "3 rows name 2 different tokens.")],
)  # fmt: skip
def test_junk_is_told_in_per_cent_and_by_how_much_rows_became_alike(
    blocks: int, ids: tuple[int, ...], layers: str, named: str
) -> None:
    stack = Stack((), (torch.eye(3), torch.eye(3) + 9, torch.ones(3, 3)))
    guesses = Guesses(torch.tensor([[one, 1] for one in ids]), torch.tensor([[0.1, 0.05], [0.5, 0.2], [0.2, 0.1]]))
    said = language._junk(language.ModelOutput(stack, guesses), Setup(blocks=blocks, seed=7), 400)
    assert layers in said
    assert "likeliest token has 50.0000 %; if all 400 were equally likely, each would have 0.2500 %." in said
    assert said.endswith(f" their mean cosine goes from 0.00 to 1.00, and {named}")
    apart = Stack((), (torch.ones(3, 3), torch.eye(3)))
    assert "alike" not in language._junk(language.ModelOutput(apart, guesses), Setup(blocks=blocks), 400)


def test_a_decision_is_told_with_its_probability_and_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attnviz.ui.bert.agent.state.get", {"confidence": 0.6}.__getitem__)
    assert agent.decision_text(Decision(3, 0, 0.456)) == (
        "**Ask a human**: 0 increase the dose is the likeliest with a probability of **45.6 %**, which is below the "
        "threshold of 60.0 %."
    )
    assert agent.decision_text(Decision(2, 2, 0.875)) == (
        "**2 stop the treatment** with a probability of **87.5 %**; the threshold is 60.0 %."
    )
    close = [agent.decision_text(Decision(3, 0, 0.6 - less)).partition("of **")[2] for less in (3e-5, 4e-7, 1e-9)]
    assert close == [
        "59.997 %**, which is below the threshold of 60.000 %.",
        "59.99996 %**, which is below the threshold of 60.00000 %.",
        "60.0 %**, which is just below the threshold of 60.0 %.",
    ]


def test_the_row_of_the_action_that_is_taken_is_marked_and_a_report_is_escaped() -> None:
    typed = TypedText("<b>pain</b> " * 9, torch.zeros(2), torch.tensor([0.4, 0.3, 0.2, 0.1]).log())
    rows = agent.actions_html(typed, Decision(3, 0, 0.4)).split("<tr")[2:]
    assert ["is-done" in one for one in rows] == [False, False, False, True]
    for number, (one, share, move) in enumerate(
        zip(rows, ("40.0", "30.0", "20.0", "10.0"), ("up", "right", "down", "left"), strict=True)
    ):
        assert f"<td>{number}</td>" in one and f"<td>{share} %</td>" in one and f"<td>{move}</td>" in one
    assert "&lt;b&gt;pain" in rows[3] and "<b>" not in "".join(rows)
    assert (agent.shortened("x" * 80), agent.shortened("x" * 81)) == ("x" * 80, "x" * 79 + "…")


def test_the_table_of_thresholds_has_coverage_and_error_in_their_columns() -> None:
    """Two reports, at 0.6 and 0.9; the first is wrong."""
    probabilities = np.array([[0.6, 0.4], [0.1, 0.9]], np.float32)
    trained: Any = SimpleNamespace(outcome=Outcome((0, 1), np.array([1, 1]), probabilities))
    table = agent.threshold_table(trained)
    assert table.loc[0.5].tolist() == [1, 0.5] and table.loc[0.8].tolist() == [0.5, 0]
    assert table.coverage[1.0] == 0 and np.isnan(table.error[1.0])


SIZES = Configuration(
    "x", 1000, 8, (24,), 64, 2, 4, "2 × 4", 3, 3, 62,
    {"token embeddings": 8000, "attention": 900, "feed-forward": 1200, "other": 100},
)  # fmt: skip


def told(**changed: Any) -> dict[str, str]:
    """Return what is said of each size."""
    made = replace(SIZES, **changed)
    return {one.field: one.meaning.replace("\u00a0", " ") for one in configuration.sizes(made, BERT_BASE)}


def test_what_a_size_means_follows_from_the_others() -> None:
    whole = told()
    assert whole["intermediate_size"].endswith(
        "returns to C: F = 3 · C, and so most of a layer's parameters are its own."
    )
    assert "F = " not in told(feed_forward=(20,))["intermediate_size"]
    assert "most of" not in told(parameters={"feed-forward": 1, "attention": 1})["intermediate_size"]
    assert "at most 62 tokens here" in whole["max_position_embeddings"]
    assert "share C, so D = C / H = 4" in whole["num_attention_heads"]
    for width in (3, 5):
        meaning = told(head_size=width, heads_and_sizes=f"2 × {width}")["num_attention_heads"]
        assert meaning == f"Each head works with D = {width} numbers; in BERT, D = C / H."
    assert "have attention" not in whole["num_hidden_layers"]
    assert "; 2 of them have attention." in told(with_attention=2)["num_hidden_layers"]


def test_parameters_are_counted_and_shared_out() -> None:
    table = configuration.parameters(SIZES)
    assert table.loc["together"].tolist() == [10_200, 109_482_240]
    assert table.loc["token embeddings"].tolist() == [8000, 30522 * 768]
    said = configuration._notice(SIZES)
    assert "x has 10,200 parameters, and the table of token embeddings is 78 % of them" in said
    assert "109,482,240 it is 21 %" in said
    assert "1,000 · 8 = <b>8,000</b>" in configuration._tables(SIZES)
    assert [(one.number, one.base) for one in configuration.sizes(SIZES, BERT_BASE)][:2] == [
        ("1,000", "30,522"), ("8", "768"),
    ]  # fmt: skip


def test_the_configuration_s_numbers_are_those_on_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SimpleNamespace(name=" some/model ", loader="AutoModel", not_run=("decoder",))
    monkeypatch.setattr(configuration, "shown_model", lambda: model)
    monkeypatch.setattr(configuration, "configuration_of", lambda _: SIZES)
    made = configuration.tables()
    sizes = [*configuration.sizes(SIZES, BERT_BASE)]
    assert [*made] == ["configuration", "parameters"]
    assert made["configuration"].index.tolist() == [one.title for one in sizes]
    assert made["configuration"].to_dict("list") == {
        "field": [one.field for one in sizes], "x": [one.number for one in sizes],
        BERT_BASE.name: [one.base for one in sizes], "meaning": [one.meaning for one in sizes],
    }  # fmt: skip
    pd.testing.assert_frame_equal(made["parameters"], configuration.parameters(SIZES))
    asked: list[Any] = []
    monkeypatch.setattr(embeddings, "configuration_script", lambda *given: asked.append(given) or "")
    configuration.script()
    assert asked == [("some/model", SIZES, "AutoModel", ("decoder",))]


def test_blanks_are_a_table_by_position_and_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SimpleNamespace(label=["a", "␣b", "c", "d"].__getitem__, mask=("<mask>", 3), name=" some/model ")
    blanks = Blanks(
        tokens_of((0, 1, 3)), (1, 2), (1, None), torch.tensor([[1, 0], [2, 1]]), torch.tensor([[5.0, 4], [3, 2]]),
        torch.tensor([[0.75, 0.25], [0.5, 0.125]]), (None, None), (None, None),
    )  # fmt: skip
    monkeypatch.setattr(blank, "shown_model", lambda: model)
    monkeypatch.setattr(blank, "_blanks", lambda _: blanks)
    table = blank.tables()["blanks"]
    assert table.index.tolist() == [1, 1, 2, 2]
    assert table.to_dict("list") == {
        "rank": [1, 2, 1, 2], "token": ["b", "a", "c", "b"], "id": [1, 0, 2, 1], "logit": [5, 4, 3, 2],
        "probability": [0.75, 0.25, 0.5, 0.125],
    }  # fmt: skip
    said: list[dict[str, Any]] = []
    monkeypatch.setattr(blank, "blank_script", lambda *given, **named: said.append({"given": given, **named}) or "")
    blank.script()
    assert said == [{"given": ("some/model", [0, 3, 3], 3), "kept": 2}]


def test_a_filled_token_may_look_like_markup() -> None:
    said = blank._completed_html([("<i>", False), ("<unk>", True)])
    assert said.endswith(">&lt;i&gt;<mark>&lt;unk&gt;</mark></div>")


@pytest.mark.parametrize(
    ("server", "said"),
    [(Settings(), blank.HUB + blank.FOLDER), (Settings(hub=False), blank.FOLDER), (Settings(folders=False), blank.HUB),
     (Settings(hub=False, folders=False), blank.LISTED),
     (Settings(hub=False, folders=False, models=("minilm",)), blank.REFUSED)],
)  # fmt: skip
def test_how_a_model_is_opened_depends_on_the_server(
    server: Settings, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blank, "settings", lambda: server)
    assert blank._how() == said


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (View("queued", 2000, place=3), "Waiting: number 3 in line for a processor of this server."),
        (View("running", 2000, step=1234), "Step 1,234 of 2,000 …"),
        (View("stopped", 2000, step=1234), "Stopped after step 1,234 of 2,000."),
        (View("stopped", 2000, step=1234, message="It was too large."), "It was too large."),
        (View("failed", 2000, step=1234, message="It broke."), "It broke."),
        (View("done", 2000, step=2000), ""),
    ],
)
def test_the_progress_of_a_training_is_a_sentence(view: View, said: str) -> None:
    assert progress_text(view) == said


def test_each_part_of_a_link_has_a_module_with_a_part() -> None:
    assert [*MODULES] == [*BERT_KEYS["bert_part"].titles]
    assert all(isinstance(import_module(module).PART, Part) for module in MODULES.values())


@pytest.mark.parametrize(
    ("key", "views"),
    [
        ("back_view", round_trip.VIEWS),
        ("find_view", search.VIEWS),
        ("off_view", ablation.VIEWS),
        ("class_view", classifier.VIEWS),
        ("agent_view", agent.VIEWS),
    ],
)
def test_each_view_of_a_link_is_shown(key: str, views: Mapping[str, object]) -> None:
    assert list(views) == list(BERT_KEYS[key].titles)


APART = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
LONGER = torch.tensor([[1.0, 0.1], [2.0, 0.0], [0.0, 1.0]])
SAME_DIRECTION = torch.tensor([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
EQUAL = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def said(weight: Tensor, *ids: int, is_unit: bool, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return what is to be noticed of some ids in a table of three rows."""

    def back(setup: RoundTripSetup) -> RoundTrip:
        return there_and_back(setup.tokens.ids, setup.ends())

    monkeypatch.setattr(RoundTripSetup, "round_trip", back)
    count, pieces = len(ids), ("a", "b", "c")
    no = (False,) * count
    tokens = Tokens(
        "", None, tuple(pieces[one] for one in ids), ids, ((0, 0),) * count, (0,) * count, no, no, 0, 3, "a test's"
    )
    table = EmbeddingTable(weight, pieces, pieces, lambda _: "", None)
    model = cast(Any, SimpleNamespace(name="not the built-in one"))
    return token_tables._tokens_notice(RoundTripSetup(model, table, tokens, False, is_unit, 0, 1.0))


def test_every_token_comes_back_only_if_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    every, same = "So every token comes back.", "But two rows of the same direction can't be told apart."
    assert every in said(APART, 0, 1, 2, is_unit=True, monkeypatch=monkeypatch)
    assert every in said(LONGER, 0, 1, 2, is_unit=True, monkeypatch=monkeypatch)
    for weight in (SAME_DIRECTION, EQUAL):
        found = said(weight, 0, 1, 2, is_unit=True, monkeypatch=monkeypatch)
        assert every not in found
        assert same in found


def test_rows_of_length_1_help_only_against_a_longer_row_of_another_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    helped = said(LONGER, 0, is_unit=False, monkeypatch=monkeypatch)
    assert "“a” does not come back" in helped
    assert "longer (2.000 instead of 1.005)" in helped
    assert helped.endswith("With rows of length 1 it comes back.")
    not_helped = said(SAME_DIRECTION, 1, is_unit=False, monkeypatch=monkeypatch)
    assert "longer (2.000 instead of 1.000)" in not_helped
    assert not_helped.endswith("Nor does it with rows of length 1: two rows of the same direction can't be told apart.")
    equal = said(EQUAL, 0, 1, is_unit=False, monkeypatch=monkeypatch)
    assert "of nearly the same length" in equal
    assert equal.endswith("can't be told apart.")


@pytest.mark.parametrize("is_unit", [False, True])
def test_a_row_of_zeros_has_no_direction(is_unit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    found = said(weight, 0, 2, is_unit=is_unit, monkeypatch=monkeypatch)
    assert "“c” does not come back: its row of the table is all zeros, so its logits are all 0." in found
    assert "direction" not in found


def test_labels_of_buttons_are_escaped_and_differ() -> None:
    labels = _told_apart(["[CLS]", "##s", "*", "##s"])
    assert labels == [r"\[CLS\]", r"\#\#s (1)", r"\*", r"\#\#s (3)"]
