"""Three servers behind nginx with the shipped configuration: its host names and ports are all that is changed."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
from websockets.exceptions import WebSocketException

from tests.browser.server import ROOT, Server, free_port
from tests.safety.client import Shown, Visitor
from tests.safety.server import SECRET, serve, status, wait_until_ready
from tests.safety.test_server import upload, xsrf
from tests.safety.test_start import check_limits

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
NAMES = ("app1", "app2", "app3")
LINK = ("heads", f"text={SECRET}+was+here&layer=2&head=3&chosen=2.3_4.5")
IMPORTED = "attnviz.serving.app, attnviz.ui.caches, attnviz.ui.shell, attnviz.pretrained.built_in, transformers"
PROGRAM = f"""
import os, {IMPORTED}
from attnviz.serving.run import serve
for name, port in {{port}}:
    if os.fork() == 0:
        os.environ["ATTNVIZ_REPLICA"] = name
        serve("127.0.0.1", port)
        os._exit(0)
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
"""
"""Imports what takes seconds, starts a server of each name and port in a process, and waits until all have ended"""


@dataclass
class Cluster:
    """The servers by their names, and nginx in front of them."""

    replicas: dict[str, Server]
    front: Server

    def kill(self, name: str) -> None:
        """Kill the process that listens at the port of this server."""
        port = int(self.replicas[name].url.rpartition(":")[2])
        (process,) = [
            child
            for child in psutil.Process(self.replicas[name].process.pid).children()
            if any(one.laddr.port == port and one.status == psutil.CONN_LISTEN for one in child.net_connections("tcp"))
        ]
        process.kill()
        process.wait()


def configured(ports: dict[str, int], port: int, folder: Path) -> Path:
    """Return the shipped configuration with local addresses in it."""
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    for name, own in ports.items():
        text, found = re.subn(rf"\b{name}:8501\b", f"127.0.0.1:{own}", text)
        assert found == 4, f"{name} is a first choice once, a newcomer's choice once, and a spare twice"
    text = text.replace("listen 8080;", f"listen 127.0.0.1:{port};").replace("/tmp/nginx", f"{folder}/nginx")
    text = text.replace("worker_processes auto;", "worker_processes 1;\nuser root;")
    path = folder / "nginx.conf"
    path.write_text(text)
    return path


@contextmanager
def nginx(ports: dict[str, int], folder: Path) -> Iterator[Server]:
    """Start nginx in front of these ports. What is yielded may not answer yet. Skip the test where there is none."""
    if NGINX is None:
        pytest.skip("nginx is not installed (on Debian: apt-get install nginx-light)")
    port, log = free_port(), folder / "nginx.log"
    command = [NGINX, "-p", str(folder), "-c", str(configured(ports, port, folder)), "-g", "daemon off;"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    front = Server(process, f"http://127.0.0.1:{port}", log, time.time())
    try:
        yield front
    finally:
        front.stop()
    assert SECRET.lower() not in front.log_text().lower(), f"nginx logged a visitor's text:\n{front.log_text()}"


@pytest.fixture(scope="module")
def replicas() -> Iterator[dict[str, Server]]:
    """Serve three times, in processes that have imported the app before."""
    ports = {name: free_port() for name in NAMES}
    settings = {"ATTNVIZ_UPLOADS": "1", "ATTNVIZ_TRUSTED_PROXIES": "127.0.0.1"}
    parent = serve(settings, program=PROGRAM.replace("{port}", repr([*ports.items()])))
    servers = {name: replace(parent, url=f"http://127.0.0.1:{port}") for name, port in ports.items()}
    try:
        for server in servers.values():
            wait_until_ready(server, 300)
        yield servers
    finally:
        for child in psutil.Process(parent.process.pid).children():
            child.terminate()
        parent.stop()
    log = parent.log_text()
    assert "Traceback" not in log, log
    assert SECRET.lower() not in log.lower(), f"a log holds a visitor's text:\n{log}"
    parent.log.unlink()


@pytest.fixture(scope="module")
def cluster(replicas: dict[str, Server], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    ports = {name: int(server.url.rpartition(":")[2]) for name, server in replicas.items()}
    with nginx(ports, tmp_path_factory.mktemp("nginx")) as front:
        front.wait(300)
        yield Cluster(replicas, front)


class Echo(BaseHTTPRequestHandler):
    """Answers with the headers that it was sent."""

    def do_GET(self) -> None:
        log = "\n".join(f"{name}: {value}" for name, value in self.headers.items()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(log)))
        self.end_headers()
        self.wfile.write(log)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_server_receives_the_real_address_and_only_complete_requests(tmp_path: Path) -> None:
    echo = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=echo.serve_forever, daemon=True).start()
    try:
        with nginx(dict.fromkeys(NAMES, echo.server_port), tmp_path) as front:
            front.wait()
            made_up = {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "https"}
            asked = urllib.request.Request(f"{front.url}/heads?text={SECRET}", headers=made_up)
            with urllib.request.urlopen(asked) as answer:
                forwarded = answer.read().decode()
            assert "X-Forwarded-For: 127.0.0.1" in forwarded
            assert "X-Forwarded-Proto: http\n" in forwarded + "\n"
            assert "6.6.6.6" not in forwarded
            assert f"Host: {front.url.removeprefix('http://')}" in forwarded
    finally:
        echo.shutdown()
        echo.server_close()
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        (tmp_path / "slow").mkdir()
        with nginx(dict.fromkeys(NAMES, server.getsockname()[1]), tmp_path / "slow") as front:
            address = (front.url.split(":")[1].strip("/"), int(front.url.rpartition(":")[2]))
            while not opens(address):
                time.sleep(0.05)
            with closing(socket.create_connection(address)) as slow:
                slow.sendall(b"PUT /_stcore/upload_file/s/f HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
                server.settimeout(1)
                with pytest.raises(TimeoutError):
                    server.accept()
                slow.sendall(b"x" * 96)
                server.settimeout(60)
                server.accept()[0].close()


def opens(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address).close()
    except OSError:
        return False
    return True


def named(visitor: Visitor) -> str:
    """Return the replica that a connection was given to, and check that the browser is told so."""
    found = re.search(r"attnviz_replica=(app\d); Path=/; HttpOnly; SameSite=Lax", " ".join(visitor.cookies))
    assert found
    return found[1]


def opened(visitor: Visitor) -> Shown:
    shown = visitor.open(*LINK)
    assert not shown.broke, shown.messages
    assert not shown.messages
    assert "explorer" in shown.widgets
    return shown


def filled(shown: Shown) -> list[str]:
    """Return the kinds of a page's elements. An empty place and what fills it come as two messages, or early as one."""
    return sorted(kind for kind in shown.kinds if kind != "empty")


