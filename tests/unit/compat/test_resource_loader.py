"""Files beside the program."""

from __future__ import annotations

from pathlib import Path

import pytest

import situs.compat.v1 as tf

HERE = Path(__file__).resolve()


def test_files_beside_the_caller() -> None:
    assert tf.resource_loader.get_data_files_path() == str(HERE.parent)
    assert tf.resource_loader.get_root_dir_with_all_resources() == str(HERE.parent)
    assert tf.resource_loader.get_path_to_datafile(HERE.name) == str(HERE)
    assert tf.resource_loader.load_resource(HERE.name) == HERE.read_bytes()
    with pytest.raises(OSError, match="No such file"):
        tf.resource_loader.load_resource("nowhere.txt")
