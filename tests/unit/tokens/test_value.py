"""`Tokens`, its labels, and how it is made of any tokenizer's encoding."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers.convert_slow_tokenizer import bytes_to_unicode

from attnviz.tokens import (
    CharVocab,
    NoTokensError,
    Tokens,
    WordPiece,
    code_point,
    context_pairs,
    from_encoding,
    label_of,
    place_in_another,
    printable,
    repair,
)

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=60)
"""Any code points at all, lone surrogates and unassigned ones too."""


def byte_tokenizer() -> Tokenizer:
    """Return GPT-2's byte alphabet without a merge: one token a byte of UTF-8, as its tokenizer starts from."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def byte_tokens(text: str) -> Tokens:
    encoding = byte_tokenizer().encode(text)
    return from_encoding(encoding, text=text, pair=None, vocab_size=256, tokenizer="bytes", byte_level=True)


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        (" ", "␣"),
        ("\n", "⏎"),
        ("\t", "⇥"),
        ("\r", "U+000D"),
        ("\0", "U+0000"),
        ("\xa0", "U+00A0"),
        ("\u200b", "U+200B"),
        ("\u200d", "U+200D"),
        ("\u202e", "U+202E"),
        ("\ufe0f", "U+FE0F"),
        ("\u3164", "U+3164"),
        ("\U000e0001", "U+E0001"),
        ("\u0301", "◌\u0301"),
        ("é", "é"),
        ("م", "م"),
        ("##ing", "##ing"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("a\0", "a⟨U+0000⟩"),
        ("👩\u200d👩", "👩\u200d👩"),
        ("\u200d\u200d", "⟨U+200D⟩⟨U+200D⟩"),
        (" \n", "␣⏎"),
        ("a b\tc", "a␣b⇥c"),
        *((selector, f"U+{ord(selector):04X}") for selector in "\ufe00\U000e0100\U000e01ef"),
        ("a\ufe00b\ufe0f\u200cc\U000e0100\U000e01ef", "a\ufe00b\ufe0f\u200cc\U000e0100\U000e01ef"),
        ("a\u3164", "a⟨U+3164⟩"),
        ("a\u0301", "a\u0301"),
        ("", ""),
    ],
    ids=ascii,
)
def test_printable(piece: str, shown: str) -> None:
    assert printable(piece) == shown


@given(ANY_TEXT.filter(bool))
def test_nothing_prints_as_nothing(piece: str) -> None:
    shown = printable(piece)
    assert shown.strip()
    assert not set(shown) & set("\0\t\n\r \u200b\u202e\u2066\u2069\ufeff")


def test_code_points_have_four_digits_at_least() -> None:
    assert [code_point(c) for c in "\0é🙂"] == ["U+0000", "U+00E9", "U+1F642"]


def test_repair_replaces_lone_surrogates_and_keeps_the_length() -> None:
    assert repair("a\ud800b\udfffc") == "a\ufffdb\ufffdc"
    assert repair("plain 🙂") == "plain 🙂"


@given(ANY_TEXT)
def test_what_is_repaired_can_be_sent(text: str) -> None:
    assert len(repair(text)) == len(text)
    assert repair(text).encode().decode() == repair(text)


def test_columns_of_different_length_are_refused() -> None:
    tokens = CharVocab.from_text("ab").tokenize("ab")
    with pytest.raises(
        ValueError,
        match=r"^pieces, ids, offsets, segments, special and unknown differ in length: \[2, 1, 2, 2, 2, 2\]$",
    ):
        dataclasses.replace(tokens, ids=(0,))


def test_tokens_cannot_be_changed() -> None:
    tokens = CharVocab.from_text("ab").tokenize("ab")
    with pytest.raises(dataclasses.FrozenInstanceError):
        tokens.ids = (1, 1)  # type: ignore[misc]


def test_byte_level_labels_are_text_again() -> None:
    tokens = byte_tokens("a b\n")
    assert tokens.pieces == ("a", "Ġ", "b", "Ċ")
    assert tokens.labels == ("a", "␣", "b", "⏎")


def test_byte_level_parts_of_a_character_show_their_bytes() -> None:
    tokens = byte_tokens("🙂é")
    assert tokens.labels == (r"\xf0", r"\x9f", r"\x99", r"\x82", r"\xc3", r"\xa9")
    assert [tokens.source(i) for i in range(6)] == ["🙂"] * 4 + ["é"] * 2


