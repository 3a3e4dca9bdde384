"""Text to tokens to ids and back: characters, words, and BERT's WordPiece, all as one `Tokens` value.

Nothing here imports torch, transformers or Streamlit, so it is ready before a model is loaded.

Errors, all of them ValueErrors with a sentence fit for the screen:

    ValueError
    ├── UnknownCharacterError   `CharVocab.encode` met a character that has no id
    ├── BadUploadError          an uploaded vocabulary file was refused
    └── NoTokensError           a model's tokenizer makes no token of a text
"""

from attnviz.tokens.blocks import context_pairs
from attnviz.tokens.chars import MAX_UPLOAD, BadUploadError, CharVocab, UnknownCharacterError, read_upload
from attnviz.tokens.labels import code_point, printable
from attnviz.tokens.round_trip import RoundTrip, round_trip
from attnviz.tokens.value import NO_ID, NoTokensError, Tokens, from_encoding, repair
from attnviz.tokens.wordpiece import MAX_POSITIONS, WordPiece
from attnviz.tokens.words import BUCKETS, WordTokenizer

__all__ = [
    "BUCKETS",
    "MAX_POSITIONS",
    "MAX_UPLOAD",
    "NO_ID",
    "BadUploadError",
    "CharVocab",
    "NoTokensError",
    "RoundTrip",
    "Tokens",
    "UnknownCharacterError",
    "WordPiece",
    "WordTokenizer",
    "code_point",
    "context_pairs",
    "from_encoding",
    "printable",
    "read_upload",
    "repair",
    "round_trip",
]
