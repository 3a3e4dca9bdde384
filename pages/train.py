"""Train: a small model learns a task or a text, and its attention forms on the screen."""

import streamlit as st

from attnviz.runtime.lock import page_lock
from attnviz.ui import shell, side_bar, state
from attnviz.ui.messages import starting
from attnviz.ui.train import EXPORTS

shell.begin("train", exports=EXPORTS)
with starting("train"):
    from attnviz.ui.train import commands
    from attnviz.ui.train.view import EVERY, PARTS, check_live
controls, show = PARTS[state.get("train_part")]
with side_bar.settings():
    controls()
live = commands.is_live()


@st.fragment(run_every=EVERY if live else None)
@page_lock().held()
def watch() -> None:
    """Show the trainings. A fragment, so that what the browser reports does not run the rest of the page."""
    shown_live = commands.is_live()
    show()
    state.end()
    check_live(live=live, shown_live=shown_live)


watch()
