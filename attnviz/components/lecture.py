"""The component on every page that handles keyboard shortcuts, lists them, and ends lecture mode.

It also stores the visitor's own lesson while the tab is open, and makes each change of page one entry in the browser's
history.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attnviz.components.registration import sent_value
from attnviz.components.updates import mount_with_updates, new_ones


def keyboard(
    lines: Sequence[dict[str, Any]],
    stored_lesson: Mapping[str, str | None],
    *,
    lecture: bool,
    in_lesson: bool,
    chapter: str,
    key: str,
    on_act: Callable[[str], None],
    on_lesson: Callable[[str], None],
) -> None:
    """Mount the keyboard handler.

    Args:
        lines: the entries of the list of shortcuts, in order: `shown` (the keys as displayed), `says` (what they do)
            and `sends` (a press such as "h" or "Shift+h" → the name of an action). If the page has a button whose
            Streamlit key is that name, it is clicked; the browser handles "pin", "listing", "theme" and "help"; every
            other action is sent to `on_act`.
        stored_lesson: `lesson`, the text of the visitor's own lesson, which the browser stores; "" deletes it. Without
            the key `lesson`, a browser that has a stored lesson sends it; with None, every browser replies, with "" if
            it has none.
        lecture: whether the page is in lecture mode, in which Esc ends it and two small buttons are shown.
        in_lesson: whether a lesson is open.
        chapter: the title of the open chapter; with another one, the browser describes the bar of places anew.
        key: the Streamlit key.
        on_act: called with the name of an action before the script reruns. The name comes from the client and is not
            validated.
        on_lesson: called in the same way with the stored lesson.
    """

    def handle_lesson() -> None:
        sent = sent_value(key, "lesson")
        if isinstance(sent, str):
            on_lesson(sent)

    def handle_acts(values: Mapping[str, object]) -> None:
        for name in new_ones(key, values.get("acts")):
            on_act(name)

    mount_with_updates(
        "lecture",
        {"lines": list(lines), "lecture": lecture, "in_lesson": in_lesson, "chapter": chapter, **stored_lesson},
        {},
        key=key,
        on_update=handle_acts,
        on_lesson_change=handle_lesson,
    )
