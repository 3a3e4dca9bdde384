"""Compare: two heads, layers, models or texts side by side, and their difference."""

import streamlit as st

from attnviz.tokens import NoTokensError
from attnviz.ui import shell, state
from attnviz.ui.compare import controls as compare_controls
from attnviz.ui.compare import most_different
from attnviz.ui.compare.panes import A, B, choose_default, link_keys
from attnviz.ui.messages import starting

shell.begin("compare")
shell.text()
choose_default()
presets = st.container()
with st.sidebar:
    compare_controls.texts()
    darkening = compare_controls.shared()
left = compare_controls.choose(A)
most_different.take(left)
right = compare_controls.choose(B)
with presets:  # after the choices, because it highlights the current preset
    compare_controls.presets()
    compare_controls.sentences()
    most_different.say(left, right)
with starting("compare"):
    from attnviz.ui.compare.view import show
try:
    show(left, right, darkening)
except NoTokensError as error:
    st.info(str(error))
state.end(link_keys())
