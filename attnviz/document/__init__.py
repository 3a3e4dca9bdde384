"""The document: everything shown about the heads of a layer, in one safetensors file that Python and the browser read.

    from attnviz.document import document_of, read, write

    data = write(document_of(attnviz.trace("The cat sat.").walk(layer=3, head=5)))
    document = read(data)
    document.header.query.labels, document.arrays["query/5"]

docs/document.md describes the format. Reading and writing need no torch; making a document does.
"""

from attnviz.document.files import read, write
from attnviz.document.making import GUESSES, ReferTo, array_of, document_of, document_of_layer, guesses_of
from attnviz.document.value import Axis, Document, DocumentError, Header, Reference, StepText

__all__ = [
    "GUESSES",
    "Axis",
    "Document",
    "DocumentError",
    "Header",
    "ReferTo",
    "Reference",
    "StepText",
    "array_of",
    "document_of",
    "document_of_layer",
    "guesses_of",
    "read",
    "write",
]
