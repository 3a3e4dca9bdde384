"""Compare: two heads, layers, models or texts side by side, and their difference."""

import streamlit as st

from attnviz.tokens import NoTokensError
from attnviz.ui import shell, side_bar
from attnviz.ui.compare import panes
from attnviz.ui.compare.panes import A, B
from attnviz.ui.messages import starting

shell.begin("compare")
shell.text(panes.link_keys())
panes.choose_default()
presets = st.container()
with side_bar.settings():
    darkening = panes.shared()
row = st.container(key="panes", horizontal=True, gap="small")
left = panes.choose(A, row)
panes.take_most_different(left)
right = panes.choose(B, row)
with presets:  # after the choices, because it highlights the current preset
    panes.presets()
    panes.sentences()
    panes.show_most_different(left, right)
with starting("compare"):
    from attnviz.ui.compare.view import show
try:
    show(left, right, darkening)
except NoTokensError as error:
    st.info(str(error))
panes.end()
