"""The part Generate of the page Train without a browser: what it offers, and bad input."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from itertools import count
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load as load_file
from streamlit.testing.v1 import AppTest

from attnviz import trained
from attnviz.pretrained.names import ModelError
from attnviz.tokens import CharVocab
from attnviz.toy.language.config import TokenConfig
from attnviz.trained.shipped import FOLDER, keep
from attnviz.training.generation import Sampling
from attnviz.training.jobs.weights import model_of
from attnviz.training.plan import Plan
from attnviz.training.series import SERIES
from attnviz.training.settings import TEXT, TrainingSettings
from attnviz.ui.state import record_key
from attnviz.ui.train.generated import GenerationRequest, file_of, numbers_of, script_of, text_model_of, text_models
from attnviz.ui.train.generated import text_of as whole_text
from attnviz.ui.train.tabs import AS_OPENED
from attnviz.ui.training_jobs import VisitorRecord, training_jobs
from tests.app.pages import messages, open_page, payload, payloads, send_update
from tests.app.training import generated
from tests.waiting import until

_numbers = count(1)


def told(at: AppTest) -> dict[str, Any]:
    return payload(at, "generation")[0]


def fetched(header: dict[str, Any], part: str = "") -> dict[str, np.ndarray]:
    return generated(header["digest"], part)


def opened(**query: str) -> AppTest:
    return open_page("train", train_part="generate", **{"length": "8", **query})


def text_of(header: dict[str, Any], ids: np.ndarray | list[int]) -> str:
    return "".join(header["model"]["characters"][int(one)] for one in ids)


def test_the_same_link_generates_the_same_text_and_another_seed_another() -> None:
    headers = [told(opened(seed=seed, length="40")) for seed in ("999999", "999999", "0")]
    texts = [text_of(one, fetched(one)["ids"]) for one in headers]
    assert headers[0]["digest"] == headers[1]["digest"]
    assert texts[0] == texts[1] != texts[2]
    again = fetched(headers[0], "~again")  # after the last seed comes the first
    assert text_of(headers[0], again["ids"]) == texts[2]
    np.testing.assert_array_equal(again["number"], fetched(headers[2])["number"])


def test_the_text_is_the_same_without_the_cache_which_computes_more() -> None:
    with_cache, without = (told(opened(length="30", cache=cache)) for cache in ("1", "0"))
    one, other = fetched(with_cache), fetched(without)
    np.testing.assert_array_equal(one["ids"], other["ids"])
    assert one["computed"].tolist() == [7] + 29 * [1]
    assert other["computed"].tolist() == list(range(7, 37))
    compared = fetched(with_cache, "~cache")
    for name in ("ids", "computed", "multiplications"):
        np.testing.assert_array_equal(compared[name], other[name])
    assert (compared["seconds"] > 0).all()


def test_half_of_a_text_is_given_and_the_other_half_is_known() -> None:
    header = told(opened(halves="1", prompt="O brave new world"))
    assert text_of(header, header["prompt"]) == "O brave n"
    assert text_of(header, header["truth"]) == "ew world"
    assert header["count"] == 8
    model, whole = trained.load("chargpt"), header["prompt"] + header["truth"]
    logits = model.logits(torch.tensor(whole))[8:-1]
    read = generated(header["digest"], "~half")
    np.testing.assert_array_equal(read["likeliest"], logits.argmax(-1))
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor(header["truth"]), reduction="none")
    np.testing.assert_allclose(-np.log(read["probability"]), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("prompt", "read", "said"),
    [
        ("", "ROMEO:\n", ""),
        ("a\0b", "ab", "Not in the vocabulary"),
        ("漢字 Oh", " Oh", "Not in the vocabulary"),
        ("x" * 10_000, "x" * 1000, ""),
        ("<script>", "script", "Not in the vocabulary"),
        (" ", " ", ""),
    ],
)
def test_any_prompt_is_read_as_far_as_the_model_knows_it(prompt: str, read: str, said: str) -> None:
    at = opened(prompt=prompt)
    header = told(at)
    assert text_of(header, header["prompt"]) == read
    assert said in messages(at)
    assert len(fetched(header)["ids"]) == 8


@pytest.mark.parametrize("query", [{"prompt": "漢字\0"}, {"prompt": "漢x", "halves": "1"}])
def test_without_a_character_to_begin_with_there_is_a_hint(query: dict[str, str]) -> None:
    at = opened(**query)
    shown = [name for name, _ in payloads(at)]
    assert "generation" not in shown
    assert "lecture" in shown
    assert "that the model knows, such as “ROMEO:”" in messages(at)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"temperature": "nan"}, "temperature=nan"),
        ({"temperature": "-1"}, "temperature=-1"),
        ({"top_k": "-1"}, "top_k=-1"),
        ({"top_p": "2"}, "top_p=2"),
        ({"text_model": "run-999999"}, "no longer here"),
        ({"text_model": "../../etc"}, "text_model=../../etc"),
        ({"length": "0"}, "length=0"),
        ({"drawn": "999"}, "drawn=999"),
    ],
)
def test_nonsense_in_a_link_is_named_and_the_page_goes_on(query: dict[str, str], said: str) -> None:
    at = opened(**query)
    assert said in messages(at)
    assert told(at)["model"]["title"] == "Character GPT"


def test_greedy_top_k_of_0_and_top_p_of_0_work() -> None:
    greedy = told(opened(temperature="0", top_k="0"))
    arrays = fetched(greedy)
    model = trained.load("chargpt")
    given = CharVocab(model.labels).encode("ROMEO:\n")
    for one in arrays["ids"]:
        expected = int(model.logits(torch.tensor(given))[-1].argmax())
        assert int(one) == expected
        given.append(expected)
    assert np.isnan(arrays["number"]).all()
    np.testing.assert_array_equal(fetched(told(opened(top_p="0")))["ids"], arrays["ids"])


def test_the_browser_chooses_and_what_is_no_choice_is_ignored() -> None:
    at = opened()
    values = {"drawn": 3, "watch": "decoder.1.2", "panel": "cache", "seed": 9}
    send_update(at, "generation", {"number": next(_numbers), "values": values})
    assert told(at)["values"] == values
    assert at.number_input(key="seed").value == 9
    nonsense = {"drawn": -1, "watch": [], "panel": "x", "seed": "nan", "temperature": 1e9, "prompt": "x"}
    send_update(at, "generation", {"number": next(_numbers), "values": nonsense})
    assert told(at)["values"] == values
    assert not at.exception


def test_a_kept_model_of_a_text_generates_by_its_link_and_one_of_a_task_does_not() -> None:
    own = keep((FOLDER / "chargpt.safetensors").read_bytes())
    header = told(opened(text_model=own.name))
    assert header["model"]["title"] != "Character GPT"
    np.testing.assert_array_equal(fetched(header)["ids"], fetched(told(opened()))["ids"])
    task = keep((FOLDER / "induction.safetensors").read_bytes())
    at = opened(text_model=task.name)
    assert "no longer here" in messages(at)
    assert told(at)["model"]["title"] == "Character GPT"


def test_the_file_of_a_kept_model_is_not_offered_again_but_its_script_and_its_draws_are() -> None:
    own = keep((FOLDER / "chargpt.safetensors").read_bytes())
    for tab, buttons in (("Model", 0), ("Script", 1), ("Numbers", 2)):
        opens = {"export": True, "export_tab": tab}
        at = open_page("train", opens, train_part="generate", text_model=own.name, length="3")
        assert len(at.get("download_button")) == buttons
        assert any(AS_OPENED in one.value for one in at.caption) == (tab != "Numbers")


def test_every_draw_is_a_table_with_what_was_drawn() -> None:
    ids = tuple(CharVocab(trained.load("chargpt").labels).encode("To be"))
    model = text_model_of("chargpt", "nobody", None)
    asked = GenerationRequest(model, ids, 3, Sampling(0.8, 2, 1.0, 5), cached=True)
    table = pd.read_csv(BytesIO(numbers_of(asked)))
    drawn = table[table["drawn"].astype(bool)]
    assert drawn["step"].tolist() == [1, 2, 3] and drawn["position"].tolist() == [5, 6, 7]
    written = [model.labels[int(one[1 : one.index("]")])] for one in drawn["character"]]
    assert "".join(written) == whole_text(asked)[5:]
    logits = trained.load("chargpt").logits(torch.tensor(ids))[-1]
    first = table[table["step"] == 1]
    np.testing.assert_allclose(first["logit"][:2], logits.topk(2).values, atol=1e-4)


def test_a_model_that_another_session_s_file_has_displaced_is_not_offered() -> None:
    assert list(text_models("nobody", ("trained-000000000000",))) == ["chargpt"]


def test_a_training_generates_once_it_has_a_snapshot_and_only_on_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def job(number: int, subject: str, *snapshots: object) -> Mock:
        plan = Mock(subject=subject, token_model=TokenConfig(9, 8, layers=1, heads=1, width=8))
        return Mock(number=number, plan=plan, view=Mock(snapshots=snapshots))

    jobs = [job(3, TEXT), job(4, "induction", "a snapshot"), job(5, TEXT, "a snapshot")]
    monkeypatch.setattr("attnviz.ui.train.generated.training_jobs", lambda: Mock(jobs=lambda _: jobs))
    assert list(text_models("nobody", ())) == ["chargpt", "run-5"]
    for name in ("run-3", "run-4", "run-6"):
        with pytest.raises(ModelError, match="no longer here"):
            text_model_of(name, "nobody", None)


def test_a_visitors_own_model_generates_from_each_of_its_snapshots() -> None:
    at = opened()
    visitor = at.session_state[record_key(VisitorRecord)].visitor
    text = "one two three four five six seven. " * 40
    config = TokenConfig(len(set(text)), 16, layers=1, heads=2, width=16)
    plan = Plan(TEXT, config, TrainingSettings(steps=6, batch=4))
    try:
        job = training_jobs().start(visitor, plan, text)
        until(lambda: job.view.has_ended)
        at.run()
        name = f"run-{job.number}"
        at.selectbox(key="text_model").set_value(name).run()
        assert not at.exception
        header = told(at)
        assert header["model"]["characters"] == sorted(set(text))
        assert (header["model"]["layers"], header["model"]["heads"], header["model"]["block"]) == (1, 2, 16)
        assert text_of(header, header["prompt"]) == text[:20]
        module = model_of(config, job.view.snapshots[-1].weights)
        expected = module(torch.tensor([header["prompt"][-16:]]))[0, -1].sort(descending=True).values
        np.testing.assert_allclose(fetched(header)["logits"][0], expected.detach(), atol=1e-5)
        model = text_model_of(name, visitor, None)
        file = file_of(model, visitor)
        assert file.data is not None
        for key, one in load_file(file.data).items():
            assert torch.equal(one.float(), module.state_dict()[key]), "the script's file has the page's weights"
        sampling = Sampling(header["temperature"], header["top_k"], header["top_p"], header["values"]["seed"])
        asked = GenerationRequest(model, tuple(header["prompt"]), header["count"], sampling, cached=True)
        shown = text_of(header, [*header["prompt"], *fetched(header)["ids"]])
        assert whole_text(asked) == shown
        assert f"{file.stem}.safetensors" in script_of(asked, file)
        at.select_slider(key="generate_snapshot").set_value(0).run()
        module = model_of(config, job.view.snapshots[0].weights)
        expected = module(torch.tensor([header["prompt"][-16:]]))[0, -1].sort(descending=True).values
        np.testing.assert_allclose(fetched(told(at))["logits"][0], expected.detach(), atol=1e-5)
    finally:
        training_jobs().release(visitor)
    at.run()
    assert not at.exception
    assert told(at)["model"]["title"] == "Character GPT"


@pytest.mark.parametrize("stage", ["bigram", "gru"])
def test_a_model_without_attention_generates_and_says_what_it_lacks(stage: str) -> None:
    at = opened()
    visitor = at.session_state[record_key(VisitorRecord)].visitor
    text = "=one two three. " * 20
    plan = next(one for one in SERIES if one.name == stage).plan(len(set(text)))
    try:
        job = training_jobs().start(visitor, replace(plan, training=replace(plan.training, steps=2, batch=2)), text)
        until(lambda: job.view.has_ended)
        seen = {record_key(VisitorRecord): VisitorRecord(visitor), "export": True, "export_tab": "Script"}
        at = open_page("train", seen, train_part="generate", text_model=f"run-{job.number}", length="5")
        assert not at.exception
        assert at.get("download_button")
        model = told(at)["model"]
        assert not any(model[name] for name in ("layers", "heads", "has_lens", "has_cache"))
        assert len(fetched(told(at))["ids"]) == 5
    finally:
        training_jobs().release(visitor)


def test_the_file_of_the_model_needs_no_prompt_that_it_knows() -> None:
    for tab, buttons in (("Model", 2), ("Script", 0)):
        at = open_page("train", {"export": True, "export_tab": tab}, train_part="generate", prompt="漢字")
        assert len(at.get("download_button")) == buttons
