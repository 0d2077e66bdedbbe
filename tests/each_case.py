"""A table of cases as one test, which reports every case that fails."""

import functools
import inspect
import itertools

import pytest


def each_case(names, cases, ids=None):
    """Run a test on every case of a table, as `pytest.mark.parametrize` does, but as one test.

    A case that fails is reported under its name, and those after it run. The cases share the test's fixtures, but
    each has a `tmp_path` and a `monkeypatch` of its own, and `capsys` shows what this case printed.

    Args:
        names: names of the arguments, separated by commas, or a sequence of them.
        cases: a value for each case, or a tuple of values for several names.
        ids: names of the cases, or a function that names a value.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [_case(names, case, i, ids) for i, case in enumerate(cases)]

    def decorate(test):
        inner = getattr(test, "table", [("", {})])
        combined = [
            ("-".join(filter(None, (first, second))), values | others)
            for (first, values), (second, others) in itertools.product(inner, table)
        ]
        return _one_test(getattr(test, "test_of_a_case", test), combined)

    return decorate


def _case(names, case, place, ids):
    """Return the name of a case, and its arguments by name."""
    values = (case,) if len(names) == 1 else tuple(case)
    assert len(values) == len(names), f"case {place}: {len(values)} values for {names}"
    if ids is not None and not callable(ids):
        name = list(ids)[place]
    else:
        shown = ids or (lambda value: None)
        name = "-".join(str(shown(v) or _shown(v, f"{n}{place}")) for n, v in zip(names, values, strict=True))
    return str(name), dict(zip(names, values, strict=True))


def _shown(value, otherwise):
    """Return a value as a name, if it makes a short one."""
    if isinstance(value, str | bytes | int | float | bool | None):
        text = value if isinstance(value, str) else repr(value)
        return text if len(text) < 60 and text.isprintable() else otherwise
    return getattr(value, "__name__", otherwise)


def _one_test(test, table):
    """Return a test that runs another one on every case, each a subtest."""

    @functools.wraps(test)
    def on_every_case(subtests, **fixtures):
        for place, (name, values) in enumerate(table):
            with subtests.test(name), pytest.MonkeyPatch.context() as monkeypatch:
                own = {"monkeypatch": monkeypatch} if "monkeypatch" in fixtures else {}
                if "tmp_path" in fixtures:
                    own["tmp_path"] = fixtures["tmp_path"] / str(place)
                    own["tmp_path"].mkdir()
                if "capsys" in fixtures:
                    fixtures["capsys"].readouterr()
                test(**fixtures | own | values)

    signature = inspect.signature(test)
    asked = [p for name, p in signature.parameters.items() if name not in table[0][1]]
    subtests = inspect.Parameter("subtests", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    on_every_case.__signature__ = signature.replace(parameters=[subtests, *asked])
    on_every_case.table, on_every_case.test_of_a_case = table, test
    return on_every_case
