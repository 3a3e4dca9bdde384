"""Links: each key's default, what it takes, what it refuses and says, and that any string is survived."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.links import link, values
from attnviz.links.link import KEYS, read_link, write_link
from attnviz.links.values import BadValueError, Key, OneOf, titled
from attnviz.settings import PUBLIC, Settings
from attnviz.steps import PARTS, WALK
from tests.unit.links import table
from tests.unit.links.views import DEFAULTS, VALUES, WORDS

GOOD = [
    ("text", "To be, or not to be", "To be, or not to be"),
    ("text", "", ""),
    ("text", "zwölf 🦊 <script>\x00", "zwölf 🦊 <script>\x00"),
    ("pair", "A second sentence.", "A second sentence."),
    ("source", "pretrained", "pretrained"),
    ("model", "bert-base-uncased", "bert-base-uncased"),
    ("kind", "cross", "cross"),
    ("layer", "5", 5),
    ("layer", "007", 7),
    ("head", "11", 11),
    *(("step", step, step) for step in WALK),
    ("q", "0", 0),
    ("k", "511", 511),
    ("tokenizer", "bert", "bert"),
    ("charset", "text", "text"),
    ("positions", "none", "none"),
    ("qkv", "identity", "identity"),
    ("heads", "8", 8),
    ("head_size", "2", 2),
    ("scale", "off", "off"),
    ("scale", "sqrt_c", "sqrt_c"),
    ("scale", "0.125", "0.125"),
    ("scale", "-2.50", "-2.5"),
    ("scale", "1e3", "1000"),
    ("mask", "causal", "causal"),
    ("padding", "512", 512),
    ("mask_value", "-1e10_before", "-1e10_before"),
    ("model_width", "8", 8),
    ("model_width", "512", 512),
    ("embedding", "uniform", "uniform"),
    ("std_q", "0.5", 0.5),
    ("std_k", "1e-1", 0.1),
    ("std_v", "0", 0.0),
    ("std_v", "10", 10.0),
    ("std_q", "0.12345678", 0.123457),
    ("projection_bias", "1", True),
    ("qk_norm", "1", True),
    ("projection", "0", False),
    ("positions", "lab", "lab"),
    ("architecture", "both", "both"),
    ("depth", "12", 12),
    ("decoder_depth", "1", 1),
    ("width", "8", 8),
    ("feed_forward", "1", 1),
    ("feed_forward", "512", 512),
    ("norm", "pre", "pre"),
    ("activation", "gelu", "gelu"),
    ("bias", "0", False),
    ("block", "35", 35),
    *(("part", part, part) for part in PARTS),
    ("stretch", "0", "0"),
    ("stretch", "1", "1"),
    ("stretch", "off", "off"),
    ("limit", "30", 30.0),
    ("limit", "0.25", 0.25),
    ("limit", "0.01", 0.01),
    ("limit", "1000", 1000.0),
    ("limit", "9.99", 9.99),
    ("limit", "1.001", 1.0),
    ("limit", ".5", 0.5),
    ("threshold", "0.123456789", 0.1235),
    ("threshold", "0.12346", 0.1235),
    ("threshold", "1", 1.0),
    ("threshold", "1.", 1.0),
    ("threshold", ".5", 0.5),
    ("threshold", "0.12345678", 0.1235),
    ("scale", "1000", "1000"),
    ("scale", "-1000", "-1000"),
    ("temperature", "2", 2.0),
    ("temperature", "1.556", 1.56),
    ("temperature", "1.12345678", 1.12),
    ("rate", ".5", 0.5),
    ("rate", "1e-10", 1e-10),
    ("rate", "0.0000000001", 1e-10),
    ("task", "x" * 30, "x" * 30),
    ("text_model", "x" * 40, "x" * 40),
    ("chosen", "9999.9999_0.0", ((9999, 9999), (0, 0))),
    ("off", "99.99_0.0", ((0, 0), (99, 99))),
    ("top_p", "1", 1.0),
    ("weight_decay", "1", 1.0),
    ("confidence", "0.25", 0.25),
    ("class_rate", "0.1", 0.1),
    ("subset_heads", "12", 12),
    ("subset_heads", "1", 1),
    ("train_dropout", "0.9", 0.9),
    ("drawing", "chart", "chart"),
    ("focus", "key_t", "key_t"),
    ("focus", "difference", "difference"),
    ("predict", "1", True),
    ("way", "softmax", "softmax"),
    ("seed", "999999", 999_999),
    ("block_size", "64", 64),
    ("chosen", "3.5_2.r", ((3, 5), (2, -1))),
    ("threshold", "0.25", 0.25),
    ("chosen", "_".join(f"0.{head}" for head in range(24)), tuple((0, head) for head in range(24))),
    ("chosen", "_".join(["3.5", "2.r"] * 20), ((3, 5), (2, -1))),
    ("off", "", ()),
    ("off", "5.0_3.5_5.0", ((3, 5), (5, 0))),
    (
        "off",
        "_".join(f"{n}.{head}" for n in range(12) for head in range(12)),
        tuple((n, head) for n in range(12) for head in range(12)),
    ),
    ("recompute", "past", "past"),
    ("strongest", "10", 10),
    ("strongest", "0", 0),
    ("special", "renormalise", "renormalise"),
    ("sort", "entropy", "entropy"),
    ("label", "attends to [SEP]", "attends to [SEP]"),
    ("compare", "same", "same"),
    ("quantity", "masked", "masked"),
    ("lecture", "1", True),
    ("lesson", "attention", "attention"),
    ("scene", "10", 10),
    ("other", "a river", "a river"),
    ("other", "x" * 100, "x" * 40),
    ("over_all", "1", True),
    ("pads", "16", 16),
    ("dropout", "0.9", 0.9),
    ("dropout", "0", 0.0),
    ("draw", "999", 999),
    ("train_part", "text", "text"),
    ("rung", "gru", "gru"),
    ("text_view", "loss", "loss"),
    ("train_block", "128", 128),
    ("cut", "plain", "plain"),
    ("text_to", "5242880", 5_242_880),
    ("task", "sort", "sort"),
    ("sample", "x" * 300, "x" * 200),
    ("steps", "100000", 100_000),
    ("rate", "3e-4", 0.0003),
    ("rate", "0.003", 0.003),
    ("rate", "10", 10.0),
    ("optimiser", "muon", "muon"),
    ("decay", "cosine", "cosine"),
    ("watch", "cross.0.11", "cross.0.11"),
    ("run", "control", "control"),
    ("snapshot", "0", 0),
    ("text_model", "run-12", "run-12"),
    ("prompt", "x" * 1200, "x" * 1000),
    ("length", "300", 300),
    ("temperature", "0", 0.0),
    ("temperature", "1.2345", 1.23),
    ("top_k", "10000", 10_000),
    ("top_p", "0", 0.0),
    ("drawn", "299", 299),
    ("b_text", "Another text", "Another text"),
    ("b_layer", "3", 3),
    ("b_scale", "1e-1", "0.1"),
]

NOT_WHOLE = ["", " 1", "-1", "1.0", "1e1", "+1", "0x1", "٣", "１", "NaN", "1_0", "9" * 30, "9" * 100_000]
WHOLE = {"layer": 100_001, "head": 100_001, "q": 100_001, "k": 100_001, "heads": 9, "head_size": 65}
WHOLE |= {"padding": 513, "model_width": 513}
WHOLE |= {"depth": 13, "decoder_depth": 13, "width": 129, "feed_forward": 513, "block": 100_001}
WHOLE |= {"pads": 17, "draw": 1000}
WHOLE |= {"b_layer": 100_001, "b_head": 100_001}
WHOLE |= {"seed": 1_000_000, "block_size": 65, "strongest": 1001, "scene": 101}
WHOLE |= {"steps": 100_001, "batch": 4097, "warm_up": 100_001, "snapshot": 100_001}
WHOLE |= {"length": 301, "top_k": 10_001, "drawn": 300}
WHOLE |= {"text_from": 5_242_881, "text_to": 5_242_881}
WHOLE |= {"train_block": 129, "train_layers": 13, "train_heads": 9, "train_width": 129}
RANGES = {
    **dict.fromkeys(("layer", "head", "q", "k", "block", "lm_block", "hit", "blank_at"), (0, 100_000)),
    "heads": (1, 8), "head_size": (2, 64), "padding": (0, 512), "model_width": (8, 512), "seed": (0, 999_999),
    "depth": (1, 12), "decoder_depth": (1, 12), "width": (8, 128), "feed_forward": (1, 512), "block_size": (1, 64),
    "strongest": (0, 1000), "pads": (1, 16), "window": (1, 512), "kv_heads": (1, 8), "draw": (0, 999),
    "scene": (1, 100),
    "train_block": (1, 128), "text_from": (0, 5_242_880), "text_to": (0, 5_242_880), "steps": (1, 100_000),
    "batch": (1, 4096), "warm_up": (0, 100_000), "train_layers": (0, 12), "train_heads": (1, 8),
    "train_width": (8, 128), "snapshot": (0, 100_000), "length": (1, 300), "top_k": (0, 10_000), "drawn": (0, 299),
    "lm_blocks": (1, 6), "hits": (1, 30), "blank_kept": (1, 20), "class_steps": (1, 2000), "cls_head": (0, 11),
}  # fmt: skip
"""The lowest and the highest whole number that a key takes"""
LONGEST = {
    "model": 200, "label": 60, "corpus": 60, "lesson": 60, "other": 40, "sample": 200, "prompt": 1000,
    "back_piece": 40, "find": 200, "sentence": 4000, "report": 4000,
}  # fmt: skip
"""The most characters that a key keeps"""
CHOICES = ["source", "kind", "way", "step", "tokenizer", "charset", "positions", "qkv", "mask", "projection", "stretch"]
CHOICES += ["architecture", "norm", "activation", "bias", "part"]
CHOICES += ["compare", "quantity", "b_source", "b_kind", "b_mask"]
CHOICES += ["embedding", "mask_value", "projection_bias", "qk_norm", "recompute"]
CHOICES += ["drawing", "focus", "predict", "lecture"]
CHOICES += ["rollout", "show", "direction", "special", "between", "values", "mean", "sort", "more", "check", "over_all"]
CHOICES += ["mistake", "answer", "decay", "optimiser", "train_part", "run"]
CHOICES += ["rung", "text_view", "cut", "halves", "cache", "panel"]

BAD = [
    *((name, raw) for name in WHOLE for raw in [*NOT_WHOLE, str(WHOLE[name])]),
    *(
        (f"std_{one}", raw)
        for one in "qkv"
        for raw in ["", ".", "-0.1", "10.1", "nan", "inf", "-inf", "1e999", "1e1", "x"]
    ),
    *((name, raw) for name in CHOICES for raw in ["", "nonsense", "Toy ", "2", "None", "<b>"]),
    *(("scale", raw) for raw in ["", "nan", "inf", "-inf", "1e9", "1001", "-1001", "sqrt", "1/2", "9" * 100_000]),
    *(("off", raw) for raw in ["3", "3.", "3.r", "3.5_", "_3.5", "3,5", "٣.5", "100.0", "_".join(["1.1"] * 300)]),
    *(("chosen", raw) for raw in ["3", "3.", "r.3", "3.5_", "3,5", "٣.5", "_".join(f"0.{head}" for head in range(25))]),
    *(("limit", raw) for raw in ["1000.01", "10000", "0", "0.001", "-1", "1e3", "1001", "nan"]),
    *(("threshold", raw) for raw in ["", ".", "1.01", "9", "-0.1", "1e-2", "0.12345678901"]),
    *(("dropout", raw) for raw in ["", ".", "0.91", "1", "-0.1", "1e-2", "nan"]),
    *(("rate", raw) for raw in ["", ".", "-1", "10.1", "11", "1e2", "nan", "inf", "1e-999", "٣"]),
    *(("task", raw) for raw in ["", "Sort", "sort 10", "<b>", "x" * 31]),
    *(("watch", raw) for raw in ["decoder", "decoder.1", "decoder.1.x", "other.1.0", "decoder.100.0", "decoder.٣.0"]),
    *(("temperature", raw) for raw in ["", ".", "-1", "2.01", "nan", "inf", "1e0", "٣"]),
    *(("top_p", raw) for raw in ["", "1.01", "-0.1", "nan"]),
    *(("text_model", raw) for raw in ["", "Run-1", "run_1", "../x", "<b>", "x" * 41]),
    ("temperature", "1.12345678901"),
    ("rate", "0.00000000001"),
    ("rate", "1e-100"),
    ("rate", "100"),
    ("chosen", "10000.0"),
    ("chosen", "0.10000"),
    ("off", "0.100"),
    ("subset_heads", "5"),
    ("train_dropout", "0.91"),
]


def short(value: object) -> str:
    """Return what stays readable of a value of 100 kB."""
    return repr(value)[:24].encode("unicode_escape").decode()


def test_every_key_has_its_default_here() -> None:
    assert {name: key.default for name, key in KEYS.items()} == DEFAULTS


def test_an_empty_link_is_the_default_view() -> None:
    assert read_link({}) == (DEFAULTS, [])


def test_good_values_are_taken() -> None:
    for name, raw, value in GOOD:
        assert read_link({name: raw}) == ({**DEFAULTS, name: value}, []), f"{name}={short(raw)}"


def test_bad_values_fall_back_and_are_named() -> None:
    for name, raw in BAD:
        view, notes = read_link({name: raw})
        assert view == DEFAULTS, f"{name}={short(raw)}"
        assert len(notes) == 1, f"{name}={short(raw)}"
        assert notes[0].startswith(f"The link's {name}={raw[:40]} is n")
        shown = "nothing" if DEFAULTS[name] in (None, "", ()) else KEYS[name].write(DEFAULTS[name])
        shown = "A's" if name.startswith("b_") else shown
        assert notes[0].endswith(f", so {shown} is used.")
        assert len(notes[0]) < 250


@pytest.mark.parametrize(("name", "limits"), RANGES.items())
def test_a_whole_number_is_taken_from_its_lowest_to_its_highest(name: str, limits: tuple[int, int]) -> None:
    low, high = limits
    for number in limits:
        assert read_link({name: str(number)}) == ({**DEFAULTS, name: number}, [])
    for number in (low - 1, high + 1):
        view, notes = read_link({name: str(number)})
        assert view == DEFAULTS
        assert f"{name}={number} is not a whole number from {low} to {high}, so " in notes[0]


def test_every_whole_number_of_a_link_is_in_that_list() -> None:
    of_b = {f"b_{name}" for name in ("layer", "head")}
    refused = {name for name in KEYS if "is not a whole number from" in "".join(read_link({name: "x"})[1])}
    assert refused == RANGES.keys() | of_b


@pytest.mark.parametrize(("name", "most"), LONGEST.items())
def test_a_word_is_kept_up_to_its_length(name: str, most: int) -> None:
    assert read_link({name: "é" * (most + 1)}) == ({**DEFAULTS, name: "é" * most}, [])


def test_the_words_of_old_links_are_taken() -> None:
    offered = {name: " ".join(key.values.by_word) for name, key in KEYS.items() if isinstance(key.values, OneOf)}
    assert {name: words for name, words in offered.items() if not name.startswith("b_")} == WORDS


def test_a_note_says_what_is_taken_and_what_is_used() -> None:
    notes = [read_link({name: raw})[1] for name, raw in {
        "norm": "x" * 50, "dropout": "0.95", "rate": "10.01", "temperature": "2.1", "chosen": "5", "q": "-1",
        "off": "5", "limit": "0", "b_layer": "x", "threshold": "1.1", "subset_heads": "5", "scale": "1001",
    }.items()]  # fmt: skip
    assert [one for (one,) in notes] == [
        f"The link's norm={'x' * 40} is not one of post, pre, so post is used.",
        "The link's dropout=0.95 is not a number from 0 to 0.9, so 0.1 is used.",
        "The link's rate=10.01 is not a number from 0 to 10, so nothing is used.",
        "The link's temperature=2.1 is not a number from 0 to 2, so 0.8 is used.",
        "The link's chosen=5 is not a list of up to 24 heads such as 3.5_4.1, so nothing is used.",
        "The link's q=-1 is not a whole number from 0 to 100000, so nothing is used.",
        "The link's off=5 is not a list of heads such as 3.5_4.1, so 5.11 is used.",
        "The link's limit=0 is not a number from 0.01 to 1000, so nothing is used.",
        "The link's b_layer=x is not a whole number from 0 to 100000, so A's is used.",
        "The link's threshold=1.1 is not a number from 0 to 1, so 0.05 is used.",
        "The link's subset_heads=5 is not one of 1, 2, 3, 4, 6, 8, 12, so 4 is used.",
        "The link's scale=1001 is neither sqrt_d, off, sqrt_c nor a number up to 1000, so sqrt_d is used.",
    ]


def test_one_bad_value_leaves_the_others() -> None:
    view, notes = read_link({"layer": "3", "head": "x", "step": "weights", "seed": "-1"})
    assert view == {**DEFAULTS, "layer": 3, "step": "weights"}
    assert [note.split("=")[0] for note in notes] == ["The link's head", "The link's seed"]


def test_unknown_keys_are_left_alone() -> None:
    assert read_link({"embed": "true", "utm_source": "mail", "LAYER": "3"}) == (DEFAULTS, [])


@pytest.mark.parametrize("name", ["text", "pair", "b_text"])
@pytest.mark.parametrize(("allowed", "most", "written"), [(Settings(), 20_000, "20,000"), (PUBLIC, 5_000, "5,000")])
def test_a_long_text_is_cut_with_a_note(
    name: str, allowed: Settings, most: int, written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is that of the settings when the link is read."""
    for module in (link, values):
        monkeypatch.setattr(module, "settings", lambda: allowed)
    assert read_link({name: "é" * most}) == ({**DEFAULTS, name: "é" * most}, [])
    view, notes = read_link({name: "é" * (most + 1)})
    assert view[name] == "é" * most
    assert notes == [f"The link's {name} is longer than {written} characters and was cut there."]


