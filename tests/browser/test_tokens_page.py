"""The Tokens page in a real browser: what is painted, that text stays text, and what a link brings back."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.settings import open_settings, type_text
from tests.browser.settle import settled, settled_at, settled_once_at, still

KINDS = ("char", "word", "bert")

pytestmark = pytest.mark.page("one_page")


def open_tokens(page: Page, app_url: str, **query: str) -> Page:
    return settled_at(page, f"{app_url}/tokens?" + "&".join(f"{name}={quote(value)}" for name, value in query.items()))


def chips(page: Page, kind: str) -> Locator:
    return page.locator(f".st-key-strip_{kind} .tv-chip")


def pieces(page: Page, kind: str) -> list[str]:
    return page.locator(f".st-key-strip_{kind} .tv-piece").all_inner_texts()


def typed(page: Page, text: str) -> None:
    before = page.url
    type_text(page, text)
    settled_once_at(page, lambda url: url != before)


def test_pieces_stand_over_their_ids(page: Page, app_url: str) -> None:
    open_tokens(page, app_url, text="Hello worlds")
    assert pieces(page, "char") == list("Hello␣worlds")
    assert pieces(page, "word") == ["Hello", "worlds"]
    assert pieces(page, "bert") == ["[CLS]", "hello", "worlds", "[SEP]"]
    hello = chips(page, "bert").nth(1)
    assert hello.locator(".tv-id").inner_text() == "7592"
    piece, id_ = hello.locator(".tv-piece").bounding_box(), hello.locator(".tv-id").bounding_box()
    assert piece
    assert id_
    assert piece["y"] + piece["height"] <= id_["y"] + 1
    assert hello.get_attribute("title") == "token 1 · piece hello · id 7592 · characters 0 to 4 (Hello)"


def test_a_typed_text_is_a_link_which_shows_the_first_tab(page: Page, app_url: str) -> None:
    open_tokens(page, app_url, charset="text")
    typed(page, "Né à Łódź & co = 50%\nsecond line #1")
    link, shown = page.url, [pieces(page, kind) for kind in KINDS]
    assert "⏎" in shown[0]
    open_tokens(page, app_url)
    assert "⏎" not in pieces(page, "char")
    settled_at(page, link)
    assert page.locator(".st-key-text textarea").input_value() == "Né à Łódź & co = 50%\nsecond line #1"
    assert [pieces(page, kind) for kind in KINDS] == shown
    expect(page.get_by_role("tab", name="Next-token pairs")).to_have_attribute("aria-selected", "true")


MARKUP = "<script>window.owned=1</script> <img src=x onerror=window.owned=1> </style></span>\"'&amp;"


def test_markup_in_a_text_stays_text(page: Page, app_url: str) -> None:
    open_tokens(page, app_url, text=MARKUP, pair=MARKUP, charset="text", tokenizer="word")
    assert pieces(page, "word") == [
        "<script>window.owned=1</script>"[:18] + "…" + "</script>",
        "<img",
        "src=x",
        "onerror=window.owned=1>",
        "</style></span>\"'&amp;",
    ]
    assert "".join(pieces(page, "char")) == MARKUP.replace(" ", "␣")
    page.get_by_role("tab", name="Vocabulary").click()
    settled(page)
    assert page.evaluate("window.owned") is None
    assert page.locator("[data-testid=stMain] img, [data-testid=stMain] script").count() == 0


ODD = "👩\u200d👩\u200d👧 🙂 مرحبا بالعالم \u202eabc\u2066def e\u0301\u0302\u0303 x " + "W" * 300
"""Emoji, Arabic, controls of the direction, combining accents, and a long word"""


def test_odd_texts_keep_their_order_and_their_place(page: Page, app_url: str) -> None:
    open_tokens(page, app_url, text="a\0b\x07", charset="text")  # what no keyboard writes comes by a link
    assert_in_order(page, "a\0b\x07")
    typed(page, ODD)
    assert_in_order(page, ODD)


def assert_in_order(page: Page, text: str) -> None:
    """Chips run from left to right, row by row, as the text runs in memory, and none leaves its card."""
    for kind in KINDS:
        boxes: list[dict[str, float]] = chips(page, kind).evaluate_all(
            "all => all.map((chip) => chip.getBoundingClientRect()).map(({ x, y, width }) => ({ x, y, width }))"
        )
        assert boxes
        places = [(round(box["y"]), box["x"]) for box in boxes]
        assert places == sorted(places)
        card = page.locator(f".st-key-strip_{kind}").bounding_box()
        assert card
        assert all(box["x"] + box["width"] <= card["x"] + card["width"] + 1 for box in boxes)
        assert all(piece.strip() for piece in pieces(page, kind))
    assert len(pieces(page, "char")) == len(text)


def test_cards_stand_side_by_side_or_stacked_and_can_be_read_in_both_themes(page: Page, app_url: str) -> None:
    open_tokens(page, app_url, text="é a")
    for width, height, columns in ((1920, 1080, 3), (1280, 720, 3), (390, 844, 1)):
        page.set_viewport_size({"width": width, "height": height})
        settled(page)
        lefts = {round(box["x"]) for kind in KINDS if (box := page.locator(f".st-key-strip_{kind}").bounding_box())}
        assert len(lefts) == columns
        wide, seen = page.locator("[data-testid=stMain]").evaluate("main => [main.scrollWidth, main.clientWidth]")
        assert wide <= seen
    for scheme, paper in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 20, 27)")):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        expect(page.locator(".stApp")).to_have_css("background-color", paper)
        contrasts = still(settled(page)).evaluate(CONTRASTS)
        assert len(contrasts) == 2 * (3 + 2 + 4)
        assert min(contrasts) >= 4.5


CONTRASTS = """() => {
  const parse = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\\d.]+/g).map(Number);
    return {rgb: [r, g, b], a};
  };
  const over = (top, below) => top.rgb.map((c, i) => c * top.a + below[i] * (1 - top.a));
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const page = parse(getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor).rgb;
  return [...document.querySelectorAll('[class*=st-key-strip_] .tv-chip > *')].map((line) => {
    const back = over(parse(getComputedStyle(line.parentElement).backgroundColor), page);
    const ink = parse(getComputedStyle(line).color);
    const front = over({rgb: ink.rgb, a: ink.a * Number(getComputedStyle(line).opacity)}, back);
    const [high, low] = [light(front), light(back)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  });
}"""


def give(page: Page, name: str, data: bytes) -> None:
    page.locator(".st-key-charset_file input[type=file]").set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": data}
    )


def test_an_upload_beyond_the_limit_is_refused_and_a_good_one_is_used(page: Page, app_url: str) -> None:
    """tests/app/test_tokens_page.py has what else is refused."""
    open_tokens(page, app_url, text="abc", charset="file")
    open_settings(page)
    ids = page.locator(".st-key-strip_char .tv-id")
    give(page, "large.txt", b"a" * (5 * 2**20 + 1))
    expect(page.get_by_test_id("stSidebar").get_by_text("File must be 5.0MB or smaller.")).to_be_visible()
    settled(page)
    expect(page.get_by_text("Until you upload a file, Shakespeare's 65 characters are used.")).to_be_visible()
    assert ids.all_inner_texts() == ["39", "40", "41"]
    give(page, "mine.txt", b"\xef\xbb\xbfcab")
    expect(page.get_by_text("In use: the 3 different characters of your file.")).to_be_visible()
    settled(page)
    assert ids.all_inner_texts() == ["0", "1", "2"]


def open_pairs(page: Page, app_url: str, **query: str) -> None:
    """Open the first tab, whatever tab the test before has chosen."""
    open_tokens(page, app_url, **query)
    page.get_by_role("tab", name="Next-token pairs").click()
    settled(page)


def test_the_block_size_makes_the_pairs(page: Page, app_url: str) -> None:
    open_pairs(page, app_url, text="to be or not to be", block_size="2")
    rows = page.locator(".tv-row")
    assert rows.count() == 2
    assert rows.nth(1).locator(".tv-piece").all_inner_texts() == ["to", "be", "or"]
    page.locator(".st-key-block_size input[type=range]").press("ArrowRight")
    expect(rows).to_have_count(3)
    settled(page)
    assert "block_size=3" in page.url


def test_the_target_follows_the_last_token_of_its_context_where_a_row_has_two_lines(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_pairs(page, app_url, text="a long context that needs more than one line")
    chips = "(row) => [...row.querySelectorAll('.tv-chip')].map((chip) => chip.getBoundingClientRect().toJSON())"
    *context, target = page.locator(".tv-row").last.evaluate(chips)
    assert context[-1]["y"] > context[0]["y"]
    assert target["y"] > context[-1]["y"] or target["x"] == pytest.approx(context[-1]["right"], abs=40)
