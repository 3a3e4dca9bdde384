"""From averages to attention: why a softmax of scores, starting from a plain mean."""

import streamlit as st

from attnviz.runtime.lock import page_lock
from attnviz.tokens import NoTokensError
from attnviz.ui import controls, shell, side_bar, state
from attnviz.ui.averages import OF_THE_TOY, leave_out_positions, show_ways


@st.fragment
@page_lock().held()
def ways() -> None:
    """Show the ways. A fragment, so that what the browser reports does not run the rest of the page."""
    try:
        show_ways()
    except NoTokensError as error:
        st.info(str(error))
    state.end()


shell.begin("averages")
leave_out_positions()
with side_bar.settings():
    controls.token_controls(controls.ADDED_POSITIONS)
    controls.seed()
    st.caption(OF_THE_TOY)
shell.text()
ways()