def test_byte_level_pieces_with_a_space_in_front() -> None:
    tokens = dataclasses.replace(byte_tokens("ab"), pieces=("Ġthe", "Ã©t"))
    assert tokens.labels == ("␣the", "ét")
    assert dataclasses.replace(tokens, byte_level=False).labels == ("Ġthe", "Ã©t")


def test_pieces_outside_the_byte_alphabet_stay() -> None:
    assert dataclasses.replace(byte_tokens("ab"), pieces=("<| end|>", "▁")).labels == ("<|␣end|>", "▁")


def test_an_empty_piece_has_a_label() -> None:
    assert dataclasses.replace(byte_tokens("a"), pieces=("",)).labels == ("∅",)


def test_the_byte_alphabet_is_transformers() -> None:
    for byte, character in bytes_to_unicode().items():
        spelled = chr(byte) if byte < 0x80 else rf"\x{byte:02x}"
        assert label_of(character, byte_level=True) == printable(spelled)
    beyond = chr(1 + max(map(ord, bytes_to_unicode().values())))
    assert label_of(beyond, byte_level=True) == beyond == "ń"


def test_a_text_without_a_token_is_answered_in_two_sentences() -> None:
    said = "The tokenizer drops every character of this text, so there is no token. Type another text."
    assert str(NoTokensError()) == said


@given(st.text(max_size=30))
def test_bytes_of_any_text_have_labels_and_sources(text: str) -> None:
    tokens = byte_tokens(text)
    assert len(tokens) == len(text.encode())
    assert all(tokens.labels)
    assert all(tokens.source(i) in text and tokens.source(i) for i in range(len(tokens)))


def word_level(second_type: int) -> Tokenizer:
    """Return a tokenizer with [C] a [S] b [S], whose second sentence has this type id (RoBERTa: 0)."""
    vocab = {"?": 0, "[C]": 1, "[S]": 2, "a": 3, "b": 4}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t = second_type
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[C]:0 $A:0 [S]:0", pair=f"[C]:0 $A:0 [S]:0 $B:{t} [S]:{t}", special_tokens=[("[C]", 1), ("[S]", 2)]
    )
    return tokenizer


@pytest.mark.parametrize(("second_type", "last"), [(0, 0), (1, 1)])
def test_segments_follow_the_sentences_even_where_type_ids_do_not(second_type: int, last: int) -> None:
    encoding = word_level(second_type).encode("a a", "b z")
    tokens = from_encoding(encoding, text="a a", pair="b z", vocab_size=5, tokenizer="own", dropped=7, unk_id=0)
    assert tokens.pieces == ("[C]", "a", "a", "[S]", "b", "?", "[S]")
    assert tokens.ids == (1, 3, 3, 2, 4, 0, 2)
    assert tokens.segments == (0, 0, 0, 0, 1, 1, last)
    assert tokens.offsets == ((0, 0), (0, 1), (2, 3), (0, 0), (0, 1), (2, 3), (0, 0))
    assert [tokens.source(i) for i in range(7)] == ["", "a", "a", "", "b", "z", ""]
    assert tokens.special == (True, False, False, True, False, False, True)
    assert tokens.unknown == (False, False, False, False, False, True, False)
    assert (tokens.dropped, tokens.vocab_size, tokens.tokenizer) == (7, 5, "own")


def test_the_unknown_token_itself_is_known() -> None:
    """GPT-2's and OPT's unknown token is also the one that begins or ends a text: added or typed, nothing is lost."""
    tokenizer = word_level(1)
    tokenizer.add_special_tokens(["?"])
    tokenizer.post_processor = processors.TemplateProcessing(single="? $A", special_tokens=[("?", 0)])
    encoding = tokenizer.encode("z a ? z")
    tokens = from_encoding(encoding, text="z a ? z", pair=None, vocab_size=5, tokenizer="own", unk_id=0)
    assert tokens.pieces == ("?", "?", "a", "?", "?")
    assert tokens.special == (True, False, False, False, False)
    assert tokens.unknown == (False, True, False, False, True)


def test_an_unknown_token_is_looked_up_in_its_own_sentence() -> None:
    """What was typed as the unknown token is known, in either sentence; what became it is not."""
    tokens = WordPiece().tokenize("a 🙂 [UNK]", "bb [UNK] 🙂")
    assert tokens.pieces == ("[CLS]", "a", "[UNK]", "[UNK]", "[SEP]", "bb", "[UNK]", "[UNK]", "[SEP]")
    assert [at for at, lost in enumerate(tokens.unknown) if lost] == [2, 7]


