"""One script, and one style sheet, of the many plain files of `frontend/`: for few requests, or for no server at all.

module("walk/walk.js")         # an ES module with the exports of walk.js, which imports nothing
shared_module("page/walk.js")  # the same, whose modules are shared with other bundles on the page
script("page/standalone.js")   # the same as a classic script, which a page can also load from disk
styles("walk/walk.css")        # a style sheet without @import
"""

from attnviz.components.bundle.linking import module, script, shared_module
from attnviz.components.bundle.reading import BundleError
from attnviz.components.bundle.styles import styles

__all__ = ["BundleError", "module", "script", "shared_module", "styles"]
