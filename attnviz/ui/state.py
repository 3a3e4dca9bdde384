"""The view of one session: read from the link, changed by widgets, written back to the link.

A page calls `begin(its name)` first and `end(...)` last. In between, `bound("layer", st.selectbox, ...)` creates a
widget whose value is stored in the view, so it survives a change of page. Callbacks change values with `put(...)`.

Every message from the browser contains the link in its address bar. With quick key presses or a slow connection, a
message may contain an older link than the one that the server has written last. Such a link must not undo newer
changes. So the session keeps the pending links, which the browser may still show, newest last. A message with the
newest link acknowledges it, and the older ones are dropped.

The link of a chapter on another page has only the name of a part. It opens that part, and the rest of the view stays.

Streamlit marks messages caused by the browser's back and forward buttons. But the mark is lost if another action
overtakes the message, and no message is sent without a connection. The next message then contains the link to which the
user went, without the mark; on Step by step, it may be a link that only the browser has written. It is read because it
is not a pending link.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from attnviz.components.registration import position
from attnviz.formatting import does_not_exist
from attnviz.links.link import KEYS, SHARED_KEYS, write_link
from attnviz.links.pages import PAGES
from attnviz.links.values import BadValueError
from attnviz.tokens import place_in_another
from attnviz.ui.messages import plain

_MAX_PENDING = 20
"""The most pending links"""
R = TypeVar("R")
V = TypeVar("V")
_run = threading.local()
"""Caches the record during a run (each run has its own thread), because reading Streamlit's session state is slow."""


@dataclass(frozen=True, slots=True)
class PinnedToken:
    """An index of the view that counts the tokens of a text."""

    index: int
    labels: tuple[str, ...]
    """The labels of all tokens"""
    is_default: bool
    """Whether nobody has chosen it"""


@dataclass(slots=True)
class ViewRecord:
    """The session's view."""

    page: str = ""
    """The name of the current page"""
    view: dict[str, Any] = field(default_factory=dict)
    """The values by their link keys"""
    notes: list[str] = field(default_factory=list)
    """Notes on rejected values of the link"""
    notes_place: DeltaGenerator | None = None
    """Where the page shows them"""
    links: list[dict[str, str]] = field(default_factory=list)
    """The links that the browser may still show, the newest last; none before the first run"""
    opened_view: dict[str, Any] | None = None
    """The view at the end of the first run with a link; None until then"""
    opened_links: int = 0
    """How many links the session has opened"""
    is_explicit: bool = False
    """Whether the code has navigated to a link, which `begin` then reads even if it is a pending one"""
    is_bare: bool = False
    """Whether the view was read from a bare address (`Page.is_bare`)"""
    runs_page: bool = False
    """Whether a callback of a fragment has changed values that other parts of the page show"""
    pinned: dict[str, PinnedToken] = field(default_factory=dict)
    """By their keys, the tokens that the view has an index of, as the last run has shown them"""
    replaced: dict[str, dict[str, tuple[Any, Any]]] = field(default_factory=dict)
    """By reason, the changes by `replace`: the values before and after, by their keys"""


def record(kind: type[R], name: str = "") -> R:
    """Return the session's record of type `kind`, a dataclass whose fields have defaults; `name` allows several."""
    key = record_key(kind, name)
    if key not in st.session_state:
        st.session_state[key] = kind()
    kept: R = st.session_state[key]
    return kept


def record_key(kind: type[object], name: str = "") -> str:
    """Return the key of a record in Streamlit's session state."""
    return f"{kind.__module__}.{kind.__qualname__} {name}".rstrip()


