"""Export of a head, step by step, as slides, PDF, SVG, TikZ, numbers and code. Needs no browser."""
