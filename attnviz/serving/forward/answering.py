"""The service without Ray: what it answers to a request."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attnviz.pretrained import load
from attnviz.pretrained.model import PretrainedModel
from attnviz.serving.forward.messages import Answer, Asked, RequestError
from attnviz.serving.forward.passes import PassFormat, UnsendableError


@dataclass(frozen=True, slots=True, eq=False)
class _Served:
    model: PretrainedModel
    form: PassFormat


class Answering:
    """Answers requests, with one copy of each of its models."""

    def __init__(self, names: Sequence[str]) -> None:
        """Load the models.

        Raises:
            attnviz.pretrained.ModelError: one can't be loaded.
            UnsendableError: the passes of one can't be sent.
        """
        self._served: Mapping[str, _Served] = {
            model.name: _Served(model, PassFormat.of(model)) for model in map(load, names)
        }

    def check(self, body: bytes) -> Asked | Answer:
        """Return the request that a body holds, or why it is refused."""
        try:
            asked = Asked.read(body)
        except RequestError as error:
            return Answer.refused(400, str(error))
        served = self._served.get(asked.model)
        if served is None:
            return Answer.refused(404, "this model is not served here")
        if asked.fingerprint != served.form.fingerprint:
            return Answer.refused(409, "this model gives other numbers here")
        most, vocabulary = served.model.max_tokens, served.model.description.vocabulary or 0
        if not 1 <= len(asked.ids) <= most or len(asked.segments) != len(asked.ids):
            return Answer.refused(400, f"from 1 to {most} ids, and as many segments")
        if not all(0 <= one < vocabulary for one in asked.ids) or not all(0 <= one <= 1 for one in asked.segments):
            return Answer.refused(400, f"ids are below {vocabulary}, segments 0 or 1")
        return asked

    def run(self, asked: Asked) -> Answer:
        """Return the pass that a checked request asks for; an error of it is no other request's."""
        served = self._served[asked.model]
        try:
            return Answer.of(200, served.form.write(served.model.run(asked.ids, asked.segments, None)))
        except UnsendableError as error:
            return Answer.refused(422, str(error))
        except Exception as error:  # whatever the model's code raises
            logging.getLogger(__name__).error("A forward pass failed: %s", type(error).__name__)
            return Answer.refused(500, "the pass failed")
