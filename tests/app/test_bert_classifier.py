"""The classifier of /bert: what it says is what torch and scikit-learn compute, and no file or link breaks it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import confusion_matrix
from streamlit.testing.v1 import AppTest
from transformers import AutoTokenizer, BertModel

from attnviz.bert.classification.classifier import Pooled, pool, vectors_of
from attnviz.bert.classification.examples import Examples, built_in
from attnviz.bert.classification.outcome import verdict
from attnviz.bert.classification.shipped import load
from attnviz.export.csv_files import table_csv
from attnviz.links.bert import BERT_KEYS, SENTENCE
from attnviz.pretrained.built_in import BuiltInModel
from attnviz.pretrained.described import find_folder
from attnviz.settings import PUBLIC
from attnviz.training.jobs.jobs import Job, Jobs
from attnviz.training.plan import TooLargeError
from attnviz.training.vectors import split
from attnviz.ui.bert.classifier import script_of, tables_of, training, views
from attnviz.ui.bert.classifier.data import CLASSIFIER, ClassifierKind
from attnviz.ui.messages import plain
from tests.app.pages import boxes as boxes_of
from tests.app.pages import figures, html, lines_of_torch, messages, numbers, open_page
from tests.app.training import run_until
from tests.loaded import built_in_model, pooled
from tests.scripts import FILE, run_alone
from tests.unit.bert.classification.test_trained import by_hand
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("shared_vectors")
VIEW_KEYS = {"classifier": "class_view", "agent": "agent_view"}
LONG = "one word after another " * 150
HELD = load("classifier").card.seeds[0].classifier
"""The held-out reviews, and how many the layer that ships has right"""
CSV = "text,label\n" + "".join(
    f"{'a warm bright morning' if number % 2 else 'cold rain at night'} {number},{'sun' if number % 2 else 'rain'}\n"
    for number in range(40)
)


@pytest.fixture
def reviews() -> tuple[Examples, Pooled]:
    """Return the texts and their vectors."""
    return built_in("reviews"), pooled("reviews")


def opened(opened: dict[str, object] | None = None, **query: str) -> AppTest:
    return open_page("bert", opened or {}, bert_part="classifier", **query)


def said(at: AppTest) -> str:
    return " ".join(boxes_of(at, "markdown"))


def trained(at: AppTest, button: str = "class_train") -> AppTest:
    """Press a button that trains, and wait until it is done."""
    at.button(key=button).click().run()
    run_until(at, lambda: all(one.key != "class_stop" for one in at.button))
    assert not at.exception
    return at


def test_what_ships_is_shown_with_its_interval_and_both_baselines(reviews: tuple[Examples, Pooled]) -> None:
    at, shipped = opened(), load("classifier")
    examples, pooled = reviews
    held = split(torch.from_numpy(examples.classes.copy()), 0)[1]
    predicted = shipped.classifier.logits(pooled)[held].argmax(-1)
    right = (predicted.numpy() == examples.classes[held]).mean()
    words = shipped.card.seeds[0].baselines.bag_of_words.value
    assert f"**{100 * right:.1f} %** of {HELD.total} held-out reviews are right" in said(at)
    assert f"regression **{100 * words:.1f} %**, the most frequent class **50.0 %**" in said(at)
    losses, confusion = figures(at)
    expected = confusion_matrix(examples.classes[held], predicted)
    assert confusion["data"][0]["z"] == expected.tolist()
    np.testing.assert_array_equal(numbers(losses["data"][0]["y"]), shipped.losses)
    assert "Trained before the class, on the mean over tokens: seed 0, 200 steps" in " ".join(boxes_of(at, "caption"))


@pytest.mark.parametrize(
    ("part", "view"),
    [(part, view) for part, key in VIEW_KEYS.items() for view in BERT_KEYS[key].titles],
)
def test_what_ships_is_shown_without_reading_all_texts_or_learning_the_baselines(
    monkeypatch: pytest.MonkeyPatch, part: str, view: str
) -> None:
    read: list[object] = []
    for name in ("pooled_of", "baselines_of"):
        monkeypatch.setattr(training, name, read.append)
    query = {"bert_part": part, VIEW_KEYS[part]: view}
    open_page("bert", {}, **query)
    assert not read


def test_a_training_is_shown_live_and_after_it_its_result(reviews: tuple[Examples, Pooled]) -> None:
    at = trained(opened(features="cls", tanh="1", seed="3", class_steps="60", class_rate="0.01"))
    examples, pooled = reviews
    x, y = pooled.cls.tanh(), torch.from_numpy(examples.classes.copy())
    train, held = split(y, 3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        layer = torch.nn.Linear(x.shape[1], 2)
    optimiser = torch.optim.AdamW(layer.parameters(), lr=0.01, weight_decay=0.0)
    generator = torch.Generator().manual_seed(3)
    for _ in range(60):
        rows = train[torch.randperm(len(train), generator=generator)[:32]]
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(layer(x[rows]), y[rows]).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
        optimiser.step()
    right = (layer(x[held]).argmax(-1) == y[held]).float().mean().item()
    shown = re.search(rf"\*\*([\d.]+) %\*\* of {HELD.total} held-out", said(at))
    assert shown
    assert float(shown[1]) == pytest.approx(100 * right, abs=1.2)  # one text at the border
    assert "Trained now, on [CLS], tanh first: seed 3, 60 steps, learning rate 0.01." in boxes_of(at, "caption")
    at.segmented_control(key="class_view").set_value("sentence").run()
    assert at.query_params["class_view"] in ("sentence", ["sentence"])
    probabilities = layer(pool(built_in_model(), [SENTENCE]).cls.tanh())[0].softmax(-1).detach()
    likeliest = examples.labels[int(probabilities.argmax())]
    found = re.search(rf"{likeliest} \*\*([\d.]+) %\*\*", said(at))
    assert found
    assert float(found[1]) == pytest.approx(100 * float(probabilities.max()), abs=0.3)


def test_a_training_that_ends_while_it_is_shown_is_shown_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page reads the first snapshot, and the training is done before the page is drawn."""

    def slow(kind: ClassifierKind) -> training.TrainedClassifier | None:
        seen = training.trained_classifier(kind)
        until(lambda: not training.is_live())
        return seen

    at = opened(class_steps="40", class_rate="0.01", seed="11")
    monkeypatch.setattr(views, "trained_classifier", slow)
    at.button(key="class_train").click().run()
    monkeypatch.undo()
    at_rest, again = said(at), said(at.run())
    assert at_rest == again
    assert "Trained now, on the mean over tokens: seed 11, 40 steps" in " ".join(boxes_of(at, "caption"))


