"""The server's own routes, its middleware, what every answer carries, and what it is started with."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import socket
import tomllib
from dataclasses import replace
from http.cookies import SimpleCookie
from importlib import resources
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import brotli
import pytest
import streamlit as st
import uvicorn
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit import config

from attnviz import files
from attnviz.components.built import addresses, folder, read
from attnviz.components.walk import PLOTLY_PATH
from attnviz.links.pages import PAGES
from attnviz.runtime.traffic import Traffic
from attnviz.serving import app as serving_app
from attnviz.serving import logs, run, static
from attnviz.serving.app import ROUTES
from attnviz.serving.headers import REPLICA_COOKIE, SafeHeaders, content_policy, safe_headers
from attnviz.serving.messages import MESSAGE
from attnviz.serving.run import StartError, listen, options, tuned
from attnviz.serving.static import BASE
from attnviz.settings import PUBLIC, Settings, SettingsError
from tests.threads import run_in_thread
from tests.unit.serving.test_exports import Answer, ask

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


PATHS = [page.path for page in PAGES.values() if page.path != "/"]
OWN = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")


def get(path: str, encodings: str = "") -> Answer:
    """Request a path from the app's routes."""
    return run_in_thread(ask(Starlette(routes=ROUTES), path, method="GET", headers={"accept-encoding": encodings}))


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


@pytest.mark.parametrize("base", ["", "/some/where"])
@pytest.mark.parametrize(("suffix", "kind"), [("js", "text/javascript"), ("css", "text/css")])
def test_a_file_is_compressed_and_kept_for_ever(base: str, suffix: str, kind: str) -> None:
    path = f"{folder()}walk.{suffix}"
    text = (read(path) or "").encode()
    answer = get(base + path, "gzip, br")
    assert (answer.status, answer.headers["content-type"]) == (200, f"{kind}; charset=utf-8")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (answer.headers["content-encoding"], answer.headers["vary"]) == ("br", "Accept-Encoding")
    assert brotli.decompress(answer.body) == text
    assert get(base + path, "gzip, br").body == answer.body
    for encodings in ("gzip, deflate", "br;q=0, gzip;q=0.5"):
        older = get(base + path, encodings)
        assert older.headers["content-encoding"] == "gzip"
        assert gzip.decompress(older.body) == text
        assert len(answer.body) < len(older.body) < len(text) / 2
    plain = get(base + path, "")
    assert (plain.headers["content-encoding"], plain.body) == ("identity", text)


@pytest.mark.parametrize(
    "path",
    ["/attnviz/modules/", "/attnviz/modules/walk.js", "/attnviz/modules/0123456789abcdef/walk.js",
     f"{folder()}../../../app.py", f"{folder()}main.js", f"{folder()}\0.js", f"{folder()}{'x/' * 50_000}walk.js",
     f"/some/where{folder()}none.js"],
)  # fmt: skip
def test_what_is_not_there_is_not_kept(path: str) -> None:
    answer = get(path)
    assert (answer.status, answer.body) == (404, b"")
    assert answer.headers["cache-control"] == "no-store"


def test_many_first_visitors_wait_for_one_who_compresses_it() -> None:
    static._encoded.cache_clear()
    path, app = f"{folder()}lecture.js", Starlette(routes=ROUTES)

    async def crowd() -> list[Answer]:
        return await asyncio.gather(*(ask(app, path, method="GET", headers={}) for _ in range(20)))

    answers = run_in_thread(crowd())
    assert {answer.status for answer in answers} == {200}
    assert static._encoded.cache_info().misses == 1


def test_all_files_can_be_compressed_ahead() -> None:
    static._encoded.cache_clear()
    static.make_all()
    before = static._encoded.cache_info()
    assert before.currsize == len(addresses())
    assert [address for address in addresses() if get(address).status != 200] == []
    assert static._encoded.cache_info().misses == before.misses


