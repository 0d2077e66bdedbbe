"""What make-positives refuses before it loads anything."""

import pathlib

import pytest

from tests.each_case import each_case
from tests.large_packages import OnFirstUse

positives = OnFirstUse("manycaps.pac_training.positives")


@each_case(
    ("split", "name", "got"),
    [
        ("train", "a/b", "'a/b'"),
        ("train", "../train", "'../train'"),
        ("train", "train.", "'train.'"),
        ("/train", None, "''"),
    ],
)
def test_a_name_that_no_file_can_begin_with(split, name, got):
    options = positives.PositivesOptions("nowhere", pathlib.Path("nowhere"), split=split, name=name)
    with pytest.raises(ValueError) as error:
        positives.make_positives(options)
    assert str(error.value).startswith(
        f"--name: expected letters, digits and underscores, with full stops between them, got {got}."
    )