@dataclass(slots=True)
class Last(Generic[V]):
    """A field of a record: the last result of some work, which is kept until a result for another key replaces it."""

    kept: tuple[Hashable, V] | None = None
    """What the result depends on, and the result; None if there is none"""

    def of(self, key: Hashable) -> V | None:
        """Return the result if it is the one for this key."""
        return self.kept[1] if self.kept is not None and self.kept[0] == key else None

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the result for this key, which is made unless it is the last one. A failure keeps the last one."""
        if self.kept is None or self.kept[0] != key:
            self.kept = key, make()
        return self.kept[1]


def begin(page: str) -> None:
    """Read the view from the address bar on the first run, and when the browser has opened another link."""
    _run.of = None
    kept = _kept()
    page_changed = kept.page != page
    if page_changed:
        _forget_widgets()
    kept.notes_place = None
    query, links, explicit, opened = _query(), kept.links, kept.is_explicit, kept.opened_links
    is_bare = PAGES[page].is_bare(query)
    is_own = bool(links) and not explicit
    part = PAGES[page].part_of(query) if is_own and page_changed and not _went() else None
    if part is not None:
        _change_part(page, part)
    is_known = part is not None or (is_own and _is_known(query, links, page_changed))
    opens_first_view = is_bare and page_changed and bool(PAGES[page].opening) and _is_untouched()
    if is_known and not opens_first_view:
        if kept.notes and kept.opened_view is not None and (kept.opened_view != kept.view or _is_changed_by_widget()):
            kept.notes = []  # the user has changed the view since
        acknowledges = not page_changed and query == links[-1]
        pending = [*links, query] if page_changed else links[-1:] if acknowledges else links
    else:
        # Streamlit clears the query when the page changes; what all pages share stays.
        shared = write_link(kept.view, SHARED_KEYS) if is_known else {}
        kept.view, kept.notes = PAGES[page].read(PAGES[page].opened({**shared, **query}))
        kept.is_bare, kept.opened_view, kept.pinned = is_bare, None, {}
        _forget_widgets()
        pending = [*links, query] if page_changed or explicit else [query]
        opened += 1
    # Set these last: Streamlit may stop a run at any access to its state, and then the next run repeats all of this.
    kept.links, kept.page, kept.is_explicit, kept.opened_links = pending, page, False, opened


def _forget_widgets() -> None:
    """Forget the values of widgets, which are those of another view or page: their keys are the same here."""
    for name in KEYS:
        st.session_state.pop(name, None)


def _is_untouched() -> bool:
    """Whether the session began with a bare address, and the user has changed nothing of the view since."""
    view, opened = _kept().view, _kept().opened_view
    return _kept().is_bare and opened is not None and {**opened, **{name: view[name] for name in SHARED_KEYS}} == view


def _is_changed_by_widget() -> bool:
    """Whether the browser has sent a value of a widget that the view does not have yet: `bound` takes it later."""
    return any(st.session_state.get(name, value) != value for name, value in _kept().view.items())


def _query() -> dict[str, str]:
    """Return the view's keys in the address bar."""
    return {name: value for name, value in st.query_params.to_dict().items() if name in KEYS}


def _is_known(query: Mapping[str, str], links: Sequence[Mapping[str, str]], page_changed: bool) -> bool:
    """Whether this session wrote the link: it is the newest one, or an earlier pending one.

    Streamlit clears the query when the page changes. A link from the browser's history counts as a new one.
    """
    if page_changed:
        return not _went() and (not query or query == links[-1])
    return query == links[-1] or (query in links and not _went())


def _went() -> bool:
    """Whether the browser's history has opened the link."""
    # An attribute of the Streamlit version that pyproject.toml allows; without it, each link counts as a new one.
    return bool(getattr(get_script_run_ctx(suppress_warning=True), "is_history_navigation", True))


def _change_part(page: str, part: str) -> None:
    shown = PAGES[page]
    if part != get(shown.part_key):
        for name in shown.of_a_part:
            put(name, KEYS[name].default)
        put(shown.part_key, part)


def open_part(part: str) -> None:
    """Show another part of the current page, from a callback. What both parts have in common stays."""
    _change_part(page(), part)


