"""The components of models in training, and of a text in generation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from attnviz.components.updates import mount_with_updates


def training(
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[np.float32]],
    *,
    key: str,
    on_update: Callable[[Mapping[str, object]], None],
) -> None:
    """Mount the component.

    Args:
        header: `task`, `runs` and `values`, as `TrainingHeader` in frontend/types/training.d.ts says.
        arrays: of each run, by its number n: `n.loss_steps` and `n.loss` (how far, and the loss there), `n.evaluated`
            (E,) with `n.held_out`, `n.accuracy` (E,), `n.trained` (E,) or (0,), and `n.scores.p` (E, heads) of pattern
            p.
        key: the Streamlit key.
        on_update: called before the script reruns, with what the user has chosen, and `commands`, pairs of a number
            that no other command has and what is to be done. They come from the client and are not validated.
    """
    mount_with_updates("training", header, arrays, key=key, on_update=on_update)


def model_series(
    header: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[np.float32]],
    *,
    key: str,
    on_update: Callable[[Mapping[str, object]], None],
) -> None:
    """Mount the component of models that learn a text, stage by stage.

    Args:
        header: `text`, `stages` and `values`, as `SeriesHeader` in frontend/types/model_series.d.ts says.
        arrays: of each stage, by its number n: `n.loss_steps` and `n.loss`, `n.evaluated` and `n.held_out`.
        key: the Streamlit key.
        on_update: as in `training`.
    """
    mount_with_updates("model_series", header, arrays, key=key, on_update=on_update)


def generation(header: Mapping[str, Any], *, key: str, on_update: Callable[[Mapping[str, object]], None]) -> None:
    """Mount the component.

    Args:
        header: as `GenerationHeader` in frontend/types/generation.d.ts says; what its digest stands for is requested.
        key: the Streamlit key.
        on_update: called before the script reruns, with what the user has chosen: `drawn`, `watch` and `seed`. It comes
            from the client and is not validated.
    """
    mount_with_updates("generation", header, {}, key=key, on_update=on_update)
