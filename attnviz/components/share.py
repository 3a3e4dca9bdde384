"""The address of the view: copied, or drawn as a QR code. The browser knows the address; the code is computed here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import segno
import streamlit as st

from attnviz.components.packing import pack
from attnviz.components.registration import component

MOST = 2953
"""Bytes that the largest QR code holds (ISO/IEC 18004, version 40, level L)."""
TOO_LONG = f"This address is too long for a QR code, which holds {MOST:,} characters. Send the scene file instead."
NO_ADDRESS = "This is no address of a page, so there is no code for it."


def qr_modules(address: str) -> npt.NDArray[np.uint8]:
    """Return the QR code of an address, (n, n): 1 is dark. Without the quiet zone around it.

    The lowest error correction that the smallest size needs, raised where that costs no size: large modules are what
    is read from the back of a hall.

    Raises:
        ValueError: an address that is none, or longer than a code holds; the message is for the user.
    """
    if len(address.encode("utf-8", "surrogatepass")) > MOST:
        raise ValueError(TOO_LONG)
    try:
        scheme = urlsplit(address).scheme
    except ValueError:
        scheme = ""
    if scheme not in ("http", "https") or not address.isascii():
        raise ValueError(NO_ADDRESS)
    code = segno.make(address, error="l", micro=False)
    return np.array([list(row) for row in code.matrix], dtype=np.uint8)


def share(asked: str, *, key: str, on_code: Callable[[str], None]) -> None:
    """Mount the address, the button that copies it, and the QR code of `asked`, "" before one was asked for.

    `on_code(address)` is called, before the script runs again, when a code is asked for. Where the address changes
    while this is open, the script runs again too, so that what stands beside it can follow.
    """
    header: dict[str, Any] = {"address": asked, "sentence": ""}
    arrays: dict[str, npt.NDArray[Any]] = {}
    if asked:
        try:
            arrays["modules"] = qr_modules(asked)
        except ValueError as why:
            header["sentence"] = str(why)

    def wanted() -> None:
        address = st.session_state[key].code
        if isinstance(address, str):
            on_code(address)

    component("share")(data=pack(header, arrays), key=key, on_code_change=wanted, on_moved_change=lambda: None)
