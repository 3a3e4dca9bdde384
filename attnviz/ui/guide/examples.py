"""The control Examples beside the text field: sentences with what they show on this page."""

from __future__ import annotations

import streamlit as st

from attnviz.lessons import Example, TextExample, gallery, text_examples
from attnviz.links.link import read_link
from attnviz.ui import state
from attnviz.ui.guide import message
from attnviz.ui.messages import plain

HEADS = ("step_by_step", "heads", "compare")
"""The pages that can show the head which an example is about"""
CHOICE = ("step_by_step", "heads")
"""Those of them that can show the text alone as well; Compare would have nothing to compare"""
_OPEN, _WITH_HEAD, _TAKEN = "examples", "examples_with_head", "examples_taken"


@st.fragment
def show_examples(page: str) -> None:
    """Show the control of a page. A fragment, so that opening it does not run the page."""
    if st.session_state.pop(_TAKEN, False):
        st.rerun()
    with st.popover("Examples", key=_OPEN, on_change="rerun") as control:
        if not control.open:
            return
        with st.container(key="example_list"):
            if page in CHOICE:
                st.toggle("Open the head that shows it", value=True, key=_WITH_HEAD)
            for number, example in enumerate(_of_page(page)):
                _offer(number, example, page)


def _of_page(page: str) -> tuple[Example | TextExample, ...]:
    return gallery() if page in HEADS else tuple(one for one in text_examples() if one.page == page)


def _offer(number: int, example: Example | TextExample, page: str) -> None:
    says = example.said if isinstance(example, Example) else example.says
    label = f"**{plain(example.title)}**  \n*{plain(example.text)}*  \n{plain(says)}"
    st.button(label, key=f"example_{number}", width="stretch", on_click=_take, args=(example, page))


def _take(example: Example | TextExample, page: str) -> None:
    st.session_state[_OPEN], st.session_state[_TAKEN] = False, True
    if isinstance(example, Example) and (page not in CHOICE or st.session_state.get(_WITH_HEAD)):
        link = example.link(page)
        state.visit(link)
        message.say(example.explained, view=read_link(link)[0])
    else:
        state.put("text", example.text)