def test_limits_hold_whatever_is_imported_before_the_server(replicas: dict[str, Server]) -> None:
    check_limits(replicas["app1"])


def test_visitors_are_spread_and_each_stays_where_it_is(cluster: Cluster) -> None:
    token = xsrf(cluster.front)
    with Visitor(cluster.front.url) as a, Visitor(cluster.front.url) as b, Visitor(cluster.front.url) as c:
        assert {named(visitor) for visitor in (a, b, c)} == set(cluster.replicas)
        for visitor in (a, b, c):
            opened(visitor)
            home = f"_streamlit_xsrf={token}; attnviz_replica={named(visitor)}"
            for _ in range(3):
                with Visitor(cluster.front.url, cookies=home) as again:
                    assert named(again) == named(visitor)
            elsewhere = next(name for name in cluster.replicas if name != named(visitor))
            assert upload(cluster.front, visitor.session_id, b"abc", token=token, cookies=home) == 204
            assert upload(cluster.front, visitor.session_id, b"x" * 2**21, token=token, cookies=home) == 413
            moved = f"attnviz_replica={elsewhere}"
            assert upload(cluster.front, visitor.session_id, b"abc", token=token, cookies=moved) == 400


def test_internal_paths_are_closed(cluster: Cluster) -> None:
    url = cluster.front.url
    assert status(f"{url}/healthz") == status(f"{url}/heads?text={SECRET}") == 200
    assert status(f"{url}/metrics") == status(f"{url}/_stcore/metrics") == 404
    assert status(f"{url}/?text={'x' * 100_000}") == 200


def test_all_sessions_survive_a_killed_replica(cluster: Cluster) -> None:
    """Every visitor who was there is somewhere else a moment later, with the same page from the same link."""
    lost: list[str] = []
    moved: list[tuple[str, str]] = []
    killed, ready = threading.Event(), threading.Barrier(10)

    def visit() -> None:
        try:
            with Visitor(cluster.front.url) as visitor:
                home = named(visitor)
                expected = filled(opened(visitor))
                ready.wait(300)
                while not killed.is_set():
                    opened(visitor)
        except (WebSocketException, OSError):  # its server is gone
            assert home == "app2"
        try:
            with Visitor(cluster.front.url, cookies=f"attnviz_replica={home}") as again:
                moved.append((home, named(again)))
                if filled(opened(again)) != expected:
                    lost.append(f"{home}: another page than before")
        except Exception as error:
            lost.append(f"{home}: {error!r}")

    threads = [threading.Thread(target=visit) for _ in range(9)]
    for thread in threads:
        thread.start()
    ready.wait(300)
    time.sleep(0.5)
    cluster.kill("app2")
    killed.set()
    for thread in threads:
        thread.join(300)
    assert not lost
    assert len(moved) == 9
    assert {where for home, where in moved if home == "app2"} <= {"app1", "app3"}
    assert [home for home, _ in moved].count("app2") >= 1
    assert all(home == where for home, where in moved if home != "app2")
    with Visitor(cluster.front.url, cookies="attnviz_replica=../../etc") as stranger:
        assert named(stranger) != "app2"
    assert status(f"{cluster.front.url}/compare?text={SECRET}", {"Cookie": "attnviz_replica=app2"}) == 200
