"""All heads of one trace, with all that the browser shows of them: for pages of their own and notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.heads.files import Arrays, Part, list_files, write_part
from attnviz.heads.payload import explorer_payload
from attnviz.measures.survey import Survey, rolled_out, survey, survey_name
from attnviz.trace.model import Kind
from attnviz.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class AllHeads:
    """All heads of one kind of attention on a text."""

    trace: Trace
    kind: Kind
    survey: Survey

    @classmethod
    def of(cls, trace: Trace, kind: Kind) -> AllHeads:
        """Compute the survey of a trace's heads; raises KeyError if the model has no such kind of attention."""
        return cls(trace, kind, survey(trace, kind, survey_name(trace, kind)))

    def payload(self, view: Mapping[str, Any], *, acknowledged: int = 0) -> tuple[dict[str, Any], Arrays]:
        """Return the header and the arrays of the explorer; see `explorer_payload`."""
        return explorer_payload(self.trace, self.kind, self.survey, self._files[0], view, acknowledged=acknowledged)

    def names(self) -> list[str]:
        """Return the names of all files, which no file of another text or model has."""
        return list(self._files[1])

    def file(self, name: str) -> bytes:
        """Return a file as safetensors, computed now; raises KeyError if there is none of this name."""
        part = self._files[1][name]
        return write_part(part, self.trace, self.kind, survey=lambda: self.survey, rolled=lambda: self._rolled)

    @cached_property
    def _files(self) -> tuple[dict[str, Any], dict[str, Part]]:
        """What the header says of the files, and what each file has by its name."""
        named: dict[str, Part] = {}

        def name(part: Part) -> str:
            own = f"{self.survey.name}/{part.what}/{part.first}"
            named[own] = part
            return own

        return list_files(self.survey, name, rollout=self.kind != "cross"), named

    @cached_property
    def _rolled(self) -> npt.NDArray[np.float32]:
        return rolled_out(self.trace, self.kind)