def test_five_seeds_follow_each_other() -> None:
    at = opened(class_view="seeds", class_steps="20")
    card = load("classifier").card
    assert verdict(card.seeds) in said(at)
    assert "Over 5 seeds the classifier beats both baselines" in said(at)
    assert [100 * one.classifier.value for one in card.seeds] == pytest.approx(figures(at)[0]["data"][0]["x"])
    at = trained(at, "class_five")
    assert re.search(r"Over 5 seeds the classifier (beats|does not beat) both baselines", said(at))
    assert len(figures(at)[0]["data"][0]["x"]) == 5
    assert "20 steps" in " ".join(boxes_of(at, "caption"))


def test_a_sentence_s_probabilities_words_and_attention_are_torch_s(minilm: BuiltInModel) -> None:
    text = "A warm and funny film with a wonderful cast."
    at, classifier = opened(class_view="sentence", sentence=text, cls_head="5"), load("classifier").classifier
    tokenizer = AutoTokenizer.from_pretrained(find_folder())
    theirs = BertModel.from_pretrained(find_folder(), attn_implementation="eager").eval()

    def probabilities(one: str) -> torch.Tensor:
        with torch.no_grad():
            hidden = theirs(**tokenizer(one, return_tensors="pt")).last_hidden_state[0]
        return torch.softmax(classifier.weight @ hidden.mean(0) + classifier.bias, -1)

    whole = probabilities(text)
    label = int(whole.argmax())
    assert f"{classifier.labels[label]} **{100 * whole[label]:.1f} %**" in said(at)
    words = text.split()
    effects, looks = figures(at)
    for place in range(len(words)):
        without = " ".join(words[:place] + words[place + 1 :])
        change = 100 * float(whole[label] - probabilities(without)[label])
        assert effects["data"][0]["y"][place] == pytest.approx(change, abs=1e-2)
    with torch.no_grad():
        attention = theirs(**tokenizer(text, return_tensors="pt"), output_attentions=True).attentions[-1][0, :, 0]
    np.testing.assert_allclose(looks["data"][0]["y"], attention.mean(0), atol=1e-5)
    np.testing.assert_allclose(looks["data"][1]["y"], attention[5], atol=1e-5)
    logits = classifier.weight @ pool(minilm, [text]).mean[0] + classifier.bias
    for one in logits.tolist():
        assert f"= **{one:.3f}**".replace("-", "−") in said(at)


def test_what_it_gets_wrong_is_listed_with_its_kind() -> None:
    at = opened(class_view="wrong")
    listed = html(at)
    wrong = HELD.total - HELD.right
    assert listed.count("<tr>") == wrong + 1  # with the header
    assert "<td>irony</td>" in listed
    assert f"**{wrong}** of {HELD.total} held-out reviews are wrong" in said(at)