def test_a_short_form_has_the_tokenizer_the_number_and_both_texts() -> None:
    assert repr(WordPiece().tokenize("a", "b c")) == "Tokens(bert, 6 tokens, 'a', 'b c')"
    assert repr(CharVocab.from_text("ab").tokenize("ab")) == "Tokens(char, 2 tokens, 'ab')"


def test_padding_is_left_out() -> None:
    tokenizer = word_level(1)
    tokenizer.enable_padding(pad_id=0, pad_token="?", length=8)
    encoding = tokenizer.encode("a b")
    assert len(encoding) == 8
    tokens = from_encoding(encoding, text="a b", pair=None, vocab_size=5, tokenizer="own", unk_id=0)
    assert tokens.pieces == ("[C]", "a", "b", "[S]")
    assert not any(tokens.unknown)


def test_context_pairs_grow_by_one() -> None:
    assert context_pairs([18, 47, 56, 57, 58], 4) == [
        ((18,), 47),
        ((18, 47), 56),
        ((18, 47, 56), 57),
        ((18, 47, 56, 57), 58),
    ]


def test_context_pairs_take_one_block() -> None:
    tokens = CharVocab.from_text("abc").tokenize("abcabc")
    assert context_pairs(tokens, 2) == [((0,), 1), ((0, 1), 2)]
    assert context_pairs(tokens, 99) == context_pairs(tokens.ids, 5)
    assert len(context_pairs(tokens, 99)) == 5


@pytest.mark.parametrize("ids", [[], [7]])
def test_too_few_tokens_give_no_pair(ids: list[int]) -> None:
    assert context_pairs(ids, 8) == []


def test_a_block_has_a_size() -> None:
    with pytest.raises(ValueError, match=r"^block_size is 0; it must be at least 1$"):
        context_pairs([1, 2], 0)


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 12))
def test_pairs_spell_the_block(ids: list[int], block_size: int) -> None:
    pairs = context_pairs(ids, block_size)
    assert len(pairs) == min(block_size, max(0, len(ids) - 1))
    assert all([*context, target] == ids[: len(context) + 1] for context, target in pairs)


def test_characters_per_token_count_what_was_read_and_no_added_token() -> None:
    assert CharVocab.shakespeare().tokenize("Hello").characters_per_token == 1
    assert CharVocab.shakespeare().tokenize("").characters_per_token is None
    bert = WordPiece()
    assert bert.tokenize("Hello worlds").characters_per_token == 12 / 2
    assert bert.tokenize("").characters_per_token is None  # [CLS] [SEP] only
    assert bert.tokenize("Hello worlds", "the end").characters_per_token == (12 + 7) / 4
    assert bert.tokenize("word " * 1000).characters_per_token == (510 * 5 - 1) / 510
    assert bert.tokenize("a", "good", max_tokens=4).characters_per_token == 4  # of the first sentence nothing is left
    assert bert.tokenize("good morning", "good", max_tokens=5).characters_per_token == (4 + 4) / 2
    halves = bert.tokenize("one two " * 300, "ten six " * 300)
    read = [range(halves.offsets[at][1]) for at in (halves.pieces.index("[SEP]") - 1, len(halves) - 2)]
    assert halves.characters_per_token == sum(map(len, read)) / 509


@pytest.mark.parametrize(
    ("now", "places"),
    [
        ("a dog saw a cat", [0, 1, 2, 3, 4]),
        ("then a dog saw a cat", [1, 2, 3, 4, 5]),  # all tokens after it are the same
        ("a dog saw a cow", [0, 1, 2, 3, 4]),  # one is replaced: it keeps its place
        ("a bird saw a cat", [0, 1, 2, 3, 4]),
        ("a cat saw a dog", [0, 4, 2, None, 1]),  # a label that neither text has twice
        ("the cat and the Dog", [None, 4, None, None, 1]),
        ("A ␣dog ␣saw ␣a ␣cat", [None, 1, 2, None, 4]),  # another tokenizer's
        ("cat cat", [None, None, None, None, 1]),  # the last one is the last one again
        ("", [None] * 5),
    ],
)
def test_a_token_is_found_in_another_text(now: str, places: list[int | None]) -> None:
    before = ["a", "dog", "saw", "a", "cat"]
    assert [place_in_another(index, before, now.split()) for index in range(5)] == places
