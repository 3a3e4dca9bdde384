"""Forward passes by a real Ray Serve: asked over HTTP, over a handle, and by two servers that share it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from attnviz.pretrained import load
from attnviz.serving.forward.client import ForwardClient
from attnviz.serving.forward.transports import OverHttp
from tests.browser.server import ROOT, Server, free_port
from tests.safety.client import Visitor
from tests.safety.server import SECRET, serve, wait_until_ready
from tests.unit.serving.forward.conftest import ids_of, same

pytestmark = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed (pip install 'attnviz[ray]')")

RAY = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a-secret-of-these-tests-of-32-letters"}
BY_HANDLE = """
from attnviz.pretrained import load
from attnviz.serving.forward.client import ForwardClient
from attnviz.serving.forward.transports import transport
from tests.unit.serving.forward.conftest import ids_of, same

client, model = ForwardClient(transport("ray"), seconds=20), load("minilm")
for tokens in (16, 512):
    segments = [0] * tokens
    assert same(client.run(model, ids_of(tokens), segments, None), model.run(ids_of(tokens), segments, None))
assert client.counts() == ({"here": 0, "service": 2}, {}), client.counts()
print("asked", flush=True)

input()  # until the cluster has gone
import ray, time
assert same(client.run(model, ids_of(16), [0] * 16, None), model.run(ids_of(16), [0] * 16, None))
ways, failures = client.counts()
assert ways == {"here": 1, "service": 2} and sum(failures.values()) == 1, (ways, failures)
until = time.monotonic() + 60
while ray.is_initialized():  # Ray ends a process that stays
    assert time.monotonic() < until
    time.sleep(0.1)
"""


@dataclass
class Service:
    """The service, and two servers that ask it."""

    process: subprocess.Popen[str]
    url: str
    folder: Path
    """Ray's files, its logs among them"""
    servers: list[Server]
    cluster: str = ""
    by_handle: subprocess.Popen[str] | None = None
    """A process that asks it over a handle"""

    def wait(self) -> None:
        """Wait until it says that it runs."""
        assert self.process.stdout
        line = self.process.stdout.readline()  # "" where it has ended
        found = re.search(r"Ray at (\S+)", line)
        assert found, line + (self.folder / "stderr").read_text()
        self.cluster = found[1]

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=60)
        if self.by_handle is not None:
            self.by_handle.kill()
            self.by_handle.communicate()


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    folder, port = Path(tempfile.mkdtemp(prefix="r", dir="/tmp")), free_port()  # sockets have short paths
    url = f"http://127.0.0.1:{port}/forward"
    command = [sys.executable, "-m", "attnviz", "forward", "--port", str(port)]
    environment = {**os.environ, **RAY, "RAY_TMPDIR": str(folder)}
    with (folder / "stderr").open("w") as errors:  # Ray may write lines of its own there
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
    found = Service(process, url, folder, [serve({"ATTNVIZ_FORWARD": url}) for _ in range(2)])
    try:
        found.wait()
        yield found
    finally:
        found.stop()
        for server in found.servers:
            server.stop()
            server.log.unlink()
        shutil.rmtree(folder, ignore_errors=True)


def figures(server: Server) -> dict[str, float]:
    """Return the metrics of forward passes."""
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return {name: float(value) for name, value in re.findall(r'^attnviz_(forward\w+{\w+="\w+"}) (\S+)$', text, re.M)}


def test_a_pass_over_http_is_that_of_the_model_bit_for_bit(service: Service) -> None:
    client, model = ForwardClient(OverHttp(service.url), seconds=60), load("minilm")
    for tokens in (2, 16, 128, 512):
        segments = [0] * tokens
        assert same(client.run(model, ids_of(tokens), segments, None), model.run(ids_of(tokens), segments, None))
    assert client.counts() == ({"here": 0, "service": 4}, {})
    client.close()


def test_a_pass_over_a_handle_too(service: Service) -> None:
    environment = {**os.environ, **RAY, "RAY_ADDRESS": service.cluster}
    with (service.folder / "handle").open("w") as errors:
        service.by_handle = subprocess.Popen(
            [sys.executable, "-c", BY_HANDLE], cwd=ROOT, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
        )  # fmt: skip
    assert service.by_handle.stdout
    assert service.by_handle.stdout.readline() == "asked\n", (service.folder / "handle").read_text()


def test_what_is_no_request_is_refused(service: Service) -> None:
    for body, status in ((b"nonsense", 400), (b"x" * 10**6, 400), (b'{"ids": []}', 400), (None, 405)):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(service.url, body, timeout=30)
        assert refused.value.code == status
        refused.value.close()


def test_two_servers_share_it_and_go_on_without_it(service: Service) -> None:
    for server in service.servers:
        wait_until_ready(server)
        opened(server, f"{SECRET} was here")
        assert figures(server) == {'forward_total{where="here"}': 0, 'forward_total{where="service"}': 1}
    service.process.send_signal(signal.SIGTERM)
    service.process.wait(60)
    assert service.by_handle is not None
    service.by_handle.communicate("\n", timeout=120)
    assert service.by_handle.returncode == 0, (service.folder / "handle").read_text()
    for server in service.servers:
        opened(server, f"{SECRET} is gone")
        counted = figures(server)
        assert counted['forward_total{where="here"}'] == 1
        assert sum(value for name, value in counted.items() if "failures" in name) == 1
        assert "Traceback" not in server.log_text()
    ids = ", ".join(map(str, load("minilm").read(f"{SECRET} was here")[0].ids))
    written = [file.read_bytes().decode(errors="replace") for file in logs(service.folder)]
    written += [server.log_text() for server in service.servers]
    assert len(written) > 5
    assert [text[:200] for text in written if SECRET.lower() in text.lower() or ids in text] == []


def logs(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and file.stat().st_size]


def opened(server: Server, text: str) -> None:
    """Open a page that needs a pass."""
    with Visitor(server.url) as visitor:
        shown = visitor.open("heads", f"text={text.replace(' ', '+')}")
        assert not shown.broke, shown.messages
    time.sleep(0.1)
