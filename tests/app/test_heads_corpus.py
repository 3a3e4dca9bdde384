"""Heads over a corpus through `app.py`: what is shown is what the shipped statistics hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import zscore
from streamlit.testing.v1 import AppTest

from attnviz import cli
from attnviz.corpus.blocks import read_block
from attnviz.corpus.offered import SHIPPED, statistics
from attnviz.corpus.run import Job
from attnviz.links.link import CORPUS_VIEWS, DEFAULT_TEXT
from attnviz.measures.survey import survey
from attnviz.settings import Settings
from attnviz.ui.heads.corpus import CorpusHead, all_heads
from tests.app.heads import every_weight
from tests.app.pages import messages, open_page, payload, send_update
from tests.loaded import built_in_model
from tests.unit.corpus.conftest import SENTENCES
from tests.unit.families import save, save_model
from tests.unit.pretrained.test_windows import WINDOWS

open_corpus = partial(open_page, "heads", over="corpus")
STATISTICS, CARD = statistics(SHIPPED)


def said(at: AppTest) -> str:
    return "\n".join(one.value for one in (*at.markdown, *at.caption))


def test_a_head_s_label_is_said_with_its_share_and_the_corpus_is_named() -> None:
    found = said(open_corpus(layer="0", head="2"))
    share = STATISTICS.label_share[STATISTICS.labels.index("previous"), 0, 2]
    assert share > 0.99
    assert "**Layer 0 · head 2**: **previous\\-token head** on 100 % of" in found
    assert f"{STATISTICS.sentences:,} sentences" in found
    assert "State of the Union" in found and "CC0" in found


def test_this_text_stands_beside_the_corpus() -> None:
    found = said(open_corpus(layer="1", head="8"))
    trace = built_in_model().trace(DEFAULT_TEXT)
    value = float(trace.attentions(1)[8].diagonal(1).mean())
    at = 1, 8, STATISTICS.measures.index("next")
    below = STATISTICS.share_below(1, 8, "next", value)
    row = next(line for line in found.splitlines() if line.startswith("| to next token"))
    numbers = f"**{value:.3f}** | {STATISTICS.mean[at]:.3f} | {STATISTICS.std[at]:.3f} | {100 * below:.0f} %"
    assert row == f"| to next token | {numbers} |"


def test_the_grid_has_the_mean_weight_at_each_distance_and_the_means_and_labels_of_each_head() -> None:
    at = open_corpus(layer="1", head="8", sort="next", label="next-token head")
    assert "17 × 17 tokens, colours from 0 to 1" in said(at)
    header, arrays = payload(at, "explorer")
    codes = every_weight(header).reshape(6, 12, 17, 17)
    for layer, head, query, key in ((0, 2, 5, 4), (1, 8, 0, 16), (4, 9, 16, 0), (5, 11, 7, 7), (2, 0, 3, 9)):
        mean = STATISTICS.offset_mean[layer, head, STATISTICS.offsets.index(key - query)]
        assert abs(codes[layer, head, query, key] / 65535 - mean) < 7.7e-6
    names = [one["name"] for one in header["measures"]]
    assert "first" not in names  # of models without [CLS]
    np.testing.assert_array_equal(
        arrays["measures"][..., names.index("sep")],
        STATISTICS.mean[..., STATISTICS.measures.index("sep")].astype(np.float32),
    )
    assert header["labels"][1][8] == ["next-token head"] and header["labels"][0][0] == ["broad"]
    assert header["said"][1][8][0] == "next-token head on 99.69 %"
    assert header["view"] | {"sort": "next", "label": "next-token head", "chosen": [[1, 8]]} == header["view"]


def test_heads_like_it_are_framed_and_one_of_them_is_chosen() -> None:
    at = open_corpus(layer="1", head="8", corpus_view="alike")
    header, _ = payload(at, "explorer")
    divergence = STATISTICS.divergence[12 + 8].copy()
    divergence[12 + 8] = np.inf
    assert header["view"]["chosen"] == [[1, 8], *([n // 12, n % 12] for n in np.argsort(divergence)[:6].tolist())]
    send_update(at, "explorer", {"number": 1, "values": {"layer": 2, "head": 8, "chosen": [[2, 8]]}})
    assert "**Layer 2 · head 8**" in said(at)
    assert "chosen" not in at.query_params


def test_with_this_text_the_label_says_on_which_share_of_the_corpus_it_holds() -> None:
    found = said(open_page("heads", layer="1", head="8"))
    assert f"Layer 1 · head 8 over {STATISTICS.sentences:,} sentences: next\\-token head on 99.69 %." in found
    # This text gives a label that the corpus seldom does; the label that it mostly gives is said too.
    previous, cls = (STATISTICS.label_share[STATISTICS.labels.index(name), 1, 9] for name in ("previous", "cls"))
    found = said(open_page("heads", text="Yes.", layer="1", head="9"))
    assert rf"previous\-token head on {100 * previous:.2f} %, attends to \[CLS\] on {100 * cls:.0f} %." in found


def test_all_heads_as_a_table() -> None:
    trace = built_in_model().trace(DEFAULT_TEXT)
    table = all_heads(CorpusHead(SHIPPED, STATISTICS, CARD, survey(trace, "encoder", ""), 0, 0))
    assert len(table) == 72
    row = table[(table["layer"] == 2) & (table["head"] == 4)].iloc[0]
    assert row["label: attends to [CLS]"] == STATISTICS.label_share[STATISTICS.labels.index("cls"), 2, 4]
    assert row["entropy mean"] == STATISTICS.mean[2, 4, 0]


def test_the_strongest_open_this_head_on_a_sentence() -> None:
    at = open_corpus(layer="1", head="8", corpus_view="examples", corpus_measure="next")
    links = [one.proto for one in at.get("page_link") if "text=" in one.proto.query_string]
    values = STATISTICS.strongest.values[1, 8, STATISTICS.measures.index("next")]
    assert len(links) == np.isfinite(values).sum() == 10
    assert [float(one.label.split(" · ")[0]) for one in links] == [
        pytest.approx(float(one), abs=6e-4) for one in values
    ]
    assert all("layer=1" in one.query_string and "over=" not in one.query_string for one in links)


@pytest.mark.parametrize("lecture", ["0", "1"])
@pytest.mark.parametrize("view", CORPUS_VIEWS)
def test_every_view_of_a_head_is_shown(view: str, lecture: str) -> None:
    at = open_corpus(layer="5", head="11", corpus_view=view, lecture=lecture)
    assert not at.exception and not at.warning
    assert "Layer 5 · head 11" in said(at)
    assert [one.proto.label for one in at.get("download_button")] == ["Download as CSV"]


def test_a_text_without_a_measure_and_one_with_512_tokens() -> None:
    at = open_corpus(text="no dots here", corpus_view="distribution", corpus_measure="punctuation")
    assert "has no measure “to punctuation”" in said(at)
    assert "Layer 0" in said(open_corpus(text="word " * 600, corpus_view="measures"))


def test_a_measure_that_the_model_never_has_falls_back_with_a_note() -> None:
    at = open_corpus(corpus_view="distribution", corpus_measure="first")
    assert "Measure first does not exist" in messages(at)
    at = open_corpus(sort="first", label="zzz", rollout="1", chosen="3.5_4.1")
    assert "no measure first" in messages(at) and "label “zzz”" in messages(at)
    assert not at.exception


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Makes statistics of a family's model over a few sentences; the setting names their files. Returns the model."""
    files: list[str] = []

    def make(family: str) -> Path:
        model = tmp_path / family
        if family in WINDOWS:
            save_model(WINDOWS[family][0](), model, family)
        elif family != "minilm":
            save(family, model)
        text, out = tmp_path / "some.txt", tmp_path / f"{family}_some.parquet"
        text.write_text("".join(f"{one}\n" for one in SENTENCES))
        name = "minilm" if family == "minilm" else str(model)
        reader = Job(name).reader()  # here and not in processes of their own, which take seconds to start
        monkeypatch.setattr("attnviz.cli.corpus._engine", lambda *_: partial(map, partial(read_block, reader)))
        assert cli.main(["corpus", str(text), "--model", name, "--out", str(out), "--name", "Some", "--quiet"]) == 0
        files.append(str(out))
        monkeypatch.setattr("attnviz.corpus.offered.settings", lambda: Settings(corpora=tuple(files)))
        return model

    return make


