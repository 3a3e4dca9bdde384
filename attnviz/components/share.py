"""The share component: the view's address to copy, and its QR code, which is computed on the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import segno

from attnviz.components.registration import mount, sent_value

MAX_BYTES = 2953
"""The capacity of the largest QR code (ISO/IEC 18004, version 40, level L)."""
TOO_LONG = f"This address is too long for a QR code, which holds {MAX_BYTES:,} characters. Send the scene file instead."
NO_ADDRESS = "This is no address of a page, so there is no code for it."


def qr_modules(address: str) -> npt.NDArray[np.uint8]:
    """Return the QR code of an address, (n, n), 1 = dark, without the quiet zone.

    It has the smallest size, and the highest error correction that fits into it: large modules can be read from the
    back of a lecture hall.

    Raises:
        ValueError: the address is invalid or too long; the message is for the user.
    """
    if len(address.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ValueError(TOO_LONG)
    try:
        scheme = urlsplit(address).scheme
    except ValueError:
        scheme = ""
    if scheme not in ("http", "https") or not address.isascii():
        raise ValueError(NO_ADDRESS)
    code = segno.make(address, error="l", micro=False)
    return np.array([list(row) for row in code.matrix], dtype=np.uint8)


def share(requested: str, *, host: str = "", key: str, on_code: Callable[[str], None]) -> None:
    """Mount the address, a button that copies it, and the QR code of `requested`; "" before the user requests one.

    `host` is the server's address for other machines, or "".

    `on_code(address)` is called before the script reruns when the user requests a code. The script also reruns if the
    address changes while the component is open, so that the rest of the dialog is updated.
    """
    header: dict[str, Any] = {"address": requested, "sentence": "", "host": host}
    arrays: dict[str, npt.NDArray[Any]] = {}
    if requested:
        try:
            arrays["modules"] = qr_modules(requested)
        except ValueError as error:
            header["sentence"] = str(error)

    def handle_request() -> None:
        address = sent_value(key, "code")
        if isinstance(address, str):
            on_code(address)

    mount("share", header, arrays, key=key, on_code_change=handle_request, on_moved_change=lambda: None)