def test_values_of_100_kb() -> None:
    for name in KEYS:
        view, notes = read_link({name: "a" * 100_000})
        assert len(str(view[name])) <= 20_000, name
        assert sum(map(len, notes)) < 250, name


@settings(max_examples=30)  # each has a value for every key
@given(st.fixed_dictionaries(VALUES))
def test_what_is_written_is_read_back(view: dict[str, Any]) -> None:
    link = write_link(view, KEYS)
    assert read_link(link) == (view, [])


@settings(max_examples=30)
@given(st.fixed_dictionaries(VALUES), st.sets(st.sampled_from(list(KEYS))))
def test_a_link_contains_only_requested_values_that_differ_from_the_default(
    view: dict[str, Any], names: set[str]
) -> None:
    link = write_link(view, names)
    assert link.keys() == {name for name in names if view[name] != DEFAULTS[name]}
    assert all(isinstance(raw, str) for raw in link.values())


def test_the_default_view_has_an_empty_link() -> None:
    assert write_link(DEFAULTS, KEYS) == {}


@given(st.dictionaries(st.sampled_from(list(KEYS)) | st.text(max_size=20), st.text(max_size=60), max_size=30))
def test_any_query_string_is_read(query: dict[str, str]) -> None:
    view, notes = read_link(query)
    assert view.keys() == DEFAULTS.keys()
    assert all(note.startswith("The link's ") for note in notes)
    again, more = read_link(write_link(view, KEYS))
    assert (again, more) == (view, [])


