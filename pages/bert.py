"""Parts of BERT: from embeddings and back to classification, search, an agent's last layer, and heads left out."""

import streamlit as st

from attnviz.runtime.lock import page_lock
from attnviz.ui import shell, side_bar, state
from attnviz.ui.bert.parts import EXPORTS, open_part
from attnviz.ui.caches import failures_shown

EVERY = 0.4  # seconds between two looks at what is computed meanwhile

shell.begin("bert", exports=EXPORTS)
part = open_part()
with side_bar.settings():
    part.controls()
live = part.is_live()


@st.fragment(run_every=EVERY if live else None)
@page_lock().held()
def show() -> None:
    """Show the part. A fragment, so that what is done in it does not run the rest of the page."""
    state.check_run()
    part.begin()
    shown_live = part.is_live()
    with failures_shown():
        part.show()
    state.end()
    if state.has_changed(live, shown_live, part.is_live()):
        st.rerun()


show()
