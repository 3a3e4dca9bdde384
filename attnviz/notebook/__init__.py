"""The walk and all heads as notebook widgets, for JupyterLab, VS Code, Colab and marimo.

    widget = attnviz.show("The cat sat on the mat.", layer=3, head=5, step="weights")
    widget.q, widget.k  # the cell that is pinned

It needs anywidget: `pip install "attnviz[notebook]"`. docs/notebook.md describes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from attnviz.notebook.errors import NotebookError

if TYPE_CHECKING:
    from attnviz.notebook.widgets import HeadsWidget, WalkWidget
    from attnviz.trace.model import Kind, Model
    from attnviz.trace.trace import Trace
    from attnviz.trace.walk import Walk

__all__ = ["NotebookError", "bundle", "show", "show_heads"]


def show(
    what: str | Trace | Walk,
    pair: str | None = None,
    *,
    model: str | Model = "minilm",
    kind: Kind | None = None,
    layer: int | None = None,
    head: int | None = None,
    step: str | None = None,
) -> WalkWidget:
    """Return the walk of a text, a trace or a head as a widget; `attnviz.show` describes the arguments.

    Raises:
        NotebookError: anywidget is not installed, or there is nothing to show; the message says what to do.
        attnviz.notebook.widgets.ChoiceError: there is no such layer, head or step.
    """
    with _one_sentence():
        from attnviz.notebook.heads import heads_of
        from attnviz.notebook.widgets import WalkWidget

        heads, first = heads_of(_traced(what, pair, model), kind)
        return WalkWidget(heads, **first | _given(layer=layer, head=head, step=step))


def show_heads(
    what: str | Trace,
    pair: str | None = None,
    *,
    model: str | Model = "minilm",
    kind: Kind | None = None,
    layer: int | None = None,
    head: int | None = None,
) -> HeadsWidget:
    """Return all heads of a text or a trace as a widget; `attnviz.show_heads` describes the arguments.

    Raises:
        NotebookError: as `show` does.
        attnviz.notebook.widgets.ChoiceError: there is no such layer or head.
    """
    with _one_sentence():
        from attnviz.notebook.heads import check_trace
        from attnviz.notebook.widgets import HeadsWidget

        trace = check_trace(_traced(what, pair, model), kind)
        return HeadsWidget(trace, kind or trace.kinds[0], **_given(layer=layer, head=head))


def _traced(what: Any, pair: str | None, model: str | Model) -> Any:
    """Return the trace of a text; anything else is returned unchanged."""
    if not isinstance(what, str):
        return what
    from attnviz.sources.models import open_by_name

    return (open_by_name(model) if isinstance(model, str) else model).trace(what, pair)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Raise errors about what can't be shown, and that anywidget is not installed, as NotebookError."""
    if not _is_installed():
        raise NotebookError('Widgets need anywidget: install it with `pip install "attnviz[notebook]"`.')
    from attnviz.document import DocumentError
    from attnviz.pretrained import ModelError
    from attnviz.tokens import NoTokensError

    try:
        yield
    except (ModelError, NoTokensError, DocumentError, IndexError, TypeError) as error:
        raise NotebookError(str(error)) from error


def bundle(what: Trace | Walk) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the result of IPython's `_repr_mimebundle_` for a trace or a head; None if its repr is to be shown."""
    if not _has_kernel() or not _is_installed():
        return None
    try:
        data, metadata = show(what)._repr_mimebundle_()
    except NotebookError:  # such as a text that is too long to be shown
        return None
    return {**data, "text/plain": repr(what)}, metadata


def _has_kernel() -> bool:
    """Whether Python runs in a notebook's kernel: a terminal can't show widgets."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


def _is_installed() -> bool:
    return find_spec("anywidget") is not None