@pytest.mark.parametrize("text", [" ", "word", LONG, "<script>alert(1)</script> 😀 \u202e", "[CLS] [MASK]", "\x00"])
def test_no_sentence_breaks_its_view(text: str) -> None:
    assert not opened(class_view="sentence", sentence=text).exception


@pytest.mark.parametrize("view", ["result", "wrong", "seeds"])
def test_no_sentence_breaks_a_view_without_it(view: str) -> None:
    assert not opened(class_view=view, sentence="\x00<script>alert(1)</script> 😀 \u202e").exception


def test_links_with_nonsense_fall_back_with_notes() -> None:
    at = opened(features="no", tanh="9", class_steps="0", class_rate="x", class_view="q", cls_head="99", seed="-1")
    said = messages(at)
    for name in ("features", "tanh", "class_steps", "class_rate", "class_view", "cls_head", "seed"):
        assert f"The link's {name}=" in said


def test_lectures_show_one_thing_without_controls() -> None:
    at = opened(lecture="1", class_view="sentence")
    assert [one.key for one in at.button if one.key.startswith("class_")] == ["class_train"]
    assert not [one for one in at.segmented_control if one.key == "class_view"]


def own(at: AppTest, data: bytes, name: str = "weather.csv") -> AppTest:
    at.segmented_control(key="class_from").set_value("own").run()
    at.file_uploader[0].upload(name, data, "text/csv").run()
    assert not at.exception
    return at


def test_a_file_of_one_s_own_is_trained_on(minilm: BuiltInModel) -> None:
    at = own(opened(), CSV.encode())
    assert "weather.csv: 40 rows" in boxes_of(at, "caption")
    assert at.selectbox(key="class_text_column").value == "text"
    assert at.selectbox(key="class_label_column").value == "label"
    assert "Press **Train**" in messages(at)
    at = trained(at)
    assert "**100.0 %** of 10 held-out texts are right" in said(at)
    assert not {"weather", "sun"} & set(str(at.query_params).split())
    at.segmented_control(key="class_from").set_value("built_in").run()
    assert f"of {HELD.total} held-out reviews are right" in said(at)


def test_long_texts_of_a_file_are_cut_and_the_page_says_so() -> None:
    long = CSV.replace("cold rain at night 4,", f"cold rain at night {'and again ' * 150},")
    at = trained(own(opened(), long.encode()))
    assert "1 of 40 texts has more than 256 tokens: the first 256 are read." in boxes_of(at, "caption")
    assert "truncation=True, max_length=256, return_tensors" in lines_of_torch(at)
    at.segmented_control(key="class_from").set_value("built_in").run()
    assert "more than 256 tokens" not in " ".join(boxes_of(at, "caption"))


def test_too_little_memory_for_a_file_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Iterator[int | Pooled]:
        yield 8
        raise RuntimeError("can't allocate memory")

    data = CSV.replace("sun", "fog").encode()
    with monkeypatch.context() as patch:
        patch.setattr(training, "pool_in_steps", fails)
        at = own(opened(), data)
        assert [one.value for one in at.error] == [training.FAILED]
        at.button(key="class_train").click().run()
        assert [one.value for one in at.error] == [training.FAILED]
        assert [one.value for one in at.warning] == [plain(training.FAILED)]
    assert not at.run().error
    assert "Press **Train**" in messages(at)


def test_a_training_that_fails_is_not_silent_where_what_ships_is_shown(
    reviews: tuple[Examples, Pooled], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job("someone", load("classifier").card.plan, vectors_of(*reviews, "mean", tanh=False))
    job.set("failed", message="It needs *more* memory.")
    monkeypatch.setattr(Jobs, "jobs", lambda *_: (job,))
    at = opened()
    assert [one.value for one in at.error] == [plain("It needs *more* memory.")]
    assert f"of {HELD.total} held-out reviews are right" in said(at)
    at.number_input(key="class_steps").set_value(50).run()  # with these settings, none has failed
    assert not at.error
    assert not open_page("bert", {}, bert_part="agent").error


def test_why_a_training_is_refused_is_said_only_with_its_settings_and_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object, **__: object) -> None:
        raise TooLargeError("*Too* much.")

    monkeypatch.setattr(Jobs, "start", start)
    at = opened()
    at.button(key="class_train").click().run()
    assert [one.value for one in at.warning] == [plain("*Too* much.")]
    at.number_input(key="class_steps").set_value(50).run()
    assert not at.warning
    at.number_input(key="class_steps").set_value(load("classifier").card.plan.training.steps).run()
    assert len(at.warning) == 1
    at.button(key="chapter_agent").click().run()
    assert not at.warning