def _kept() -> ViewRecord:
    run = get_script_run_ctx(suppress_warning=True)
    if run is None or getattr(_run, "of", None) is not run:
        _run.of, _run.kept = run, record(ViewRecord)
    kept: ViewRecord = _run.kept
    return kept


def page() -> str:
    """Return the name of the current page."""
    return _kept().page


def get(name: str) -> Any:
    """Return the view's value of this key."""
    return _kept().view[name]


def every() -> dict[str, Any]:
    """Return all values of the view by their keys."""
    return dict(_kept().view)


def is_default(name: str) -> bool:
    """Whether the view has the default value of this key."""
    return bool(get(name) == KEYS[name].default)


def is_asked(name: str) -> bool:
    """Whether a value was chosen: it is not the default, or the link being opened contains the key."""
    return not is_default(name) or (is_opening_link() and name in st.query_params)


def sync_widget(name: str) -> None:
    """Update the view from a widget that this run creates late, for the parts of the page before it."""
    if name in st.session_state:
        _kept().view[name] = _checked(name, st.session_state[name], None)


def in_fragment() -> bool:
    """Whether this is a run of a fragment, not of the whole page."""
    return bool(getattr(get_script_run_ctx(suppress_warning=True), "fragment_ids_this_run", None))


def run_page() -> None:
    """Request a run of the whole page, from a callback of a fragment that calls `check_run`."""
    _kept().runs_page = True


def check_run() -> None:
    """Run the whole page if a callback has requested it."""
    if _kept().runs_page:
        _kept().runs_page = False
        st.rerun()


def has_changed(page: bool, shown: bool, now: bool) -> bool:
    """Whether the whole page has to run again; only a run of the page sets how often its fragment runs.

    Args:
        page: whether a computation for the visitor was in progress when the whole page ran.
        shown: whether it was in progress when the fragment began to run; the fragment may show this state.
        now: whether it is in progress after the fragment has run. A short computation can begin and end between two
            runs: if only `page` and `now` were compared, the fragment would show its beginning forever.
    """
    return shown != page or now != page


def is_elsewhere() -> bool:
    """Whether the address bar has a link that this session has not written, and that `begin` will read."""
    return _query() not in _kept().links


def put(name: str, value: Any) -> None:
    """Set a value, from a callback or before its widget is created."""
    _kept().view[name] = value
    _kept().pinned.pop(name, None)
    if name in st.session_state:
        st.session_state[name] = value


def replace(reason: str, values: Mapping[str, Any]) -> None:
    """Set values by their link keys, from a callback; `give_back` with the same reason undoes this."""
    _kept().replaced[reason] = {name: (get(name), value) for name, value in values.items()}
    for name, value in values.items():
        put(name, value)


def give_back(reason: str) -> bool:
    """Restore the values before the last `replace` for this reason, except those that the user has changed since.

    Returns whether there was anything to restore.
    """
    replaced = _kept().replaced.pop(reason, {})
    for name, (before, value) in replaced.items():
        if get(name) == value:
            put(name, before)
    return bool(replaced)


def apply_from_browser(values: Mapping[str, object], names: Iterable[str]) -> None:
    """Apply the values that a browser component has sent for these keys; ignore values that no link could contain."""
    for name in names:
        if name not in values:
            continue
        sent, default = values[name], KEYS[name].default
        if isinstance(sent, bool) and not isinstance(default, bool):
            continue
        with suppress(BadValueError):
            # Links never contain defaults, and some can't be read from one: None, "".
            put(name, default if sent == default else KEYS[name].read(_written(sent)))


def expect_link(values: Mapping[str, object], names: Iterable[str]) -> None:
    """Register the link that the browser itself has written for the values passed to `apply_from_browser`.

    Further actions of the user may arrive with this address before a run has written it. It must then count as a
    pending link: if it counted as a newly opened link, it would undo those actions.
    """
    page, links = PAGES[_kept().page], _kept().links
    view, _ = page.read(page.opened(links[-1]))
    view |= {name: get(name) for name in names if name in values}
    link = page.write(view, (*page.link_keys(view["source"]), *SHARED_KEYS))
    _kept().links = [*links, link][-_MAX_PENDING:]


