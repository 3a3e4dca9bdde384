"""What holds for all pages that are run without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import app_test, local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner, require_widgets_deltas


@pytest.fixture(scope="session", autouse=True)
def components_are_looked_for_once_and_pages_compiled_once() -> Iterator[None]:
    """Read the metadata of all installed packages once, and compile each page once, as a server does.

    AppTest does the first in every session, nine tenths of its time, and the second in every run. It also makes a mock
    of the server in every run: here one serves all of them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        patch.setattr(app_test, "ScriptCache", cache(app_test.ScriptCache))
        patch.setattr(app_test, "MagicMock", cache(app_test.MagicMock))
        yield


@pytest.fixture(scope="session", autouse=True)
def runs_of_pages_are_waited_for_without_asking() -> Iterator[None]:
    """Wait for the thread of a run to end. AppTest asks a thousand times a second whether it has."""

    def wait(runner: LocalScriptRunner, timeout: float = 3) -> None:
        assert runner._script_thread is not None
        runner._script_thread.join(timeout)
        if runner._script_thread.is_alive():
            require_widgets_deltas(runner, 0)  # ends it, and raises

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", wait)
        yield


@pytest.fixture
def no_training_is_left() -> Iterator[None]:
    """End the trainings of the test's visitors."""
    yield
    from attnviz.ui.training_jobs import training_jobs

    for visitor in list(training_jobs()._visitors):
        training_jobs().release(visitor)


@pytest.fixture
def shared_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the page the vectors of the built-in examples that all tests share; those of other texts it computes."""
    from attnviz.bert.classification.classifier import Pooled, pool_in_steps
    from attnviz.bert.classification.examples import built_in
    from attnviz.bert.classification.shipped import NAMES
    from attnviz.ui.bert.classifier import training
    from tests.loaded import pooled

    names = {built_in(name).texts: name for name in NAMES.values()}

    def steps(model: Any, texts: tuple[str, ...], *limits: int) -> Iterator[int | Pooled]:
        if texts in names:
            yield pooled(names[texts])
        else:
            yield from pool_in_steps(model, texts, *limits)

    monkeypatch.setattr(training, "pool_in_steps", steps)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the folder of a small BERT with a language head; the app forgets the model after the tests of a file."""
    from attnviz.ui import caches
    from tests.unit.bert.test_blank import saved

    yield str(saved("bert", tmp_path_factory.mktemp("models") / "bert"))
    caches.clear()
