"""Errors and their messages: one call, or a table of calls as one test."""

import re

import pytest


def assert_refused(error, message, function, /, *arguments, **options):
    """Call a function that must raise an error with a message.

    Args:
        error: type of the error.
        message: how the error's text begins; `.*` stands for any text, and a `$` at the end for the end of the text.
        function: what is called, with the arguments and options that follow.
    """
    with pytest.raises(error) as raised:
        function(*arguments, **options)
    assert reads(str(raised.value), message), f"{str(raised.value)!r} is not {message!r}"


def reads(text, message):
    """Return whether a text begins with a message, where `.*` is any text and a final `$` the end of the text."""
    pattern = re.escape(message.removesuffix("$")).replace(r"\.\*", ".*") + r"\Z" * message.endswith("$")
    return re.match(pattern, text, re.DOTALL) is not None


def refusals(tables):
    """Return a test of calls without arguments: by the type of the error, pairs of a message and its call."""
    cases = [(error, message, call) for error, calls in tables.items() for message, call in calls]

    @pytest.mark.parametrize(("error", "message", "call"), cases, ids=[message for _, message, _ in cases])
    def test_of_the_tables(error, message, call):
        assert_refused(error, message, call)

    return test_of_the_tables
