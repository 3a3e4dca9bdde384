"""Two heads side by side, and the titles and captions of pages: what is said, and where colours end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf

from attnviz.compare.alignment import GAP
from attnviz.export.comparison import HeadComparison, Side, compared, describe
from attnviz.export.views import caption, link_of, title
from attnviz.links.link import read_link
from attnviz.sources.compared import choices, run
from attnviz.sources.models import DirectResources
from attnviz.sources.shown import shown_part
from attnviz.steps import PARTS
from attnviz.tokens import CharVocab
from attnviz.training.tasks import TASKS
from tests.unit.pretrained.test_position_bias import T5, TEXT, tokenizer

RESOURCES = DirectResources()
SAT = "the cat sat"


def of(quantity: str = "weights", **link: str) -> HeadComparison:
    view, notes = read_link({"text": SAT, **link})
    assert not notes
    both = choices(view.__getitem__, RESOURCES)
    return compared(both, (run(both[0], RESOURCES), run(both[1], RESOURCES)), quantity)


@pytest.mark.parametrize(
    ("link", "titles"),
    [
        ({"b_text": "the big cat sat down"}, ("A", "B · big down")),
        ({"text": "the cat sat", "b_text": "the dog sat"}, ("A · cat", "B · dog")),
        ({"b_mask": "causal", "b_head": "1"}, ("A · head 0 · no mask", "B · head 1 · causal mask")),
        ({"b_scale": "sqrt_c", "scale": "0.5"}, ("A · scale 0.5", "B · 1/√C")),
        ({"b_scale": "off"}, ("A · 1/√D", "B · no scale")),
        ({"source": "pretrained", "layer": "2", "b_scale": "off", "b_mask": "causal"},
         ("A · its own scale · its own m…", "B · no scale · causal mask")),
        ({"source": "pretrained", "b_source": "toy", "b_head": "1"}, ("A · MiniLM (a small BERT)", "B · toy")),
        ({"source": "pretrained", "layer": "2", "b_layer": "4"}, ("A · layer 2", "B · layer 4")),
        ({"source": "trained", "model": "induction", "text": "abab", "b_model": "reverse"},
         ("A · induction", "B · reverse")),
    ],
)  # fmt: skip
def test_the_titles_name_in_what_a_and_b_differ(link: dict[str, str], titles: tuple[str, str]) -> None:
    found = of(**link).titles
    assert found[0].partition(" · kind")[0].startswith(titles[0])
    assert found[1].startswith(titles[1])
    assert all(len(one) <= 30 for one in found)


def test_a_title_of_up_to_30_characters_is_whole_and_a_longer_one_ends_with_dots() -> None:
    fits, longer = "x" * 26, "y" * 27
    assert of(text=f"the {fits}", b_text=f"the {longer}").titles == (f"A · {fits}", f"B · {'y' * 25}…")


@pytest.mark.parametrize(
    ("quantity", "link", "hidden"),
    [
        ("weights", {"b_mask": "causal"}, "0 (masked)"), ("masked", {"b_mask": "causal"}, "−∞ (masked)"),
        ("masked", {}, "−∞ (masked)"), ("masked", {"b_mask": "causal", "mask_value": "-1e10"}, "−1e10 (masked)"),
        ("masked", {"padding": "1", "mask_value": "-1e10_before", "scale": "0.5", "b_scale": "off"},
         "−5e9 or −1e10 (masked)"), ("scores", {"b_mask": "causal"}, None),
    ],
)  # fmt: skip
def test_what_hidden_cells_hold_is_said_as_the_masks_fill_it_in(
    quantity: str, link: dict[str, str], hidden: str | None
) -> None:
    assert of(quantity, **link).payload(stretch=None)[0]["hidden"] == hidden


def test_why_cells_are_masked_is_sent_of_each_side_whose_rows_are_all_there() -> None:
    causal, last = ({"causal": True, "window": window, "padding": ()} for window in (None, (1, 0)))
    around = {"causal": False, "window": (1, 1), "padding": ()}
    both = {name: of(name, mask="causal", b_mask="none", window="2").payload(stretch=None)[0]["mask_reasons"]
            for name in ("weights", "scores")}  # fmt: skip
    assert both == {"weights": {"a": last, "b": around}, "scores": {}}
    same = of("weights", mask="causal", b_head="1").payload(stretch=None)[0]["mask_reasons"]
    assert same == {"a": causal, "b": causal, "difference": causal}
    longer = of("weights", mask="causal", b_text="the big cat sat").payload(stretch=None)[0]
    assert longer["mask_reasons"] == {}
    assert of("weights", b_mask="causal").payload(stretch=None)[0]["mask_reasons"] == {"b": causal}


def test_cells_of_longt5_without_a_bias_are_outside_of_its_window_whatever_mask_follows(tmp_path: Path) -> None:
    """Its window is of `local_radius` keys on both sides, by its configuration; a causal mask comes after the bias."""
    torch.manual_seed(0)
    tf.LongT5Model(tf.LongT5Config(**T5, local_radius=3)).eval().save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    link = {"source": "pretrained", "model": str(tmp_path), "kind": "encoder", "text": TEXT, "b_head": "1"}
    around = {"causal": False, "window": (3, 3), "padding": ()}
    for more, masked_of_b in (({}, around), ({"b_mask": "causal"}, {**around, "causal": True, "window": (3, 0)})):
        both = {name: of(name, **link, **more) for name in ("scores", "biased", "masked")}
        sent = {name: one.payload(stretch=None)[0] for name, one in both.items()}
        assert sent["biased"]["mask_reasons"] == {"a": around, "b": around, "difference": around}
        assert sent["masked"]["mask_reasons"]["a"] == around
        assert sent["masked"]["mask_reasons"]["b"] == masked_of_b
        said = "outside of the window: no bias is shown"
        assert [sent[name]["hidden"] for name in sent] == [None, said, "−∞ (masked)"]
        at = np.arange(len(both["biased"].labels["key"]))
        for side in ("a", "b", "difference"):
            hidden = np.isnan(both["biased"].matrices()[side])
            np.testing.assert_array_equal(hidden, np.abs(at[:, None] - at) > 3)
    other = of("biased", **{**link, "b_source": "toy", "b_head": "0"}).payload(stretch=None)[0]
    assert "b" not in other["mask_reasons"]


def test_cells_that_the_mask_hides_later_have_a_biased_score() -> None:
    sent = of("biased", mask="causal", positions="alibi").payload(stretch=None)[0]
    assert (sent["hidden"], sent["mask_reasons"]) == (None, {})


def test_the_rows_of_a_longer_text_are_aligned_and_gaps_have_no_label_of_their_own() -> None:
    found = of(b_text="the big cat sat")
    assert found.labels["query"] == found.labels["key"] == ["the", "– | big", "cat", "sat"]
    a, b = found.sides
    assert a.own_labels()["key"] == ["the", None, "cat", "sat"]
    assert b.own_labels()["query"] == ["the", "big", "cat", "sat"]
    assert found.keys == 4
    matrices = found.matrices()
    weights = [head.steps.weights.numpy() for head in found.heads]
    kept = np.ix_([0, 2, 3], [0, 2, 3])
    np.testing.assert_array_equal(matrices["a"][kept], weights[0])
    np.testing.assert_array_equal(matrices["b"], weights[1])
    np.testing.assert_allclose(matrices["difference"][kept], weights[0] - weights[1][kept], atol=1e-7)
    assert np.isnan(matrices["difference"][1]).all() and np.isnan(matrices["difference"][:, 1]).all()
    assert "only B has" in str(found.notice())


@pytest.mark.parametrize("blocks", [("0", "6"), ("6", "0")])
def test_one_head_that_reads_another_text_has_the_keys_of_that_text(blocks: tuple[str, str]) -> None:
    """Block 0 reads its own text; block 6 is the decoder's attention to the encoder."""
    link = {"source": "toy", "architecture": "both", "depth": "3", "text": SAT, "pair": "a dog"}
    views = [read_link({**link, "decoder_depth": "2", "block": block})[0] for block in blocks]
    first, second = (shown_part(view.__getitem__, RESOURCES).walk(RESOURCES) for view in views)
    found = compared(choices(views[0].__getitem__, RESOURCES), (first, second), "weights")
    assert found.labels["key"] == SAT.split()
    for side, walk in zip(found.sides, (first, second), strict=True):
        kept = [label is not None for label in side.own_labels()["query"]]
        np.testing.assert_array_equal(found.matrices()[side.name][kept], walk.steps.weights.numpy())


