"""Options of the CLIP: what is refused, and the prompt."""

import pytest

from manycaps.kit.clip_options import (
    CLIP_CALL_DEFAULTS,
    CLIP_LOAD_DEFAULTS,
    check_clip_options,
    check_prompt,
    with_prompt,
)

OPTIONS = CLIP_LOAD_DEFAULTS | CLIP_CALL_DEFAULTS


def test_the_prompt_is_parted_by_one_space():
    assert with_prompt("p", ["c"]) == with_prompt("p ", ["c"]) == ["p c"]


@pytest.mark.parametrize(
    ("option", "error", "message"),
    [
        ({"checkpoint": 3}, TypeError, "checkpoint: expected a path or a Hub repository, got int."),
        ({"device": 0}, TypeError, "device: expected a name, got int."),
        ({"dtype": "float16"}, ValueError, "dtype: expected one of 'float32', 'bfloat16', got 'float16'."),
        ({"compile": 1}, TypeError, "compile: expected True or False, got 1."),
        ({"batch_size": 0}, ValueError, "batch_size: expected a whole number of at least 1, got 0."),
        ({"n_workers": 1.0}, TypeError, "n_workers: expected a whole number, got float."),
    ],
)
def test_options_are_checked(option, error, message):
    check_clip_options(OPTIONS)
    with pytest.raises(error) as raised:
        check_clip_options(OPTIONS | option)
    assert str(raised.value).startswith(message)


def test_the_prompt_must_be_a_string():
    with pytest.raises(TypeError, match=r"prompt: expected a string, got NoneType\. Give '' for no prompt\."):
        check_prompt(None)