@given(st.sampled_from(list(KEYS)), st.text(min_size=1, max_size=40))
def test_a_value_is_either_taken_or_named_in_a_note(name: str, raw: str) -> None:
    view, notes = read_link({name: raw})
    assert view[name] == DEFAULTS[name] or not notes
    assert view == {**DEFAULTS, name: view[name]}


def test_a_choice_takes_its_values_only_and_has_a_title_for_each() -> None:
    key = Key(2, titled({1: "one part", 2: "two parts"}), "")
    assert (key.default, key.read("1"), key.write(1), list(key.titles)) == (2, 1, "1", [1, 2])
    for raw in ("3", "", "one part", "01"):
        with pytest.raises(BadValueError, match=r"is not one of 1, 2"):
            key.read(raw)


def test_what_a_page_offers_can_be_in_a_link() -> None:
    offered = {name: key for name, key in KEYS.items() if key.titles}
    assert {"bert_part", "back_scale", "subset_heads", "off_measure", "agent_view", "mask", "b_mask"} <= set(offered)
    for key in offered.values():
        assert key.default is None or key.default in key.titles
        assert [key.read(key.write(value)) for value in key.titles] == list(key.titles)
        assert all(key.titles.values())


def test_the_table_in_the_documentation_is_the_registry_s() -> None:
    """`python -m tests.unit.links.table` writes it anew."""
    assert table.written() == table.table()
