"""When the whole page has to run again for what is computed meanwhile."""

from __future__ import annotations

import pytest

from attnviz.ui.waiting import has_changed


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
