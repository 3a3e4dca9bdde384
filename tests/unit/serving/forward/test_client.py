"""Passes over HTTP against `model.run`, bit for bit; and a service that fails in every way that it can."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from prometheus_client.parser import text_string_to_metric_families

from attnviz.pretrained import PretrainedModel
from attnviz.serving.forward import client as forward
from attnviz.serving.forward.answering import Answering
from attnviz.serving.forward.client import ForwardClient
from attnviz.serving.forward.messages import Answer
from attnviz.serving.forward.passes import PassFormat, UnsendableError
from attnviz.serving.forward.transports import OverHttp
from attnviz.serving.http.metrics import metrics
from attnviz.serving.http.traffic import Traffic
from attnviz.settings import Settings
from attnviz.trace.ablation import Replaced, replaced
from tests.browser.server import free_port
from tests.unit.serving.forward.conftest import ids_of, same
from tests.unit.serving.forward.fake import Fake, Handler, drop_by_drop, fake, rightly

IDS = [101, 7592, 102]
CLIENTS: list[ForwardClient] = []
"""Of the test that runs"""


@pytest.fixture(scope="module")
def served(gpt2: PretrainedModel) -> Answering:
    return Answering(["minilm", gpt2.name])


@pytest.fixture
def service(served: Answering) -> Iterator[Fake]:
    with fake(rightly(served)) as running:
        yield running


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while CLIENTS:
        CLIENTS.pop().close()


def client_of(service: Fake, **settings: float) -> ForwardClient:
    CLIENTS.append(ForwardClient(OverHttp(service.url), **settings))
    return CLIENTS[-1]


def run(client: ForwardClient, model: PretrainedModel, ids: list[int]) -> bool:
    """Run a pass, and return whether it is that of the model itself."""
    return same(client.run(model, ids, [0] * len(ids), None), model.run(ids, [0] * len(ids), None))


@pytest.mark.parametrize("tokens", [2, 16, 128, 512])
def test_the_service_gives_what_the_model_gives(service: Fake, minilm: PretrainedModel, tokens: int) -> None:
    client = client_of(service)
    assert run(client, minilm, ids_of(tokens))
    assert client.counts() == ({"here": 0, "service": 1}, {})


def test_a_model_of_transformers_is_served_too(service: Fake, gpt2: PretrainedModel) -> None:
    client = client_of(service)
    assert run(client, gpt2, list(range(9, 49)))
    assert client.counts()[0]["service"] == 1


def test_only_ids_are_sent_and_a_connection_is_kept(service: Fake, minilm: PretrainedModel) -> None:
    client, text = client_of(service), "Rumpelstiltskin is my name"
    for _ in range(3):
        minilm.trace(text, run=partial(client.run, minilm))
    assert service.connections == 1
    assert len(service.bodies) == 3
    assert b"umpel" not in service.bodies[0] + service.bodies[0].lower()
    assert str(minilm.tokenize(text).ids[1]).encode() in service.bodies[0]


def test_several_threads_ask_at_once(service: Fake, minilm: PretrainedModel) -> None:
    client, equal = client_of(service, seconds=60), []
    threads = [threading.Thread(target=lambda n=n: equal.append(run(client, minilm, ids_of(n)))) for n in range(4, 12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert equal == [True] * 8
    assert client.counts() == ({"here": 0, "service": 8}, {})


def changed(served: Answering, change: Callable[[bytes], bytes], *, with_digest: bool) -> Callable[[Handler], None]:
    """Answer as the service does, with a changed body."""

    def answer(handler: Handler) -> None:
        checked = served.check(handler.body)
        assert not isinstance(checked, Answer)
        right = served.run(checked)
        wrong = Answer.of(200, change(right.body))
        handler.send(wrong if with_digest else Answer(200, wrong.body, right.digest))

    return answer


def close(handler: Handler) -> None:
    handler.close_connection = True


def speak(what: bytes) -> Callable[[Handler], None]:
    def answer(handler: Handler) -> None:
        handler.wfile.write(what)
        handler.close_connection = True

    return answer


def sleep(handler: Handler) -> None:
    time.sleep(0.6)
    handler.close_connection = True


FAILURES: dict[str, tuple[Any, str]] = {
    "full": (lambda _: lambda to: to.send(Answer.refused(503, "full")), "full"),
    "an error": (lambda _: lambda to: to.send(Answer.refused(500, "error")), "error"),
    "another model": (lambda _: lambda to: to.send(Answer.refused(409, "differs")), "refused"),
    "a page": (lambda _: lambda to: to.send(Answer.of(200, b"<html>")), "damaged"),
    "sent elsewhere": (lambda _: lambda to: to.send(Answer.of(302, b""), Location="http://192.0.2.1/"), "refused"),
    "a flipped bit": (
        lambda served: changed(served, lambda body: body[:-9] + bytes([body[-9] ^ 1]) + body[-8:], with_digest=False),
        "damaged",
    ),
    "cut": (lambda served: changed(served, lambda body: body[:5000], with_digest=False), "damaged"),
    "cut, with its digest": (lambda served: changed(served, lambda body: body[:5000], with_digest=True), "damaged"),
    "other shapes": (
        lambda served: (
            lambda to: to.send(served.run(served.check(to.body.replace(b"7592, ", b"").replace(b"0, ", b"", 1))))
        ),
        "damaged",
    ),
    "endless": (lambda _: speak(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 3_000_000), "damaged"),
    "no HTTP": (lambda _: speak(b"\xff\xfe no such protocol\r\n\r\n"), "damaged"),
    "nothing": (lambda _: close, "unreachable"),
    "slow": (lambda _: sleep, "slow"),
    "drop by drop": (lambda _: drop_by_drop, "slow"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_pass_runs_here_if_the_service_fails(served: Answering, minilm: PretrainedModel, name: str) -> None:
    make, why = FAILURES[name]
    with fake(make(served)) as service:
        client = client_of(service, seconds=0.3)
        began = time.monotonic()
        assert run(client, minilm, IDS)
        assert time.monotonic() - began < 5
        assert client.counts() == ({"here": 1, "service": 0}, {why: 1})
        asked = len(service.bodies)
        assert run(client, minilm, IDS)  # it is not asked again so soon
        assert len(service.bodies) == asked == 1
        assert client.counts() == ({"here": 2, "service": 0}, {why: 1})


def test_nobody_listens(minilm: PretrainedModel) -> None:
    client = ForwardClient(OverHttp(f"http://127.0.0.1:{free_port()}/forward"))
    assert run(client, minilm, IDS)
    assert client.counts() == ({"here": 1, "service": 0}, {"unreachable": 1})


def test_after_a_pause_one_thread_tries_again(served: Answering, minilm: PretrainedModel) -> None:
    with fake(sleep) as service:
        client = client_of(service, seconds=0.3, pause=0.2)
        run(client, minilm, IDS)
        time.sleep(0.25)
        equal: list[bool] = []
        threads = [threading.Thread(target=lambda: equal.append(run(client, minilm, IDS))) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert equal == [True] * 5
        assert len(service.bodies) == 2
        service.way = rightly(served)
        client._seconds = 60
        time.sleep(0.25)
        assert run(client, minilm, IDS)
        assert run(client, minilm, IDS)
        assert client.counts() == ({"here": 6, "service": 2}, {"slow": 2})


def test_a_model_that_is_not_served_does_not_hold_up_the_others(minilm: PretrainedModel, gpt2: PretrainedModel) -> None:
    with fake(rightly(Answering(["minilm"]))) as service:
        client = client_of(service)
        for _ in range(2):
            assert run(client, gpt2, [5, 6, 7])
            assert run(client, minilm, IDS)
        assert client.counts() == ({"here": 2, "service": 2}, {"refused": 1})
        assert len(service.bodies) == 3


def test_a_model_whose_passes_can_t_be_sent_is_no_failure_of_the_service(
    service: Fake, minilm: PretrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> PassFormat:
        raise UnsendableError("Its mask is neither absent nor causal.")

    monkeypatch.setattr(PassFormat, "of", refuse)
    client = client_of(service)
    assert run(client, minilm, IDS)
    assert client.counts() == ({"here": 1, "service": 0}, {}) and not service.bodies


def test_a_connection_that_the_service_has_closed_is_no_failure(service: Fake, minilm: PretrainedModel) -> None:
    client = client_of(service)
    right = service.way

    def then_close(handler: Handler) -> None:
        right(handler)
        handler.close_connection = True  # the client can't know

    service.way = then_close
    for _ in range(3):
        assert run(client, minilm, IDS)
        time.sleep(0.05)
    assert client.counts() == ({"here": 0, "service": 3}, {})
    assert service.connections == 3


def test_heads_are_replaced_here(service: Fake, minilm: Any) -> None:
    client = client_of(service)
    with replaced({minilm.bert.encoder.layers[0].attention: Replaced.by_zero([1], heads=12)}):
        found = client.run(minilm, IDS, [0] * 3, None)
    assert not torch.equal(found.hidden, minilm.run(IDS, [0] * 3, None).hidden)
    assert not service.bodies


def test_the_app_asks_the_service_of_its_settings(
    service: Fake, minilm: PretrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from attnviz.trace.model import TraceBudget
    from attnviz.ui import caches

    monkeypatch.setattr(forward, "settings", lambda: Settings(forward=service.url))
    monkeypatch.setattr(minilm, "trace_budget", TraceBudget("of a test", 2**20))
    forward.forward_client.cache_clear()
    try:
        found = caches.trace(minilm, "Who asks whom?", None)
        caches.trace(minilm, "Who asks whom?", None)
        families = text_string_to_metric_families(metrics(Traffic(Settings()), ready=True).decode())
        samples = {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}
        assert samples["attnviz_forward_total", "service"] == 1
        assert samples["attnviz_forward_total", "here"] == 0
    finally:
        client = forward.forward_client()
        assert client is not None
        client.close()
        forward.forward_client.cache_clear()
    assert len(service.bodies) == 1
    ours = minilm.trace("Who asks whom?")
    assert torch.equal(found.layers["encoder"][5].attentions(), ours.layers["encoder"][5].attentions())


def test_by_default_nothing_is_asked_and_neither_ray_nor_torch_is_imported() -> None:
    code = (
        "import sys\nfrom attnviz.serving.forward.client import forward_client, trace\n"
        "assert forward_client() is None\nassert not {'ray', 'torch', 'streamlit'} & set(sys.modules)\n"
        "from attnviz.ui import caches\ncaches.trace(caches.model('minilm'), 'Who asks whom?', None)\n"
        "assert 'ray' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
