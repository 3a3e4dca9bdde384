"""The toolbar through `app.py`: what Share and Export offer when they are opened, and that nothing is made before."""

from __future__ import annotations

import pytest
import segno
import yaml
from streamlit.testing.v1 import AppTest

from attnviz.components.share import MAX_BYTES, qr_modules
from attnviz.ui import FRAME
from attnviz.ui.export.share import scene_file

APP = FRAME


def shown(at: AppTest) -> set[str]:
    """Return the labels of everything that can be downloaded now."""
    return {button.proto.label for button in at.get("download_button")}


def opened(key: str, **query: str) -> AppTest:
    at = AppTest.from_file(str(APP), default_timeout=120)
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    assert not shown(at)  # nothing is made before it is asked for
    at.session_state[key] = True
    at.run()
    assert not at.exception
    return at


def test_share_offers_the_view_as_a_scene_that_a_lesson_can_hold() -> None:
    at = opened("share", text='<img src=x onerror="alert(1)">: - {a} é', seed="7", lecture="0")
    assert shown(at) == {"Scene file"}
    file = scene_file("step_by_step", "text=%3Cimg+src%3Dx%3E%3A+-+%7Ba%7D&seed=7")
    (scene,) = yaml.safe_load(file)["scenes"]
    assert scene["page"] == "step_by_step"
    assert scene["query"] == {"text": "<img src=x>: - {a}", "seed": "7"}


def test_numbers_and_code_are_offered_on_step_by_step_only() -> None:
    at = opened("export", step="weights", text="a b c")
    at.session_state["export_tab"] = "Numbers, code"
    at.run()
    assert not at.exception
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