def test_a_and_b_share_their_colours_and_the_difference_has_its_own_around_0() -> None:
    found = of("masked", b_head="1", b_mask="causal")
    a, b, difference = panels = found.payload(stretch=None)[0]["panels"]
    largest = max(float(np.nanmax(np.abs(np.where(np.isfinite(one), one, 0)))) for one in
                  (found.comparison.a, found.comparison.b))  # fmt: skip
    assert [(one["low"], one["high"], one["scale"]) for one in (a, b)] == [
        (pytest.approx(-largest), pytest.approx(largest), "signed")
    ] * 2
    there = found.comparison.difference[np.isfinite(found.comparison.difference)]
    assert (-difference["low"], difference["high"]) == pytest.approx((np.abs(there).max(),) * 2)
    assert [one["title"] for one in panels] == [*found.titles, "A − B"]
    weights = of(b_head="1")
    first = weights.payload(stretch=None)[0]["panels"]
    assert [(one["name"], one["low"], one["high"]) for one in (first[0], first[1], first[3])] == [
        ("a", 0, 1), ("b", 0, 1), ("divergence", 0, 1),
    ]  # fmt: skip
    assert weights.matrices()["divergence"].shape == (3, 1)
    end = max(float(head.steps.weights.max()) for head in weights.heads)
    dark = weights.payload(stretch=True)[0]["panels"]
    assert (dark[0]["high"], dark[1]["high"], weights.darkened_limit) == pytest.approx((end,) * 3)
    assert weights.colours(stretch=True).startswith("The colours of A and B end at 0.")
    assert weights.colours(stretch=None) == weights.colours(stretch=False) == ""
    same = of("scores", b_scale="off")
    assert [same.payload(stretch=None)[0]["panels"][2][end] for end in ("low", "high")] == [-1, 1], "nothing differs"