def test_options_are_named_as_streamlit_names_them() -> None:
    assert options({"a": 1, "theme": {"light": {"ink": "x"}, "base": [2]}}) == {
        "a": 1, "theme.light.ink": "x", "theme.base": [2]
    }  # fmt: skip
    known = config.get_config_options()
    chosen = options(tomllib.loads(files.CONFIG.read_text(encoding="utf-8")))
    assert [name for name in (*chosen, *tuned("here", 1, 1)) if name not in known] == []


def test_a_server_tells_visitors_and_others_nothing_of_itself() -> None:
    given = tuned("1.2.3.4", 81, 7)
    assert (given["server.address"], given["server.port"], given["server.maxUploadSize"]) == ("1.2.3.4", 81, 7)
    assert given["client.showErrorDetails"] == "none"
    assert given["server.fileWatcherType"] == "none"
    assert [given[name] for name in ("browser.gatherUsageStats", "logger.enableRich", "runner.postScriptGC")] == [
        False, False, False
    ]  # fmt: skip
    assert given["server.headless"] is True


@pytest.mark.parametrize(("public", "mebibytes"), [(None, PUBLIC.largest_upload), ("0", Settings().largest_upload)])
def test_a_server_is_public_unless_told_otherwise_and_believes_no_header_by_itself(
    monkeypatch: pytest.MonkeyPatch, public: str | None, mebibytes: int
) -> None:
    if public is None:
        monkeypatch.delenv("ATTNVIZ_PUBLIC", raising=False)
    else:
        monkeypatch.setenv("ATTNVIZ_PUBLIC", public)
    used: list[Settings] = []
    chosen: dict[str, object] = {}
    servers: list[dict[str, object]] = []
    runs: list[tuple[str, int]] = []

    def server(app: object, **given: object) -> dict[str, object]:
        servers.append(given)
        return given

    def ran(sockets: list[socket.socket]) -> None:
        with sockets[0] as listening:
            runs.append(listening.getsockname())

    monkeypatch.setattr(run, "use", used.append)
    monkeypatch.setattr(logs, "keep_texts_out", lambda: None)
    monkeypatch.setattr(config, "set_option", chosen.__setitem__)
    monkeypatch.setattr(uvicorn, "Config", server)
    monkeypatch.setattr(uvicorn, "Server", lambda _: Mock(run=ran))
    run.serve("127.0.0.1", 0)
    assert [one.public for one in used] == [public is None]
    ((host, port),) = runs
    assert (host, chosen["server.address"], chosen["server.port"]) == ("127.0.0.1", "127.0.0.1", port)
    assert (port > 0, chosen["server.maxUploadSize"]) == (True, mebibytes)
    assert chosen["client.toolbarMode"] == "minimal", "what the app's own file says"
    (given,) = servers
    assert (given["proxy_headers"], given["server_header"], given["access_log"]) == (False, False, False)
    assert (given["ws_max_size"], given["h11_max_incomplete_event_size"], given["http"]) == (MESSAGE, 2**19, "h11")
    assert given["timeout_graceful_shutdown"] == 5


def test_a_port_is_opened_or_one_line_says_why_not() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        socket.create_connection(("127.0.0.1", port), 5).close()
        with pytest.raises(StartError) as raised:
            listen("127.0.0.1", port)
    assert str(raised.value) == (f"Port {port} of 127.0.0.1 is taken by another program; choose another with --port.")
    with pytest.raises(StartError, match=r"^Port 1 of 192\.0\.2\.1 can't be opened \(.*\); choose another"):
        listen("192.0.2.1", 1)  # no address of this machine
    if socket.has_dualstack_ipv6():
        with listen("::1", 0) as newer:
            assert newer.family == socket.AF_INET6


