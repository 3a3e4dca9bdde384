"""The HTML file of the pages with an address of their own, without a server around it."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from unittest.mock import Mock

import pytest
import streamlit as st
from starlette.applications import Starlette

from attnviz.links.pages import PAGES
from attnviz.serving.app import ROUTES
from attnviz.serving.headers import content_policy
from attnviz.serving.index import BASE
from tests.threads import run_in_thread
from tests.unit.serving.test_exports import Answer, ask

PATHS = [page.path for page in PAGES.values() if page.path != "/"]
OWN = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")


def get(path: str) -> Answer:
    """Request a path from the app's routes."""
    return run_in_thread(ask(Starlette(routes=ROUTES), path, method="GET", headers={}))


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_streamlits_own_with_one_script_before_all_others(path: str) -> None:
    answer = get(path)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["cache-control"] == "no-cache"
    script = f"<script>{BASE}</script>"
    page = answer.body.decode()
    assert page.replace(script, "") == OWN
    assert page.index("<script") == page.index(script)
    digest = base64.b64encode(hashlib.sha256(BASE.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in content_policy()


def test_under_a_base_path_a_page_is_there_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert get("/some/where/heads").status == 404
    monkeypatch.setattr(st, "get_option", Mock(return_value="/some/where/"))
    assert get("/some/where/heads").body.decode().replace(f"<script>{BASE}</script>", "") == OWN
    assert {get("/heads").status, get("/else/where/heads").status} == {404}