def _written(sent: object) -> str:
    """Write a value from the browser in the format of a link; "" for a value that no link can contain."""
    if isinstance(sent, bool):
        return "1" if sent else "0"
    number = position(sent)
    return sent if isinstance(sent, str) else "" if number is None else str(number)


def choose_head(layer: int, head: int) -> None:
    """Show only this head: on Heads, without the rollout and other heads."""
    for name, value in (("layer", layer), ("head", head), ("rollout", False), ("chosen", ())):
        put(name, value)


def visit(link: Mapping[str, str]) -> None:
    """Open a link to the current page, from a callback. It replaces the whole view."""
    others = {name: value for name, value in st.query_params.to_dict().items() if name not in KEYS}
    st.query_params.from_dict({**others, **link})
    _kept().is_explicit = True


def go_to_page(script: Path, link: Mapping[str, str]) -> NoReturn:
    """Open a link to any page, during a run of the script; `script` is the page's file."""
    _kept().is_explicit = True
    st.switch_page(script, query_params=link)


def link() -> dict[str, str]:
    """Return the view's link that `end` has written last; a message from the browser may contain an older one.

    The link describes the view completely, even if the address is bare.
    """
    return PAGES[_kept().page].opened(_kept().links[-1])


def opened_links() -> int:
    """Return how many links the session has opened: by an address, the browser's history, or `visit`."""
    return _kept().opened_links


def _link_of_view(names: Iterable[str] | None) -> dict[str, str]:
    page = PAGES[_kept().page]
    return page.write(_kept().view, (*(page.link_keys(get("source")) if names is None else names), *SHARED_KEYS))


def is_opening_link() -> bool:
    """Whether the page is opening a link: no run has completed since the link was read."""
    return _kept().opened_view is None


def opened_bare() -> bool:
    """Whether the view was read from a bare address (`Page.is_bare`); `end` may have written its keys since."""
    return _kept().is_bare


def reopen_link() -> None:
    """Treat the link as just opened, from a callback, because data that it needs has become available."""
    _kept().opened_view = None


def notes() -> list[str]:
    """Return the notes on rejected values of the link, until the user changes the view."""
    return list(_kept().notes)


def show_notes() -> None:
    """Show the notes on the link here, in one line; `note` adds to it."""
    _kept().notes_place = st.empty()
    _write_notes()


def _write_notes() -> None:
    place = _kept().notes_place
    if notes() and place is not None:
        place.warning(plain(" ".join(notes())), icon=":material/link:")


def note(sentence: str) -> None:
    """Show a sentence about the link, in this run and the following ones.

    Nothing is shown unless a link is being opened: after a change by the user, there is no rejected link to explain.
    """
    if not is_opening_link():
        return
    _kept().notes.append(sentence)
    _write_notes()


def bound(name: str, widget: Any, *args: Any, among: Sequence[Any] | None = None, **kwargs: Any) -> Any:
    """Create a widget for the view's `name` and return its value; `widget` is e.g. `st.selectbox`.

    The widget's Streamlit key is `name`, so its CSS class is `.st-key-<name>`. `among` lists the options if the widget
    accepts no other value.
    """
    if name not in st.session_state:
        st.session_state[name] = get(name)
    value = _checked(name, widget(*args, key=name, **kwargs), among)
    if value is None and kwargs.get("required"):  # only a client other than the app's own page sends None
        value = get(name)
    _kept().view[name] = value
    return value


def _checked(name: str, value: Any, among: Sequence[Any] | None) -> Any:
    """Return a widget's value if a link could contain it, else the view's value: clients may send any value."""
    key, current = KEYS[name], get(name)
    if value is None:  # empty, which is valid only for some keys
        return None if key.default is None else current
    try:
        checked = value if value == key.default else key.read(key.write(value))
    except BadValueError:
        return current
    return checked if among is None or checked in among else current


