"""Tokens: text -> pieces -> ids -> text, by three tokenizers side by side."""

import streamlit as st

from attnviz.settings import settings
from attnviz.tokens import Tokens, WordTokenizer
from attnviz.ui import shell, side_bar, state
from attnviz.ui.styles import style
from attnviz.ui.tokens.choices import TITLES, char_vocab, choose_charset, wordpiece
from attnviz.ui.tokens.view import Tokenizer, card, training_pairs, vocabulary

shell.begin("tokens")
with side_bar.settings():
    pair = state.bound("pair", st.text_input, "Second sentence (BERT only)", max_chars=settings().largest_text)
    choose_charset()
text = shell.text()
st.html(style("tokens"))

char, word, bert = char_vocab(text), WordTokenizer.from_text(text), wordpiece()
results: dict[str, tuple[Tokenizer, Tokens]] = {
    "char": (char, char.tokenize(text)),
    "word": (word, word.tokenize(text)),
    "bert": (bert, bert.tokenize(text, pair if pair.strip() else None)),
}
with st.container(key="hint_tokens"):
    st.caption(
        "The same text in three tokenizers. Ids and positions count from 0; hover a token for its place in the text."
    )
for column, (kind, (tokenizer, tokens)) in zip(st.columns(3, border=True), results.items(), strict=True):
    with column:
        card(TITLES[kind], kind, tokenizer, tokens)

left, right = st.columns([3, 2], vertical_alignment="bottom")
with left:
    chosen = state.bound(
        "tokenizer", st.segmented_control, "Look closer at", list(TITLES), format_func=TITLES.get, required=True
    )
with right:
    block_size = state.bound("block_size", st.slider, "Block size, in tokens", 1, 64)
tokenizer, tokens = results[chosen]
pairs, entries = st.tabs(["Next-token pairs", "Vocabulary"], key="tokens_tab", on_change="rerun")
if pairs.open:
    with pairs:
        training_pairs(tokens, block_size)
if entries.open:
    with entries:
        vocabulary(tokenizer, tokens)

state.end()
