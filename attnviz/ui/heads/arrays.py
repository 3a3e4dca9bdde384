"""The files with the weights of all heads of a text, offered to the browser (see `runtime.arrays`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from attnviz.heads.all_heads import Part, list_files, write_part
from attnviz.measures.survey import Survey, survey_name
from attnviz.pretrained import ModelError
from attnviz.runtime.arrays import NotOfferedError, array_store
from attnviz.tokens import NoTokensError
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace
from attnviz.ui import caches


@dataclass(frozen=True, slots=True)
class Heads:
    """All heads of one kind of attention on a text, by their names: no tensors, so an offer may hold it."""

    model: str
    text: str
    pair: str | None
    kind: Kind
    name: str
    """`survey_name` of the trace"""

    def trace(self) -> Trace:
        """Return the trace, from the cache or computed again.

        Raises:
            NotOfferedError: the model can't be loaded any more, or gives other numbers now.
        """
        try:
            trace = caches.trace(caches.named(self.model), self.text, self.pair)
        except (ModelError, NoTokensError) as error:
            raise NotOfferedError from error
        if survey_name(trace, self.kind) != self.name:
            raise NotOfferedError
        return trace

    def write(self, part: Part) -> bytes:
        """Return a file; raises as `trace` does."""
        trace = self.trace()
        return write_part(
            part,
            trace,
            self.kind,
            survey=lambda: caches.survey(trace, self.kind, self.name),
            rolled=lambda: caches.rolled_out(trace, self.kind, self.name),
        )


def offer_arrays(of: Heads, survey: Survey, *, rollout: bool) -> dict[str, Any]:
    """Offer all files; return for the browser which of them has what, by their digests (see `list_files`)."""
    store = array_store()

    def offer(part: Part) -> str:
        # Thumbnails compress well; weights hardly do.
        compress = part.what == "shared" and not part.heads
        return store.offer(("heads", of.model, of.kind, of.name, *part), partial(of.write, part), compress=compress)

    return list_files(survey, offer, rollout=rollout)
