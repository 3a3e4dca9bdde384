"""Text to tokens to ids and back. Characters, words and BERT's WordPiece all give one `Tokens` value.

Nothing here imports torch, transformers or Streamlit, so tokenizers work before a model is loaded.

All errors are ValueErrors with a message for the user:

    ValueError
    ├── UnknownCharacterError   `CharVocab.encode` met a character that has no id
    ├── BadUploadError          an uploaded vocabulary file was refused
    └── NoTokensError           a model's tokenizer finds no token in a text
"""

from attnviz.tokens.round_trip import RoundTrip, round_trip
from attnviz.tokens.tokenizers import (
    BUCKETS,
    MAX_POSITIONS,
    MAX_UPLOAD,
    BadUploadError,
    CharVocab,
    UnknownCharacterError,
    WordPiece,
    WordTokenizer,
    context_pairs,
    read_upload,
)
from attnviz.tokens.value import (
    NO_ID,
    NoTokensError,
    Tokens,
    code_point,
    from_encoding,
    label_of,
    place_in_another,
    printable,
    repair,
)

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
    "label_of",
    "place_in_another",
    "printable",
    "read_upload",
    "repair",
    "round_trip",
]