def choice(name: str, widget: Any, label: str, options: Iterable[Any] | None = None, **kwargs: Any) -> Any:
    """Create a widget with `options`, by default all values of the key. They are shown with the key's titles, if any.

    A value that is not an option is reset by `keep_within`.
    """
    titles = KEYS[name].titles
    options = list(titles if options is None else options)
    if titles:
        kwargs.setdefault("format_func", titles.__getitem__)
    if get(name) is not None:
        keep_within(name, label, options)
    return bound(name, widget, label, options, among=options, **kwargs)


def keep_within(name: str, label: str, options: Sequence[Any]) -> None:
    """Reset the view's value of this key if it is not an option, with a note."""
    if get(name) not in options:
        note(does_not_exist(f"{label} {get(name)}", options[-1], options[0]))
        put(name, KEYS[name].default if KEYS[name].default in options else options[0])


def keep_index(name: str, what: str, count: int, there: str = "they go from") -> int | None:
    """Return the view's index of this key, or None. If it is not below `count`, reset it to None, with a note.

    Args:
        name: the key, whose value may be None.
        what: the subject of the note, such as "The pinned row".
        count: how many there are.
        there: the words of the note before the range, such as "0 to 4".
    """
    index: int | None = get(name)
    if index is None or index < count:
        return index
    note(does_not_exist(f"{what} {index}", count - 1, choices=there))
    put(name, None)
    return None


def keep_token(
    name: str, what: str, labels: Sequence[str], there: str = "they go from", default: Callable[[], int] | None = None
) -> int | None:
    """Return the view's index of a token. It follows the token when the user changes the text or the model.

    Without an index, it is the default one, which follows nothing: for another text it is computed anew.

    Args:
        name: the key, whose value may be None.
        what: the subject of the note where a link has an index that these tokens don't have.
        labels: of all tokens.
        there: the words of that note before the range.
        default: returns the index where the view has none; without it, None.
    """
    sync_widget(name)
    index: int | None = get(name)
    labels, before = tuple(labels), _kept().pinned.get(name)
    if before is not None and index == before.index and labels != before.labels:
        put(name, None if before.is_default else place_in_another(before.index, before.labels, labels))
    index = keep_index(name, what, len(labels), there)
    is_default = index is None or (before is not None and before.is_default and index == before.index)
    if index is None and default is not None:
        index = default()
        put(name, index)
    if index is not None:
        _kept().pinned[name] = PinnedToken(index, labels, is_default)
    return index


def keep_pin(
    rows: Sequence[str], columns: Sequence[str], who_has: str = "this text has"
) -> tuple[int | None, int | None]:
    """Return the pinned row and column of the view (`keep_token`). One that the picture does not have is reset.

    Args:
        rows: the labels of the picture's rows.
        columns: and of its columns.
        who_has: the words of the note on a reset pin.
    """
    row, column = (
        keep_token(name, f"The pinned {axis}", labels, f"{who_has} {axis}s")
        for name, axis, labels in (("q", "row", rows), ("k", "column", columns))
    )
    return row, column


def end(names: Iterable[str] | None = None) -> None:
    """Write the view to the address bar: the keys of the page's links, or only `names` of them, and `SHARED_KEYS`."""
    new = _link_of_view(names)
    links, query = _kept().links, _query()
    if query == links[-1] and in_fragment():  # otherwise `begin` has done this
        links = links[-1:]
    if links != [new]:  # if another link is pending, this one must follow it
        current = st.query_params.to_dict()
        others = {name: value for name, value in current.items() if name not in KEYS}
        # For the same link, keep the order of its keys: another order would add an entry to the browser's history.
        st.query_params.from_dict(current if query == new else {**others, **new})
        links = [*links, new][-_MAX_PENDING:]
    _kept().links = links
    if is_opening_link():
        _kept().opened_view = dict(_kept().view)