BAD = [
    (bytes(3 * 2**19), "A CSV file can have 1 MB; this one has 1.5 MB."),
    (b"", "empty"), (b"text,label\n" + b"a,b\n" * 5 + b"c,d\n", "“d” has 1 row only (row 7, column “label”)"),
    (b"\xff\xfea", "UTF-16"), (b"text,label\n\x00,b\n", "binary"),
    ("text,label\nä,b\n".encode("latin-1"), "row 2, column"),
    (CSV.replace("cold rain at night 4,", " ,").encode(), "Row 6, column “text”: there is no text."),
    (b"text,label\n" + b"x" * 5001 + b",a\n", "Row 2, column “text” has 5,001 characters"),
    (b"text\na\nb\n", "choose two columns"),
    (CSV.replace("sun", "x").replace("rain\n", "x\n").encode(), "one value"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "why"), BAD, ids=[why for _, why in BAD])
def test_a_file_that_can_t_be_used_is_answered_in_words(data: bytes, why: str) -> None:
    at = own(opened(), data)
    assert why in messages(at)
    assert [one for one in at.button if one.key == "class_train"]
    at.button(key="class_train").click().run()
    assert not at.exception


def test_another_column_may_be_chosen_and_a_wrong_one_is_explained() -> None:
    rows = list(csv.reader(io.StringIO(CSV)))
    written = io.StringIO()
    csv.writer(written).writerows([["id", *rows[0]], *([str(n), *row] for n, row in enumerate(rows[1:]))])
    at = own(opened(), written.getvalue().encode())
    assert at.selectbox(key="class_label_column").value == "label"
    at.selectbox(key="class_label_column").set_value("id").run()
    assert "The column “id” has 40 different values" in messages(at)
    at.selectbox(key="class_label_column").set_value("label").run()
    assert "Press **Train**" in messages(at)


def test_a_public_server_takes_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("data", "views"):
        monkeypatch.setattr(f"attnviz.ui.bert.classifier.{module}.settings", lambda: PUBLIC)
    at = opened()
    assert not [one for one in at.segmented_control if one.key == "class_from"]


def exported(monkeypatch: pytest.MonkeyPatch, **view: object) -> tuple[dict[str, Any], str]:
    """Return what Export gives of the view that was opened last."""
    from attnviz.links.link import KEYS
    from attnviz.ui import state

    values = {name: key.default for name, key in KEYS.items()} | view
    monkeypatch.setattr(state, "get", values.__getitem__)
    return tables_of(CLASSIFIER), script_of(CLASSIFIER)


def test_the_script_trains_the_same_layer_from_the_exported_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reviews: tuple[Examples, Pooled], minilm: BuiltInModel
) -> None:
    """Of every sixth text, which a loop of torch learns here; what it learns of all texts is what ships."""
    text = "It isn't “bad” at all."
    found, written = exported(monkeypatch, sentence=text)
    (tmp_path / "data.csv").write_bytes(table_csv(found["data"].iloc[::6]))
    shipped = load("classifier")
    settings, classes = shipped.card.plan.training, torch.from_numpy(reviews[0].classes[::6].copy())
    features = shipped.classifier.features(reviews[1])[::6]
    layer = by_hand(
        features, classes, len(reviews[0].labels), steps=settings.steps, rate=settings.learning_rate, seed=settings.seed
    )
    (tmp_path / "script.py").write_text(written)
    done = run_alone(FILE, "script.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = re.search(r"accuracy ([\d.]+) on \d+ held-out texts; the page showed ([\d.]+)", done.stdout)
    assert shown
    assert float(shown[2]) == pytest.approx(HELD.value, abs=1e-4)
    held = split(classes, settings.seed)[1]
    right = (layer(features[held]).argmax(-1) == classes[held]).float().mean().item()
    assert float(shown[1]) == pytest.approx(right, abs=1e-4)
    expected = layer(shipped.classifier.features(pool(minilm, [text])))[0].softmax(-1).tolist()
    for label, probability in zip(reviews[0].labels, expected, strict=True):
        line = re.search(rf"([\d.]+)  {label}", done.stdout)
        assert line
        assert float(line[1]) == pytest.approx(probability, abs=2e-3)


def test_tables_hold_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = exported(monkeypatch)
    assert {"data", "held_out", "confusion", "losses", "seeds", "typed", "without_words"} == set(found)
    assert len(found["data"]) == len(built_in("reviews"))
    assert len(found["held_out"]) == found["confusion"].to_numpy().sum() == HELD.total
    assert found["losses"]["training loss"].notna().sum() == 200
