"""What is shown during a wait, and when the whole page has to run again for what is computed meanwhile."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.ui.waiting import has_changed, progress_bar


@pytest.mark.parametrize(
    ("page", "shown", "now", "expected"),
    [
        (False, False, False, False),
        (True, True, True, False),
        (False, False, True, True),  # it has begun
        (True, True, False, True),  # it has ended
        (False, True, False, True),  # it has begun, was shown, and has ended: what is shown is its beginning
        (True, False, False, True),
    ],
)
def test_the_page_runs_where_what_it_showed_has_changed(page: bool, shown: bool, now: bool, expected: bool) -> None:
    assert has_changed(page, shown, now) is expected


def test_long_work_has_a_bar_while_it_goes_on() -> None:
    def page() -> None:
        import streamlit as st

        from attnviz.ui.waiting import progress_bar

        with progress_bar(1200, "texts are read") as on_slice:
            on_slice(0, 0)
            on_slice(600, 0)
        st.write("done")

    at = AppTest.from_function(page).run()
    assert [one.value for one in at.markdown] == ["done"] and not at.get("progress")


def test_a_bar_says_how_much_is_done() -> None:
    def page() -> None:
        from unittest.mock import patch

        import streamlit as st
        from streamlit.delta_generator import DeltaGenerator

        from attnviz.ui.waiting import progress_bar

        said: list[tuple[float, str]] = []
        with (
            patch.object(DeltaGenerator, "progress", lambda _, done, words: said.append((done, words))),
            progress_bar(1200, "texts are read") as on_slice,
        ):
            on_slice(0, 2)
            on_slice(600, 1)
            on_slice(1201, 0)
        st.session_state["said"] = said

    at = AppTest.from_function(page).run()
    assert at.session_state["said"] == [
        (0.0, "0 of 1,200 texts are read …"),
        (0.5, "600 of 1,200 texts are read …"),
        (1.0, "1,201 of 1,200 texts are read …"),
    ]


def test_without_a_page_nothing_is_shown() -> None:
    with progress_bar(3, "texts are read") as on_slice:
        on_slice(1, 0)
