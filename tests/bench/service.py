"""A forward pass by the service against one in this process: over HTTP and over a handle, and what it takes here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import torch

from attnviz.pretrained import load
from attnviz.serving.forward.client import ForwardClient
from attnviz.serving.forward.start import service
from attnviz.serving.forward.transports import OverHandle, OverHttp
from tests.bench.table import Row
from tests.bench.texts import text_of
from tests.browser.server import free_port

LENGTHS = {16: 40, 128: 20, 512: 10}
"""Tokens, and how often each way is measured"""
Run = Callable[[], object]


def rows() -> Iterator[Row]:
    """Start the service with one replica, and measure all ways in turns."""
    torch.set_num_threads(1)
    port, model = free_port(), load("minilm")
    with service(["minilm"], host="127.0.0.1", port=port, replicas=(1, 1), queue=32):
        over = {
            "HTTP": ForwardClient(OverHttp(f"http://127.0.0.1:{port}/forward"), seconds=60),
            "a handle": ForwardClient(OverHandle(), seconds=60),
        }
        for tokens, rounds in LENGTHS.items():
            ids = model.read(text_of(tokens))[0].ids
            segments = [0] * len(ids)
            ways: dict[str, Run] = {"here": partial(model.run, ids, segments, None)}
            ways |= {name: partial(client.run, model, ids, segments, None) for name, client in over.items()}
            clock, processor = _measured(ways, rounds)
            for name in over:
                what = f"forward pass of {tokens} tokens by the service over {name} (peer: here)"
                yield Row(what, clock["here"], clock[name], None)
            what = f"the same over HTTP, processor time of the web server, {tokens} tokens (peer: here)"
            yield Row(what, processor["here"], processor["HTTP"], None)
        for client in over.values():
            assert client.counts()[1] == {}, "the service has failed"
            client.close()


def _measured(ways: dict[str, Run], rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the medians of wall time and of this process's processor time, in ms."""
    clock: dict[str, list[float]] = {name: [] for name in ways}
    processor: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 2):
        for name, run in ways.items():
            began, used = time.perf_counter(), time.process_time()
            run()
            if number >= 2:  # warm
                clock[name].append(1000 * (time.perf_counter() - began))
                processor[name].append(1000 * (time.process_time() - used))
    return _medians(clock), _medians(processor)


def _medians(series: dict[str, list[float]]) -> dict[str, float]:
    return {name: median(values) for name, values in series.items()}
