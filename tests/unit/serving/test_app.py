"""The server's own routes, and which middleware a request goes through with which settings."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from attnviz.components.walk import PLOTLY_PATH
from attnviz.runtime.traffic import Traffic
from attnviz.serving import app as serving_app
from attnviz.settings import PUBLIC, Settings, SettingsError

OF_ALL = ["SafeHeaders", "Limits", "Uploads", "PreloadTrigger", "Arrays"]
OF_PUBLIC = ["SafeHeaders", "SameOrigin", "Limits", "CheckedMessages", "Uploads", "PreloadTrigger", "Arrays"]


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (Settings(), OF_ALL),
        (PUBLIC, OF_PUBLIC),
        (replace(PUBLIC, trusted_proxies=("10.0.0.1",)), ["ProxyHeadersMiddleware", *OF_PUBLIC]),
    ],
)
def test_a_public_server_checks_more_and_believes_only_the_proxies_that_it_is_told(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, names: list[str]
) -> None:
    monkeypatch.setattr(serving_app, "settings", lambda: settings)
    middleware = serving_app.middleware()
    assert [one.cls.__name__ for one in middleware] == names  # type: ignore[attr-defined]
    for one in middleware:
        if "trusted_hosts" in one.kwargs:
            assert one.kwargs["trusted_hosts"] == ["10.0.0.1"]


def test_a_wrong_setting_ends_the_server_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong() -> Settings:
        raise SettingsError("ATTNVIZ_SESSIONS is no number.")

    monkeypatch.setattr(serving_app, "settings", wrong)
    with pytest.raises(SystemExit, match=r"^attnviz: ATTNVIZ_SESSIONS is no number\.$"):
        serving_app.middleware()


@pytest.mark.parametrize("base", ["", "/below/it"])
def test_plotly_is_served_compressed_and_kept_for_ever_also_below_a_path(base: str) -> None:
    client = TestClient(Starlette(routes=serving_app.ROUTES))
    answer = client.get(base + PLOTLY_PATH)
    assert answer.status_code == 200
    assert answer.text == (resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"].startswith("text/javascript")


def test_the_numbers_of_this_server_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    traffic = Traffic(Settings())
    traffic.visitors = 17
    monkeypatch.setattr(serving_app, "traffic", lambda: traffic)
    answer = TestClient(Starlette(routes=serving_app.ROUTES)).get("/metrics")
    assert " 17.0" in answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=")
