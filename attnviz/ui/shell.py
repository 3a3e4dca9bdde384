"""The shared parts of every page: style sheet, toolbar, text field, and notes about the link."""

from __future__ import annotations

from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.components.bundle import styles
from attnviz.links.pages import PAGES
from attnviz.settings import settings
from attnviz.tokens import Tokens
from attnviz.ui import state, toolbar
from attnviz.ui.guide import examples, message, surprise
from attnviz.ui.lecture import mode as lecture
from attnviz.ui.lessons import bar as lesson_bar
from attnviz.ui.plain import plain
from attnviz.ui.tokens.chips import unknown_sentence
from attnviz.ui.waiting import busy_note

CSS = """
<style>
.stMainBlockContainer { padding: 4.25rem 1.5rem 1.5rem; }
[data-testid="stSidebarHeader"] { height: 2.25rem; padding-top: 0; margin-bottom: 0; }
[data-testid="stSidebarUserContent"] { padding: 0 1rem 1rem; }
[data-testid="stSidebar"] [data-testid="stVerticalBlock"] { gap: 0.6rem; }
[data-testid="stSidebar"] textarea { padding-block: 0.15rem; } /* three whole lines */
[class*="st-key-train_"] [role="radiogroup"] :is(button, button p) { padding-inline: 0.2rem; font-size: 0.8125rem; }
:is(.st-key-source, .st-key-architecture) :is(button, button p) { padding-inline: 0.2rem; font-size: 0.8125rem; }
[data-testid="stMain"] [data-testid="stVerticalBlock"] { gap: 0.6rem; }
/* White on the dark theme's light purple can't be read. */
.stApp button[data-testid="stBaseButton-primary"] { background: #5E3C99; border-color: #5E3C99; color: #FFFFFF; }
.stMain .katex-display { margin: 0.2rem 0 0.5rem; }
.stMarkdown .katex-display { overflow: visible !important; }
.stMarkdown:has(.katex-display) { overflow: auto hidden; padding-block: 0.5rem 1rem; margin-block: -0.5rem -1rem; }
.stMain .stCode :is(pre, code) { white-space: pre-wrap !important; overflow-wrap: anywhere; }
/* Streamlit's colours of words in a listing, mixed with the text's until they can be read in both themes. */
.stCode.stCode .token:is(.keyword, .tag, .attr-name, .attr-value, .function, .class-name) {
  color: color-mix(in srgb, #1c83e1 60%, currentColor); }
.stCode.stCode .token:is(.boolean, .constant, .symbol, .number, .string, .char) {
  color: color-mix(in srgb, #21c354 50%, currentColor); }
/* Streamlit marks a link that has the focus by a pale ground only. */
.stApp.stApp a:focus-visible { outline: 2px solid color-mix(in srgb, #7E5BC0 75%, currentColor); outline-offset: -2px; }
:root {
  --walk-height: max(36rem, calc(100vh - 5.75rem)); }
@media (max-height: 560px) { :root { --walk-height: max(24rem, calc(100vh - 5.75rem)); } }
.st-key-explorer { min-height: calc(100vh - 11rem); }
.st-key-keys { position: absolute; width: 0; height: 0; }
/* The page's title. The navigation shows it, except on a phone, where it stands in the header. */
:has(> .stHtml .page-title) { position: absolute; }
.stHtml h1.page-title { position: fixed; clip-path: inset(50%); }
.notice { font-size: 0.95rem; line-height: 1.4; }
.notice .fact { opacity: 0.75; }
@media (max-width: 768px) { /* the open side bar lies over the page, its button where the title and the toolbar are */
  :root:has([data-testid="stSidebar"][data-collapsed="false"]) :is(:has(> .st-key-toolbar), h1.page-title) {
    visibility: hidden; }
}
@media (max-width: 640px) {
  :root:root:root { --walk-height: auto; } /* the page is scrolled, not the walk */
  .stMainBlockContainer { padding: 4rem 0.75rem 1rem; }
  .stHtml h1.page-title { inset: 0.72rem 11.5rem auto 3.25rem; z-index: 999991; min-height: 2.2rem;
    margin: 0; padding: 0; display: flex; align-items: center; font-size: 0.9rem; line-height: 1.2; clip-path: none; }
  :root:has(.st-key-tour_start) .stHtml h1.page-title { right: 14.4rem; }
  .stMain .katex-display > .katex { font-size: min(1.21em, 4.3vw); }
}
</style>
"""


def begin(page: str, *, with_text: bool = True, exports: toolbar.Tabs = toolbar.NONE) -> DeltaGenerator:
    """Begin a page: read the link, handle shortcuts, show the toolbar and the text field.

    A page that calls `text_field` itself says so with `with_text`; `exports` are tabs of Export of its own. Returns the
    place of the text field.
    """
    state.begin(page)
    state.adopt("text")
    st.set_page_config(page_title=PAGES[page].tab_title)
    st.html(f'<h1 class="page-title">{escape(PAGES[page].title)}</h1>')
    st.html(f"{CSS}{toolbar.CSS}{examples.CSS}<style>{styles('marks/marks.css')}</style>")
    toolbar.show(page, exports)
    lecture.begin(page)
    for sentence in state.notes():
        st.warning(plain(sentence), icon=":material/link:")
    busy_note()
    lesson_bar.show(page)
    place = _text_of(page, with_field=with_text) if "text" in PAGES[page].keys else st.container()
    message.show()
    return place


def _text_of(page: str, *, with_field: bool) -> DeltaGenerator:
    """Show the text field, or return its place only, with the buttons beside it."""
    with st.sidebar, st.container(key="text_field"):
        place = st.container(key="text_place")
        if with_field:
            text_field(place)
        _text_tools(page)
    return place


def text_field(place: DeltaGenerator) -> None:
    """Show the text field in its place. In a fragment, a new text runs the page if more of it tells of the text."""
    before = state.get("text")
    with place:
        value = state.bound(
            "text", st.text_area, "Text", height=88, max_chars=settings().largest_text, placeholder="Type a sentence"
        )
    if value != before and state.in_fragment() and (state.notes() or state.is_elsewhere() or message.is_about(before)):
        st.rerun()


def _text_tools(page: str) -> None:
    """Show example sentences, and on pages with heads the button "Surprise me"."""
    with st.container(key="text_tools", horizontal=True, gap="xxsmall"):
        if page in surprise.PAGES:
            surprise.show_button(page)
        if page != "lessons":  # it has a tab of them
            examples.show_examples(page)


def text() -> str:
    """Return the text. If it is blank, show what to do and end the page."""
    value: str = state.get("text")
    if not value.strip():
        where = "on the left (on a phone, behind the » at the top)"
        if state.get("lecture"):  # lecture mode has no sidebar
            where = "after pressing L"
        st.info(f"Type a sentence {where} to see what attention does with it.")
        state.end(("text",))
        st.stop()
    return value


def token_notes(tokens: Tokens) -> None:
    """Warn about dropped and unknown tokens."""
    if tokens.dropped:
        st.warning(f"Only the first {len(tokens)} tokens are used; {tokens.dropped} were dropped.")
    unknown = unknown_sentence(tokens)
    if unknown:
        st.warning(plain(unknown[0].upper() + unknown[1:] + "."))
