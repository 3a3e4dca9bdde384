"""The style sheet of the search, and the text of sentences in it."""

from __future__ import annotations

ISOLATE, END = "\u2068", "\u2069"
"""Between them a text has the direction of its own first letter, and moves nothing around it"""
CONTROLS = dict.fromkeys(map(ord, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"))
"""What else changes the direction of a text"""

CSS = """
<style>
.st-key-search_text_from [role="radiogroup"] :is(button, button p) { padding-inline: 0.2rem; font-size: 0.8125rem; }
.st-key-search_ask .st-key-find { flex: 1 1 16rem; }
[class*="st-key-hit_"] button { justify-content: flex-start; min-height: 0; padding: 0.2rem 0.5rem; }
[class*="st-key-hit_"] button :is(div, span) { width: 100%; }
[class*="st-key-hit_"] button p { text-align: left; line-height: 1.3; overflow-wrap: anywhere; }
.stMain [class*="st-key-hits_"] [data-testid="stVerticalBlock"], .stMain [class*="st-key-hits_"] { gap: 0.15rem; }
</style>
"""


def isolated(sentence: str) -> str:
    """Return a sentence that is shown amid other text: right-to-left ones don't turn what stands around them."""
    return f"{ISOLATE}{sentence.translate(CONTROLS)}{END}"
