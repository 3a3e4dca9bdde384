"""What is built on BERT: its embeddings and back, classifiers on a frozen model, search by meaning, heads left out."""
