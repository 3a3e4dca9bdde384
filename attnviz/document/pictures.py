"""What the pictures of a document must be. `frontend/core/picture_checks.js` has the same checks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from typing import TYPE_CHECKING, get_args

from attnviz.document.checks import ARRAYS, COMPUTED, OF_HEAD, check_texts, refuse
from attnviz.formulas import Role
from attnviz.steps.picture import AXES, MatrixProduct, Operation, OperationKind, Over, Pace, PanelSpec, Picture, Scale
from attnviz.trace.model import Activation

if TYPE_CHECKING:
    from attnviz.document.value import Header

MAX_PANELS = 16
ROLES, SCALES, PACES = get_args(Role), get_args(Scale), get_args(Pace)
OPERATIONS, OVER, ACTIVATIONS = get_args(OperationKind), get_args(Over), get_args(Activation)

Sizes = Mapping[str, int]


def check_pictures(header: Header, given: Collection[str], sizes: Sizes) -> None:
    """Check that every picture can be drawn from the document.

    Args:
        header: the header.
        given: the names of the arrays, also of those that are not in the file.
        sizes: the lengths of the axes.

    Raises:
        DocumentError: a picture is not as the format says.
    """
    for index, step in enumerate(header.steps):
        if step.picture is not None:
            _check_picture(f"header.steps[{index}].picture", step.picture, header, given, sizes)


def _check_picture(path: str, picture: Picture, header: Header, given: Collection[str], sizes: Sizes) -> None:
    if not 1 <= len(picture.panels) <= MAX_PANELS:
        refuse(f"{path} has {len(picture.panels):,} panels; a picture has 1 to {MAX_PANELS}.")
    for index, panel in enumerate(picture.panels):
        where = f"{path}.panels[{index}]"
        limits = panel.limit if isinstance(panel.limit, tuple) else ()
        for name in (panel.name, *limits):
            if name not in AXES or not _is_there(name, header, given):
                refuse(f"{where} shows a matrix that the document does not have.")
        check_texts(f"{where}.title", panel.title, len(header.heads))
        if not _is_panel(panel, sizes):
            refuse(f"{where} is not as the format says.")
    _check_places(path, picture)
    names = {panel.name for panel in picture.panels}
    for result, product in picture.products.items():
        if not {result, product.left, product.right} <= names or not _is_product(result, product, header, given, sizes):
            refuse(f"{path}.products are not products of its panels.")
    for result, operation in picture.operations.items():
        is_made = result not in picture.products and {result, *operation.of} <= names
        if not is_made or not _is_operation(result, operation, header, given, sizes):
            refuse(f"{path}.operations are not operations on its panels.")


def _is_there(name: str, header: Header, given: Collection[str]) -> bool:
    """Return whether the document has a matrix for each of its heads, or what it is computed from."""
    if name in OF_HEAD:
        return all(f"{name}/{head}" in given for head in header.heads)
    if name == "concat" and len(header.heads) == header.heads_in_layer:
        return True
    if name == "embeddings_k" and "embeddings" in given and len(header.query.labels) == len(header.key.labels):
        return True
    return name in COMPUTED or name in given


def _shape(name: str, sizes: Sizes) -> tuple[int, ...]:
    axes = COMPUTED[name] if name in COMPUTED else ARRAYS[name]
    return tuple(sizes[axis] for axis in axes)


def _is_panel(panel: PanelSpec, sizes: Sizes) -> bool:
    columns = _shape(panel.name, sizes)[1]
    return (
        (panel.rows, panel.cols) == AXES[panel.name]
        and (panel.role is None or panel.role in ROLES)
        and panel.scale in SCALES
        and (panel.limit is None or (panel.limit != () if isinstance(panel.limit, tuple) else panel.limit > 0))
        and (panel.made_from is None or (panel.made_from.name in AXES and panel.made_from.pace in PACES))
        and (panel.part_width is None or (panel.part_width > 0 and columns % panel.part_width == 0))
        and all(0 <= column < columns for column in panel.ticks)
    )


def _check_places(path: str, picture: Picture) -> None:
    placed = [number for number in chain(*picture.grid) if number is not None]
    if sorted(placed) != list(range(len(picture.panels))):
        refuse(f"{path}.grid does not place each panel once.")
    shares = (*picture.widths, *picture.heights)
    fits = len(picture.heights) == len(picture.grid) and all(len(row) == len(picture.widths) for row in picture.grid)
    if not fits or not all(share > 0 for share in shares):
        refuse(f"{path} has widths and heights that do not fit its grid.")


def _is_product(result: str, product: MatrixProduct, header: Header, given: Collection[str], sizes: Sizes) -> bool:
    left, right = _shape(product.left, sizes), _shape(product.right, sizes)
    shape = left[0], right[1]
    if left[1] != right[0] or _shape(result, sizes) != shape:
        return False
    return _is_vector(product.bias, shape[1], header, given, sizes)


def _is_vector(name: str | None, length: int, header: Header, given: Collection[str], sizes: Sizes) -> bool:
    """Return whether a name, unless it is None, is that of a vector of this length."""
    if name is None:
        return True
    is_vector = len(ARRAYS.get(name, ())) == 1 and _is_there(name, header, given)
    return is_vector and _shape(name, sizes) == (length,)


def _is_operation(result: str, operation: Operation, header: Header, given: Collection[str], sizes: Sizes) -> bool:
    shape, kind = _shape(result, sizes), operation.kind
    if not operation.of or any(_shape(name, sizes) != shape for name in operation.of):
        return False
    if kind not in OPERATIONS or (kind != "sum" and len(operation.of) > 1):
        return False
    vectors = operation.weight, operation.bias
    if kind == "norm":
        is_norm = operation.over in OVER and operation.eps is not None and operation.eps >= 0
        fit = all(_is_vector(name, shape[1], header, given, sizes) for name in vectors)
        return is_norm and fit and operation.name is None
    named = operation.name in ACTIVATIONS if kind == "activation" else operation.name is None
    return named and operation.over is None and operation.eps is None and vectors == (None, None)
