"""A model that was trained here, opened by a link: the numbers that are read are torch's."""

from __future__ import annotations

from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.app.test_trained_models import TEXT, weights
from tests.browser.board import cells, matrix
from tests.browser.settings import open_settings
from tests.browser.settle import settled, settled_at

pytestmark = pytest.mark.page("one_page")


def test_a_weight_of_the_induction_head_is_read_and_compared_with_torch(page: Page, app_url: str) -> None:
    link = urlencode({"source": "trained", "model": "induction", "text": TEXT, "step": "weights"})
    settled_at(page, f"{app_url}/?{link}")
    open_settings(page)
    page.get_by_role("button", name="Layer 1, head 0: looks at what came after").click()
    settled(page)
    expected = weights(1, 0)
    np.testing.assert_allclose(np.nan_to_num(matrix(page, "weights")), expected, rtol=0, atol=1e-5)
    shown = cells(page, "weights")
    np.testing.assert_allclose(shown, expected[np.tril_indices(len(expected))], rtol=0, atol=0.0051)
    expect(page.locator(".st-key-trained_card")).to_contain_text("looks at what came after the same letter")
    assert "layer=1" in page.url
