"""Views as standalone web pages, which need no server.

page = make_page("compare", view, resources)
Path("compare.html").write_bytes(write_page(page))
"""

from attnviz.export.web.pages import MAKERS, NoPageError, Page, check_page, iframe, make_page, write_page

__all__ = ["MAKERS", "NoPageError", "Page", "check_page", "iframe", "make_page", "write_page"]