def test_the_picture_is_described_with_shapes_and_ranges() -> None:
    found = of("scores", b_head="1")
    parts = found.payload(stretch=None)[0]["alt"].split("; ")
    matrices = (found.comparison.a, found.comparison.b, found.comparison.difference)
    for part, name, matrix in zip(parts, (*found.titles, "A − B"), matrices, strict=True):
        low, high = (f"{float(one):.2f}".replace("-", "−") for one in (matrix.min(), matrix.max()))
        assert part == f"{name}: scores, 3 rows: query (from), 3 columns: key (to), numbers from {low} to {high}"
    fewer = replace(found.comparison, a=matrices[0][:2], b=matrices[1][:2], difference=matrices[2][:2])
    assert all(
        ", 2 rows: query (from), 3 columns: key (to), " in part for part in describe(fewer, ("A", "B")).split("; ")
    )


def test_labels_of_keys_are_those_of_the_text_that_is_read() -> None:
    letters = CharVocab.from_text("abxy")
    head: Any = SimpleNamespace(query_tokens=letters.tokenize("ab"), key_tokens=letters.tokenize("xy"))
    side = Side("a", RESOURCES, head, (0, GAP, 1), (1, 0))  # type: ignore[arg-type]
    assert side.own_labels() == {"query": ["a", None, "b"], "key": ["y", "x"]}


def test_the_digest_is_of_the_numbers_and_of_how_they_are_shown() -> None:
    one, other = of(b_head="1"), of(b_head="1", seed="1")
    assert one.digest(stretch=None) == of(b_head="1").digest(stretch=None) == one.payload(stretch=None)[0]["trace"]
    assert len({one.digest(stretch=None), one.digest(stretch=True), other.digest(stretch=None)}) == 3


def test_what_ifs_and_weights_that_have_learned_nothing_are_said() -> None:
    link = {"source": "pretrained", "scale": "off"}
    what_if = "a what-if: the model's own Q and K with another scale or mask; the layers before are unchanged."
    assert of(**link, b_scale="sqrt_d").caveats() == f"A: {what_if}"
    assert of(**link, b_head="1").caveats() == f"A and B: {what_if}"
    assert of(b_scale="off").caveats() == ""
    assert of(source="pretrained", b_source="toy", seed="4").caveats() == (
        "The toy's weights are drawn from seed 4 and have learned nothing."
    )


ABOUT_MINILM, ABOUT_TOY = "Model: MiniLM (a small BERT).", "Toy weights of seed 0, which have learned nothing."
ROWS = "Rows are queries (from), columns are keys (to)."


