"""What the browser components say where Streamlit doesn't know them, and what they take from the browser."""

import math
import subprocess
import sys

import pytest

from attnviz.components.registration import position
from attnviz.components.walk import walk


def test_a_component_that_streamlit_does_not_know_says_what_to_do() -> None:
    # Where no server runs, Streamlit knows of no packaged component: what a user without the install meets. In its own
    # process, because page tests in this one may have started what a server starts.
    code = "from attnviz.components.registration import mount; mount('walk', {}, {}, key='any')"
    errors = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    assert "ComponentNotFoundError" in errors
    assert "attnviz.main" in errors
    assert "pip install -e ." in errors


def test_importing_the_components_needs_no_server() -> None:
    assert callable(walk)


@pytest.mark.parametrize(("sent", "read"), [(0, 0), (7, 7), (3.0, 3), (10**6, 10**6)])
def test_a_position_is_read(sent: object, read: int) -> None:
    assert position(sent) == read
    assert isinstance(position(sent), int)


@pytest.mark.parametrize("sent", [None, -1, 2.5, True, "3", [1], {}, math.nan, math.inf])
def test_what_is_no_position_is_none(sent: object) -> None:
    assert position(sent) is None
