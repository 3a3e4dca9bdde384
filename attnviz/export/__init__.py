"""What leaves the app: the walk through a head as slides, pages, pictures and TikZ, made without a browser."""
