"""The toolbar through `app.py`: what Share and Export offer when they are opened, and that nothing is made before."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
import segno
import yaml
from streamlit.testing.v1 import AppTest

from attnviz.components.share import MAX_BYTES, NO_ADDRESS, TOO_LONG, qr_modules
from attnviz.lessons import shipped
from attnviz.ui import FRAME
from attnviz.ui.messages import plain
from attnviz.ui.share import scene_file
from tests.app.pages import open_parts, payload, send

APP = FRAME


def shown(at: AppTest) -> set[str]:
    """Return the labels of everything that can be downloaded now."""
    return {button.proto.label for button in at.get("download_button")}


def opened(key: str, **query: str) -> AppTest:
    at = AppTest.from_file(str(APP), default_timeout=120)
    at.query_params.update(query)
    at.run()
    assert not shown(at)  # nothing is made before it is asked for
    return open_parts(at, **{key: True})


def test_share_offers_the_view_as_a_scene_that_a_lesson_can_hold() -> None:
    at = opened("share", text='<img src=x onerror="alert(1)">: - {a} é', seed="7", lecture="0")
    assert shown(at) == {"Scene file"}
    file = scene_file("step_by_step", "text=%3Cimg+src%3Dx%3E%3A+-+%7Ba%7D&seed=7")
    (scene,) = yaml.safe_load(file)["scenes"]
    assert scene["page"] == "step_by_step"
    assert scene["query"] == {"text": "<img src=x>: - {a}", "seed": "7"}


def test_numbers_and_code_are_offered_on_step_by_step_only() -> None:
    at = opened("export", step="weights", text="a b c")
    open_parts(at, export_tab="Numbers, code")
    assert {"CSV", "npz", "Notebook", "Script"} <= shown(at)
    at.switch_page("../../pages/tokens.py").run()
    assert not at.exception
    assert not {"CSV", "npz"} & shown(at)


@pytest.mark.parametrize("length", [30, 1200])
def test_the_code_to_scan_is_segnos_own(length: int) -> None:
    address = "http://localhost:8501/?text=".ljust(length, "a")
    modules = qr_modules(address)
    assert modules.tolist() == [list(row) for row in segno.make_qr(address, error="l").matrix]


@pytest.mark.parametrize("address", ["javascript:alert(1)", "", "http://[", "http://é", "http://h/?" + "a" * MAX_BYTES])
def test_an_address_that_is_no_page_gets_a_message_and_no_code(address: str) -> None:
    with pytest.raises(ValueError, match=r"code"):
        qr_modules(address)


def web_page(page: str, **query: str) -> AppTest:
    """Open a page of the app, and in its Export the tab for a web page."""
    at = AppTest.from_file(str(APP), default_timeout=120)
    at.query_params.update(query)
    at.run()
    at.switch_page(f"../../pages/{page}.py").run()
    return open_parts(at, export=True, export_tab="Web page")


@pytest.mark.parametrize(
    ("page", "query", "title"),
    [
        ("compare", {}, "A, B and their difference: weights"),
        ("heads", {"layer": "3", "head": "11", "chosen": "3.11_2.r"}, "layer 3 · head 11, layer 2 · rollout"),
    ],
)
def test_a_page_offers_a_web_page_and_the_lines_that_embed_it(page: str, query: dict[str, str], title: str) -> None:
    at = web_page(page, **query)
    assert "Interactive page" in shown(at)
    assert f'<iframe src="attnviz-{page}.html" title="{title}"' in at.code[-1].value


def test_a_text_that_is_too_long_for_a_web_page_gets_the_limit() -> None:
    at = web_page("heads", text="word " * 111)
    assert "Interactive page" not in shown(at)
    sentence = (
        "A web page of Heads has at most 3 MB: with 6 x 12 heads, it takes up to 110 tokens, and this view has 113."
    )
    assert plain(sentence) in [one.value for one in at.caption]


def test_a_scene_of_a_lesson_is_exported_with_its_own_words() -> None:
    number, scene = next((n, s) for n, s in enumerate(shipped()["why"].scenes, 1) if s.page == "step_by_step")
    at = opened("export", lesson="why", scene=str(number), **dict(parse_qsl(scene.query)))
    words, _ = payload(at, "export_view")
    assert words["title"] == scene.title
    assert words["caption"].startswith(scene.said)
    assert words["caption"].endswith("Rows are queries (from), columns are keys (to).")


def test_a_code_is_made_of_the_address_that_is_asked_for_or_why_there_is_none_is_said() -> None:
    at = opened("share")
    assert payload(at, "share")[0]["address"] == "" and "modules" not in payload(at, "share")[1]
    for address, why in (
        ("https://here.example/?q=1", ""),
        (f"https://here.example/?{'x' * MAX_BYTES}", TOO_LONG),
        ("file:///x", NO_ADDRESS),
    ):
        at.session_state["share"] = True
        send(at, "share", "code", address)
        header, arrays = payload(at, "share")
        assert (header["address"], header["sentence"]) == (address, why)
        if why:
            assert "modules" not in arrays
        else:
            assert arrays["modules"].tolist() == [[*row] for row in segno.make(address, error="l").matrix]