async def headers_of(scope: dict[str, Any], media: bytes = b"text/html; charset=utf-8") -> list[tuple[bytes, bytes]]:
    """Return the headers of the answer to a request, which is of this media type."""
    sent: list[Any] = []

    async def page(scope: Any, _receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", media)]})
        else:
            await send({"type": "websocket.accept"})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {}

    await SafeHeaders(page, replica="a1")(scope, receive, send)
    headers: list[tuple[bytes, bytes]] = sent[0]["headers"]
    return headers


async def cookies(scope: dict[str, Any], media: bytes = b"text/html; charset=utf-8") -> list[str]:
    """Return the cookies that are set with the answer to a request."""
    return [value.decode() for name, value in await headers_of(scope, media) if name == b"set-cookie"]


@pytest.mark.parametrize(
    ("kind", "scheme", "secure"),
    [("http", "http", False), ("http", "https", True), ("websocket", "ws", False), ("websocket", "wss", True)],
)
def test_the_cookie_is_for_tls_alone_where_the_page_came_by_tls(kind: str, scheme: str, *, secure: bool) -> None:
    (header,) = run_in_thread(cookies({"type": kind, "scheme": scheme, "path": "/", "headers": []}))
    cookie = SimpleCookie(header)[REPLICA_COOKIE]
    assert cookie.value == "a1"
    assert bool(cookie["secure"]) is secure
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


@pytest.mark.parametrize(
    ("path", "cache"),
    [("/_stcore/bidi-components/attnviz.main/main.js", [b"no-cache"]), ("/static/app.js", []),
     ("/some/where/_stcore/bidi-components/attnviz.main/main.js", [b"no-cache"])],
)  # fmt: skip
def test_no_proxy_keeps_the_script_that_loads_the_others(path: str, cache: list[bytes]) -> None:
    scope = {"type": "http", "scheme": "http", "path": path, "headers": []}
    headers = run_in_thread(headers_of(scope, b"text/javascript"))
    assert [value for name, value in headers if name == b"cache-control"] == cache


def test_only_pages_and_websockets_set_the_cookie() -> None:
    scope = {"type": "http", "scheme": "http", "path": "/static/app.js", "headers": []}
    assert run_in_thread(cookies(scope, b"text/javascript")) == []
    assert len(run_in_thread(cookies(scope))) == 1


@pytest.mark.parametrize(
    ("sites", "old"),
    [((), None), (("'none'",), "DENY"), (("'self'",), "SAMEORIGIN"), (("'self'", "https://a.example"), None)],
)
def test_who_may_frame_the_app(sites: tuple[str, ...], old: str | None) -> None:
    """X-Frame-Options (RFC 7034) can't name a site, so that it is there only where it says the same."""
    headers = safe_headers(sites)
    assert headers.get("X-Frame-Options") == old
    assert (f"frame-ancestors {' '.join(sites)}" in headers["Content-Security-Policy"]) is bool(sites)


def test_scripts_come_from_this_server_and_no_text_is_run_as_code() -> None:
    policy = {name: set(rest) for name, *rest in (rule.split() for rule in content_policy().split("; "))}
    assert policy["object-src"] == policy["frame-src"] == policy["base-uri"] == {"'none'"}
    hashes = {source for source in policy["script-src"] if source.startswith("'sha256-")}
    assert policy["script-src"] - hashes == {"'self'", "'wasm-unsafe-eval'"}
    assert policy["default-src"] == policy["connect-src"] == {"'self'"}


PRIVATE = {"ATTNVIZ_PUBLIC": "0"}


@pytest.mark.parametrize(
    ("public", "environment", "is_public"),
    [
        (True, {}, True),
        (True, {"ATTNVIZ_PUBLIC": "0"}, False),
        (False, {}, True),
        (False, {"ATTNVIZ_PUBLIC": "0"}, False),
    ],
)
def test_the_settings_file_decides_where_the_command_does_not(
    public: bool, environment: dict[str, str], is_public: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("public = true\n")
    monkeypatch.setattr(run.os, "environ", {"ATTNVIZ_SETTINGS": str(file), **environment})
    used: list[Settings] = []
    monkeypatch.setattr(run, "use", used.append)
    monkeypatch.setattr(run, "listen", Mock(side_effect=StartError("taken")))
    with pytest.raises(StartError):
        run.serve("127.0.0.1", 1, public=public)
    assert [settings.public for settings in used] == [is_public]
