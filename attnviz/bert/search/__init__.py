"""Search by meaning: a text in sentences, their embeddings and their plane, a ranking, and BM25 beside it."""
