"""What strangers can send to a running server: docs/threats.md has the list."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.browser.server import Server
from tests.safety.client import Visitor
from tests.safety.links import random_links
from tests.safety.server import SECRET, status
from tests.unit.families import save

LIMIT = 2**20
"""Bytes of an upload on this server: the default of a public link."""


@contextmanager
def connection(server: Server) -> Iterator[HTTPConnection]:
    with closing(HTTPConnection(urlsplit(server.url).netloc, timeout=60)) as opened:
        yield opened


def xsrf(server: Server) -> str:
    with connection(server) as http:
        http.request("GET", "/_stcore/health")
        found = re.search(r"_streamlit_xsrf=([^;]+)", http.getresponse().headers["Set-Cookie"])
    assert found
    return found[1]


def upload(server: Server, session: str, data: bytes, *, token: str, cookies: str = "", file: str = "f",
           chunked: bool = False) -> int:  # fmt: skip
    """Upload a file as the page does, and return the status of the answer."""
    head = f'--b\r\nContent-Disposition: form-data; name="f"; filename="{SECRET}.txt"\r\n\r\n'.encode()
    body = head + data + b"\r\n--b--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    if token:
        headers |= {"Cookie": f"_streamlit_xsrf={token}; {cookies}", "X-Xsrftoken": token}
    with connection(server) as http:
        pieces = (body[at : at + 65536] for at in range(0, len(body), 65536))
        with suppress(BrokenPipeError, ConnectionResetError):  # refused before all of it was sent
            http.request("PUT", f"/_stcore/upload_file/{session}/{file}", pieces if chunked else body, headers,
                         encode_chunked=chunked)  # fmt: skip
        return http.getresponse().status


def held(server: Server) -> int:
    """Return the bytes of the files that the server holds."""
    with connection(server) as http:
        http.request("GET", "/_stcore/metrics?families=cache_memory_bytes")
        figures = http.getresponse().read().decode()
    return sum(int(float(n)) for n in re.findall(r'cache_type="UploadedFileManager"\S* (\S+)', figures))


@pytest.mark.parametrize(
    "path", ["/", "/heads?layer=1", "/no/such/page", "/_stcore/health", "/healthz", "/favicon.png"]
)
def test_every_response_has_the_headers(served: Server, path: str) -> None:
    with connection(served) as http:
        http.request("GET", path)
        headers = http.getresponse().headers
    policy = dict(rule.split(" ", 1) for rule in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == policy["connect-src"] == policy["frame-ancestors"] == "'self'"
    assert policy["object-src"] == policy["base-uri"] == policy["frame-src"] == "'none'"
    assert not {"'unsafe-inline'", "'unsafe-eval'", "*", "data:", "blob:", "https:"} & set(policy["script-src"].split())
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "SAMEORIGIN"
    assert headers["Referrer-Policy"] == "same-origin"
    assert not headers.get("Server")


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_a_websocket_from_a_foreign_page_is_refused(served: Server, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused, Visitor(served.url, origin=origin):
        pass
    assert refused.value.response.status_code == 403


def test_a_query_of_100_kilobytes_is_answered(served: Server) -> None:
    long = quote("é" * 21_000)
    assert len(long) > 100_000
    began = time.monotonic()
    assert status(f"{served.url}/?text={long}") == 200
    assert status(f"{served.url}/?" + "&".join(f"k{i}=v" for i in range(15_000))) == 200
    assert status(f"{served.url}/?text={'x' * 2_000_000}") == 400
    with Visitor(served.url) as visitor:
        shown = visitor.open("tokens", f"text={long}")
        assert not shown.broke
        assert "was cut there" in shown.text
        assert not visitor.open("", "&".join(f"layer={i}" for i in range(12_000))).broke
    assert time.monotonic() - began < 120


def test_an_invalid_message_closes_only_its_own_connection(served: Server) -> None:
    for data in (b"\xff" * 1000, b"x" * (5 * 2**20)):
        with Visitor(served.url) as visitor:
            visitor.send_raw(data)
            with pytest.raises(ConnectionClosed):
                visitor.open()
    assert status(f"{served.url}/healthz") == 200


def test_uploads_are_checked_and_bounded(served: Server) -> None:
    token = xsrf(served)
    with Visitor(served.url) as visitor:
        visitor.open("tokens", "charset=file")
        session = visitor.session_id
        assert upload(served, session, b"abc", token="") == 403
        assert upload(served, "no-such-session", b"abc", token=token) == 400
        assert upload(served, session, b"x" * (LIMIT + 1), token=token) == 413
        assert upload(served, session, b"x" * (3 * LIMIT), token=token, chunked=True) == 413
        for number in range(8):  # no page asked for these
            assert upload(served, session, b"x" * (LIMIT - 1000), token=token, file=f"f{number}") == 204
        assert 4 <= held(served) / (LIMIT - 1000) < 5


def test_only_what_the_export_dialog_sends_becomes_a_pdf(served: Server) -> None:
    recording = {"width": 40, "height": 30, "paper": None, "title": SECRET, "caption": "", "clips": [], "marks": []}
    good, json_type = json.dumps(recording).encode(), {"Content-Type": "application/json"}

    def post(body: bytes, headers: dict[str, str], path: str = "/attnviz/pdf") -> tuple[int, bytes]:
        with connection(served) as http:
            with suppress(BrokenPipeError, ConnectionResetError):  # refused before all of it was sent
                http.request("POST", path, body, headers)
            answer = http.getresponse()
            return answer.status, answer.read()

    status_, data = post(good, {**json_type, "Origin": served.url})
    assert (status_, data[:5]) == (200, b"%PDF-")
    assert post(good, {**json_type, "Origin": "https://evil.example"})[0] == 403
    assert post(good, {"Content-Type": "text/plain"})[0] == 415  # the only kind that a form of another site sends
    assert post(b"x" * (5 * 2**20), json_type)[0] == 413
    for bad in (b"", b"\xff", b"[" * 100_000, good.replace(b"40", b"1e999"), good.replace(b"[]", b'["' + b"9" * 9999)):
        assert post(bad, json_type)[0] == 400
    assert post(b'{"regular": 1, "bold": null}', json_type, "/attnviz/fonts")[0] == 400
    assert status(f"{served.url}/healthz") == 200
    assert SECRET not in served.log_text()


def test_folders_and_hub_names_are_closed_by_link(served: Server, tmp_path: Path) -> None:
    """A folder that would load, one that is not there, and a name on the hub: each is refused in the same words."""
    there = save("bert", tmp_path / SECRET)
    for page, name in (
        ("", str(there)), ("heads", str(there)), ("compare", str(tmp_path / "not there")), ("", "../../etc"),
        ("heads", "gpt2"), ("compare", f"{SECRET}/model"), ("", "~"),
    ):  # fmt: skip
        with Visitor(served.url) as visitor:
            shown = visitor.open(page, f"source=pretrained&model={quote(name)}")
        assert not shown.broke
        refusal = "is not offered on this server, which has MiniLM (a small BERT). Showing MiniLM (a small BERT)."
        assert refusal in shown.text, (page, name)


def test_no_text_of_a_visitor_is_logged(served: Server) -> None:
    """Texts in links, in fields, in names of models and files, and in requests that fail."""
    hostile = quote(f"{SECRET} <b>\0\r\n")
    for path in (f"/?text={hostile}", f"/{SECRET}?x={SECRET}", f"/_stcore/{SECRET}", f"/attnviz/{SECRET}.js",
                 f"/_stcore/bidi-components/attnviz.main/{SECRET}.js", f"/media/{SECRET}.png",
                 f"/%2e%2e/{SECRET}"):  # fmt: skip
        status(f"{served.url}{path}", {"Referer": f"http://x.example/?text={SECRET}", "User-Agent": SECRET})
    with Visitor(served.url) as visitor:
        for page in ("", "heads", "tokens", "compare"):
            shown = visitor.open(page, f"text={hostile}&pair={SECRET}&model={SECRET}&layer={SECRET}&{SECRET}=1")
            assert not shown.broke
            assert not visitor.open(page, "", {shown.widgets["text"]: f"{SECRET} again"}).broke
        assert upload(served, visitor.session_id, SECRET.encode(), token=xsrf(served)) == 204
        assert upload(served, visitor.session_id, SECRET.encode(), token="") == 403
    with pytest.raises(InvalidStatus), Visitor(served.url, origin="https://evil.example"):
        pass
    log = served.log_text()
    assert "Error reading bidi component asset" in log  # so this is where a text would stand
    assert "evil.example" not in log
    assert SECRET.lower() not in log.lower()


def test_random_links_break_no_page(served: Server) -> None:
    links = random_links(120, seed=4)
    logged = len(served.log_text())
    broke: list[str] = []

    def visit(part: list[tuple[str, str]]) -> None:
        for first in range(0, len(part), 30):
            with Visitor(served.url) as visitor:
                for page, query in part[first : first + 30]:
                    shown = visitor.open(page, query)
                    if shown.broke:
                        broke.append(f"/{page}?{query[:300]}: {shown.messages}")

    threads = [threading.Thread(target=visit, args=(links[start::2],)) for start in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not broke, "\n".join(broke[:10])
    assert "Uncaught app execution" not in served.log_text()[logged:]


def test_an_incomplete_request_delays_no_other(served: Server) -> None:
    address = urlsplit(served.url)
    with closing(socket.create_connection((address.hostname or "", address.port or 0))) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-")
        began = time.monotonic()
        assert status(f"{served.url}/healthz") == 200
        assert time.monotonic() - began < 30
