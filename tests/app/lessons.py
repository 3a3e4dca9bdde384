"""What the bar of an open lesson says, and the address of a page."""

from __future__ import annotations

import re
from html import unescape

from streamlit.testing.v1 import AppTest


def link(at: AppTest) -> dict[str, str]:
    return dict(at.query_params)


def bar(at: AppTest) -> str:
    """Return what the bar says; empty where there is no bar."""
    bodies = [html.proto.body for html in at.get("html")]
    said = "".join(body for body in bodies if "lesson-says" in body and "<style>" not in body)
    tags = re.findall("<[^>]*>", said)
    assert all(re.fullmatch('</?(div|b|span)( class="(lesson-says|marked)"[^<>]*)?>', tag) for tag in tags), tags
    return unescape(re.sub("<[^>]*>", "", said))
