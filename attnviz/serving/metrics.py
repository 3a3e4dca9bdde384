"""The metrics of this process for monitoring: counts and sizes, never a visitor's text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4 as MEDIA_TYPE
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from attnviz.runtime.arrays import array_store
from attnviz.runtime.cache import cache_usage
from attnviz.runtime.pool import worker_pool
from attnviz.runtime.traffic import Traffic
from attnviz.ui.training_jobs import training_jobs

__all__ = ["MEDIA_TYPE", "metrics"]


def metrics(traffic: Traffic, *, ready: bool) -> bytes:
    """Return all metrics of this process in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Server(traffic, ready=ready))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


class _Server(Collector):
    """Collects the server's metrics."""

    def __init__(self, traffic: Traffic, *, ready: bool) -> None:
        self.traffic = traffic
        self.ready = ready

    def collect(self) -> Iterator[Metric]:
        """Yield every metric except those of the process in the operating system."""
        traffic, (running, waiting, done) = self.traffic, worker_pool().counts()
        usage = cache_usage()
        entries, sizes = ({name: figures[at] for name, figures in usage.items()} for at in (0, 1))
        entries["array_offers"] = array_store().offers()
        yield _gauge("ready", "Whether the built-in model is loaded.", self.ready)
        yield _gauge("sessions", "Connected browsers.", traffic.visitors)
        yield _counter("runs", "Messages from browsers, each of which runs a page or a part of it.", traffic.changes)
        yield _counter("http_requests", "Responses by status code.", traffic.responses, "code")
        yield _counter("arrays", "Requests for arrays by status code.", traffic.arrays, "code")
        yield _counter("array_bytes", "Bytes of arrays that were sent.", traffic.array_bytes)
        yield _counter("refused", "Refused or delayed requests and messages, by reason.", traffic.refused, "why")
        yield _gauge("passes_running", "Running computations.", running)
        yield _gauge("passes_waiting", "Computations in the queue.", waiting)
        yield _counter("passes", "Completed computations.", done)
        training, queued, _ = training_jobs().counts()
        yield _gauge("trainings_running", "Trainings that run or are stopped, with a process each.", training)
        yield _gauge("trainings_waiting", "Trainings in the queue.", queued)
        yield _gauge("cache_entries", "Entries in the caches.", entries, "cache")
        yield _gauge("cache_bytes", "Bytes in the caches.", sizes, "cache")


def _gauge(name: str, about: str, figure: float | Mapping[str, int], label: str = "") -> Metric:
    return _filled(GaugeMetricFamily(f"attnviz_{name}", about, labels=[label] if label else []), figure)


def _counter(name: str, about: str, figure: float | Mapping[str, int] | Mapping[int, int], label: str = "") -> Metric:
    return _filled(CounterMetricFamily(f"attnviz_{name}", about, labels=[label] if label else []), figure)


def _filled(
    metric: GaugeMetricFamily | CounterMetricFamily, figure: float | Mapping[str, int] | Mapping[int, int]
) -> Metric:
    """Add one sample, or one per value of the metric's label."""
    if isinstance(figure, Mapping):
        for value, sample in figure.items():
            metric.add_metric([str(value)], sample)
    else:
        metric.add_metric([], figure)
    return metric
