"""Training in a separate process, which a page starts, watches, stops and resumes. Does not import torch."""