def test_own_statistics_come_first_another_corpus_is_chosen_and_a_damaged_file_is_a_sentence(
    own: Callable[[str], Path], tmp_path: Path
) -> None:
    own("minilm")
    at = open_corpus(layer="1", head="8")
    assert f"Corpus: Some; {len(SENTENCES)} sentences" in said(at)
    choice = at.selectbox(key="corpus")
    assert choice.options == ["Some", CARD.corpus]
    choice.set_value("minilm").run()
    assert f"{STATISTICS.sentences:,} sentences" in said(at) and at.query_params["corpus"] == "minilm"
    assert f"over {STATISTICS.sentences:,} sentences" in said(open_page("heads", corpus="minilm"))
    assert f"over {len(SENTENCES)} sentences" in said(open_page("heads"))
    at = open_page("heads")
    assert "corpus" not in [one.key for one in at.selectbox], "over this text there is no corpus to choose"
    at = open_corpus(corpus="gone")
    assert "no corpus gone" in messages(at) and "Corpus: Some" in said(at)
    file = tmp_path / "minilm_some.parquet"
    for size in (-200, 50):
        file.write_bytes(file.read_bytes()[:size])
        at = open_corpus()
        assert "minilm_some.parquet has no statistics of a corpus" in messages(at)
        assert not at.exception and f"over {STATISTICS.sentences:,} sentences" in said(at)


