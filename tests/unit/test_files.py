"""Files are written whole, or not at all, and leave nothing beside them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from attnviz.files import replacing, write_atomically


def test_a_file_is_replaced_and_all_may_read_it(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    for data in (b"first", b"2nd"):
        write_atomically(file, data)
        assert file.read_bytes() == data
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_ends_by_an_error_leaves_the_old_file_alone(tmp_path: Path, error: type[BaseException]) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(b"old")
    with pytest.raises(error), replacing(file) as new:
        new.write(b"half")
        assert len([*tmp_path.iterdir()]) == 2
        raise error
    assert file.read_bytes() == b"old"
    assert [*tmp_path.iterdir()] == [file]


def test_a_folder_is_not_replaced_and_what_was_written_goes(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomically(folder, b"x")
    assert [*tmp_path.iterdir()] == [folder] and folder.is_dir()
