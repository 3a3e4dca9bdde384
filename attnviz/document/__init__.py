"""The document: all that is shown of one head, as one safetensors file that Python and the browser read.

    from attnviz.document import document_of, read, write

    data = write(document_of(attnviz.trace("The cat sat.").walk(layer=3, head=5)))
    document = read(data)
    document.header.query.labels, document.arrays["query"]

docs/document.md describes the format. Reading and writing need no torch; `document_of` does.
"""

from attnviz.document.files import read, write
from attnviz.document.making import document_of
from attnviz.document.value import Axis, Document, DocumentError, Header, StepText

__all__ = ["Axis", "Document", "DocumentError", "Header", "StepText", "document_of", "read", "write"]