def test_every_view_of_a_decoder_s_heads(own: Callable[[str], Path]) -> None:
    model = own("gpt2")
    for view in CORPUS_VIEWS:
        at = open_corpus(model=str(model), text="the cat sat", corpus_view=view, layer="1", head="3")
        assert not at.exception and not at.warning, view
        assert "Layer 1 · head 3" in said(at) and "Corpus: Some" in said(at), view
    header, arrays = payload(at, "explorer")
    assert every_weight(header).reshape(2, 4, 17, 17)[:, :, 3, 4:].max() == 0  # no query sees a later key
    assert "next" not in [one["name"] for one in header["measures"]] and np.isfinite(arrays["measures"]).all()


def test_a_head_in_a_window_looks_everywhere_it_may_over_the_corpus_and_others_everywhere(
    own: Callable[[str], Path],
) -> None:
    """On this text all keys are in the window."""
    model = str(own("modernbert"))
    for layer, words in (("0", "looks everywhere"), ("1", "looks everywhere it may")):
        assert f"**{words}** on 100 %" in said(open_corpus(model=model, text="cat", layer=layer))
        assert f"{words} on 100 %" in said(open_page("heads", model=model, text="cat", layer=layer))


def test_another_model_has_no_corpus_and_says_how_to_make_one(tmp_path: Path) -> None:
    at = open_corpus(model=str(save("bert", tmp_path / "bert")))
    assert "no corpus statistics for this model" in messages(at)
    assert "python -m attnviz corpus FILES" in said(at)


def test_without_a_measure_in_the_link_the_strongest_are_by_the_head_s_own_measure() -> None:
    means = STATISTICS.mean.reshape(-1, len(STATISTICS.measures))
    present = [at for at, count in enumerate(STATISTICS.count.sum((0, 1))) if count]
    apart = zscore(means[:, present], axis=0)
    for layer, head in ((1, 8), (0, 2), (2, 1), (4, 3)):
        shares = STATISTICS.label_share[:, layer, head]
        label = STATISTICS.labels[int(shares.argmax())] if shares.max() >= 0.5 else None
        name = STATISTICS.measures[present[int(apart[layer * 12 + head].argmax())]]
        name = label if label in STATISTICS.measures else name
        at = open_corpus(layer=str(layer), head=str(head), corpus_view="examples")
        values = STATISTICS.strongest.values[layer, head, STATISTICS.measures.index(name)]
        labels = [one.proto.label for one in at.get("page_link")][-len(values) :]
        assert float(labels[0].split(" · ")[0]) == pytest.approx(float(values[0]), abs=6e-4), (layer, head, name)
        assert "corpus_measure" not in at.query_params


def test_the_tokens_that_make_a_sentence_strong_are_marked() -> None:
    at = open_corpus(layer="1", head="8", corpus_view="examples", corpus_measure="next")
    label = [one.proto.label for one in at.get("page_link")][-1]
    text = re.sub(r"\\(.)", r"\1", re.sub(r":violet-background\[((?:\\.|[^\]])*)\]", r"\1", label.split(" · ", 1)[1]))
    trace = built_in_model().trace(text)
    rows = np.append(trace.attentions(1)[8].diagonal(1).numpy(), 0)
    wanted = sum(not special and row >= rows.max() / 2 for row, special in zip(rows, trace.tokens.special, strict=True))
    assert label.count(":violet-background[") == wanted > 0
