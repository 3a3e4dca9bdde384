"""The models that a visitor has trained or opened from a file: offered in the menus of this session."""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from attnviz.links.pages import PAGES
from attnviz.pretrained.names import ModelError
from attnviz.settings import settings
from attnviz.trained.shipped import is_kept, keep
from attnviz.ui import state
from attnviz.ui.messages import plain
from attnviz.ui.trained import opening

MOST = 12
"""The most models that are offered, the newest ones. Others are still found by their links."""
LARGEST_MB = 8
_OWN, _FILE, _REFUSED, _OPENED = "trained_own", "trained_file", "trained_refused", "trained_opened"


def names() -> tuple[str, ...]:
    """Return the names of this session's models that are still kept, the newest last."""
    return tuple(name for name in st.session_state.get(_OWN, ()) if is_kept(name))


def add(name: str) -> None:
    """Offer a model that `trained.keep` has kept."""
    others = [one for one in st.session_state.get(_OWN, ()) if one != name]
    st.session_state[_OWN] = (*others[1 - MOST :], name)


def show_upload() -> None:
    """Show the field that opens a trained model's file: where `settings().uploads` allows it."""
    most = min(LARGEST_MB, settings().largest_upload)
    st.file_uploader(
        f"Open a model's file (safetensors, up to {most} MB)", type=["safetensors"], key=_FILE, on_change=_take,
        max_upload_size=most, help="Export on the page Train makes such files. Nothing in a file is run.",
    )  # fmt: skip


def show_refusal() -> None:
    """Show why the last file was refused."""
    refused = st.session_state.get(_REFUSED)
    if refused:
        st.error(plain(refused))


def go_if_opened() -> None:
    """On a page that shows no model by name: go to the model whose file was just opened."""
    if link := st.session_state.pop(_OPENED, None):
        state.go_to_page(PAGES["step_by_step"].script, link)


def _take() -> None:
    """Keep the model of an uploaded file and choose it, or keep the reason why it is refused."""
    file = st.session_state.get(_FILE)
    st.session_state[_REFUSED] = ""
    if not isinstance(file, UploadedFile):  # no file, or one that the server does not have
        return
    try:
        if file.size > LARGEST_MB * 2**20:
            raise ModelError(f"The file has {file.size / 2**20:.1f} MB; a model's file has up to {LARGEST_MB} MB.")
        model = keep(file.getvalue())
    except ModelError as why:
        st.session_state[_REFUSED] = str(why)
        return
    add(model.name)
    if state.page() == "train":
        st.session_state[_OPENED] = {"source": "trained", "model": model.name, "step": "weights"}
        return
    before = PAGES[state.page()].trained_model(state.get)
    state.put("model", model.name)
    if state.page() != "heads":
        state.put("source", "trained")
    opening.open_chosen(before, model.name)
