"""Training in a process of its own: what a page starts, watches, stops and resumes. Importing it loads no torch."""