@pytest.mark.parametrize(
    ("page", "link", "titled", "captioned"),
    [
        ("step_by_step", {"source": "pretrained", "layer": "3", "head": "5", "step": "weights"},
         "Weights · layer 3 · head 5", f"“a b” {ABOUT_MINILM} {ROWS}"),
        ("step_by_step", {"source": "toy", "layer": "3", "head": "1", "step": "weights"}, "Weights · head 1",
         f"“a b” {ABOUT_TOY} {ROWS}"),
        ("step_by_step", {"source": "pretrained", "layer": "3", "step": "output"}, "Output · layer 3", None),
        ("step_by_step", {"source": "toy", "step": "output"}, "Output", None),
        ("step_by_step", {"source": "toy", "layer": "3", "step": "embeddings"}, "Embeddings", None),
        ("step_by_step", {"source": "pretrained", "layer": "3", "step": "embeddings"}, "Hidden states · layer 3", None),
        ("step_by_step", {"source": "pretrained", "layer": "3", "head": "1", "step": "tokens"},
         "Sentence · layer 3 · head 1", None),
        ("step_by_step", {"source": "pretrained", "layer": "0", "step": "embeddings"}, "Embeddings · layer 0", None),
        ("heads", {"layer": "2", "head": "7"}, "layer 2 · head 7", f"“a b” {ABOUT_MINILM} {ROWS}"),
        ("heads", {"over": "corpus"}, "All heads over a corpus",
         f"Mean weights over a corpus, by how far query and key stand apart. {ABOUT_MINILM} {ROWS}"),
        ("compare", {"quantity": "scores", "b_text": "c", "b_source": "pretrained"},
         "A, B and their difference: scores", f"A: “a b” {ABOUT_TOY} B: “c” {ABOUT_MINILM} {ROWS}"),
        ("transformer", {"block": "3", "part": "logits"}, f"{PARTS['logits'].title} · attention 3 of the model",
         f"“a b” {ABOUT_TOY} {ROWS}"),
        ("transformer", {"block": "1", "part": "weights", "head": "1"},
         f"{PARTS['weights'].title} · attention 1 of the model · head 1", None),
        ("tokens", {"pair": "c"}, "Three tokenizers", "“a b” “c”"), ("tokens", {"pair": " "}, None, "“a b”"),
        ("bert", {"bert_part": "without"}, "Heads switched off", "“a b”"),
        ("averages", {}, "From averages to attention", None),
        ("train", {"task": "sort"}, TASKS["sort"].title,
         f"“{TASKS['sort'].examples[0]}” A small model in training. {ROWS}"),
    ],
)  # fmt: skip
def test_pages_have_their_titles_and_captions(
    page: str, link: dict[str, str], titled: str | None, captioned: str | None
) -> None:
    view, notes = read_link({"text": " a \n b ", **link})
    assert not notes
    if titled is not None:
        assert title(page, view.__getitem__) == titled
    if captioned is not None:
        assert caption(page, view.__getitem__) == captioned


def test_of_many_heads_their_number_is_said_and_a_rollout_is_no_head() -> None:
    view: dict[str, Any] = read_link({"text": "a"})[0]
    four = [(0, 1), (2, 3), (4, 5), (1, -1)]
    assert title("heads", {**view, "chosen": four}.__getitem__) == (
        "layer 0 · head 1, layer 2 · head 3, layer 4 · head 5, layer 1 · rollout"
    )
    assert title("heads", {**view, "chosen": [*four, (5, 5)]}.__getitem__) == "5 heads"
    after = {**view, "task": "sort", "train_part": "task", "snapshot": 1500, "sample": "31"}
    assert title("train", after.__getitem__) == f"{TASKS['sort'].title} · after 1,500 steps"
    assert title("train", {**after, "snapshot": 1}.__getitem__).endswith(" · after 1 step")
    assert caption("train", after.__getitem__).startswith("“31” A small")
    for count, end in ((300, "x”"), (301, "x …”")):
        assert caption("bert", {**view, "text": "x" * count}.__getitem__) == f"“{'x' * 300}" + end[1:]


def test_links_of_files_hold_what_shapes_the_view_and_nothing_else() -> None:
    view, _ = read_link({"text": "a b", "source": "pretrained", "layer": "3", "head": "5", "step": "weights"})
    assert link_of(view, "") == ""
    expected = "https://x.example/?text=a+b&source=pretrained&layer=3&head=5"
    assert link_of(view, "https://x.example/") == link_of(view, "https://x.example") == expected
    toy, _ = read_link({"text": "a", "seed": "3", "layer": "2", "block": "5"})
    assert link_of(toy, "https://x.example").startswith("https://x.example/?text=a&")
    assert "block=5" in link_of(toy, "https://x.example", "transformer")
