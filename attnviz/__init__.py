"""attnviz shows what attention computes, on your own text, down to the last number."""
