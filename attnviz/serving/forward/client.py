"""Runs forward passes on the service, or in this process where the service can't help. Imports no torch by itself."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from attnviz.serving.forward.messages import Asked
from attnviz.serving.forward.transports import FailedError, Transport, Why, transport
from attnviz.settings import settings

if TYPE_CHECKING:
    from attnviz.pretrained.model import PretrainedModel
    from attnviz.serving.forward.passes import PassFormat
    from attnviz.trace.model import Model
    from attnviz.trace.recorder import Pass
    from attnviz.trace.whole import Trace

SECONDS = 4.0
"""For an answer; a pass of 512 tokens of the built-in model takes less than one"""
PAUSES: dict[Why, float] = {"full": 2.0, "refused": 60.0}
PAUSE = 15.0
"""Seconds for which the service is not asked after it failed; where it refused, this holds for the model alone"""
STATUSES: dict[int, Why] = {503: "full", 500: "error", 502: "error", 504: "slow", 408: "slow"}
"""What other answers than 200 mean; any other one is a refusal"""

_log = logging.getLogger(__name__)


class ForwardClient:
    """Asks the service for passes, and counts how they went."""

    def __init__(self, to: Transport, *, seconds: float = SECONDS, pause: float = PAUSE) -> None:
        self._to, self._seconds, self._pause = to, seconds, pause
        self._lock = threading.Lock()
        self._forms: WeakKeyDictionary[PretrainedModel, PassFormat | None] = WeakKeyDictionary()
        """The form of each model's passes; None if they can't be sent"""
        self._paused: dict[str, float] = {}
        """Until when the service is not asked: for a model, or under "" for any"""
        self._ways: Counter[str] = Counter({"here": 0, "service": 0})
        self._failures: Counter[str] = Counter()

    def close(self) -> None:
        """Close the connections to the service."""
        self._to.close()

    def counts(self) -> tuple[dict[str, int], dict[str, int]]:
        """Return how many passes ran here and on the service, and how many requests failed, by reason."""
        with self._lock:
            return dict(self._ways), dict(self._failures)

    def run(
        self, model: PretrainedModel, ids: Sequence[int], segments: Sequence[int], decoder_ids: Sequence[int] | None
    ) -> Pass:
        """Run a pass as `model.run` does, with the same result, bit for bit."""
        found = None
        from attnviz.trace.ablation import is_replacing

        # The service has the model as it is, without heads that are replaced here.
        form = None if decoder_ids is not None or is_replacing() else self._form(model)
        if form is not None and self._may_ask(model):
            try:
                found = self._ask(model.name, form, ids, segments)
                self._resume()
            except FailedError as error:
                self._fail(model, error.why)
        with self._lock:
            self._ways["service" if found is not None else "here"] += 1
        return model.run(ids, segments, decoder_ids) if found is None else found

    def _ask(self, model: str, form: PassFormat, ids: Sequence[int], segments: Sequence[int]) -> Pass:
        from attnviz.serving.forward.passes import DamagedError

        asked = Asked(model, form.fingerprint, tuple(ids), tuple(segments))
        answer = self._to.ask(asked.to_bytes(), self._seconds, form.most_bytes(len(ids)))
        if answer.status != 200:
            raise FailedError(STATUSES.get(answer.status, "refused"))
        if not answer.is_whole:
            raise FailedError("damaged")
        try:
            return form.read(answer.body, len(ids))
        except DamagedError as error:
            raise FailedError("damaged") from error

    def _form(self, model: PretrainedModel) -> PassFormat | None:
        """Return the form of a model's passes; None if they can't be sent. Two threads may both find it."""
        from attnviz.serving.forward.passes import PassFormat, UnsendableError

        with self._lock:
            if model in self._forms:
                return self._forms[model]
        try:
            found = PassFormat.of(model)
        except UnsendableError:
            found = None
        with self._lock:
            self._forms[model] = found
        return found

    def _may_ask(self, model: PretrainedModel) -> bool:
        """Whether the service may be asked now. After a pause, one thread tries; the others wait for what it finds."""
        now = time.monotonic()
        with self._lock:
            if self._paused.get(model.name, 0) > now or self._paused.get("", 0) > now:
                return False
            if "" in self._paused:
                self._paused[""] = now + self._seconds
            return True

    def _resume(self) -> None:
        with self._lock:
            self._paused.pop("", None)

    def _fail(self, model: PretrainedModel, why: Why) -> None:
        seconds, now = PAUSES.get(why, self._pause), time.monotonic()
        with self._lock:
            self._failures[why] += 1
            self._paused = {name: until for name, until in self._paused.items() if until > now or name == ""}
            if why == "refused":
                self._paused.pop("", None)  # it answers
            self._paused[model.name if why == "refused" else ""] = now + seconds
        _log.warning("The service of forward passes failed (" + why + "); it is not asked for %d s", int(seconds))


@cache
def forward_client() -> ForwardClient | None:
    """Return this process's client, or None if the settings name no service."""
    setting = settings().forward
    return ForwardClient(transport(setting)) if setting else None


def trace(of: Model, text: str, pair: str | None) -> Trace:
    """Trace a text; a pretrained model's forward pass runs on the service, if there is one.

    Raises:
        attnviz.tokens.NoTokensError: the model's tokenizer finds no token in the text.
    """
    client = forward_client()
    if client is None:
        return of.trace(text, pair)
    from attnviz.pretrained.model import PretrainedModel

    return (
        of.trace(text, pair, run=partial(client.run, of)) if isinstance(of, PretrainedModel) else of.trace(text, pair)
    )
