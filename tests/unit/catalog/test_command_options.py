"""Options of commands: what the parser makes of a command line is what Python gets, and both refuse the same."""

import argparse
import dataclasses
import importlib
import pathlib

import pytest

from manycaps.catalog.command_options import add_options, check_options, names_of, option_fields, options_of, path_of
from manycaps.commands.command_line import COMMANDS
from manycaps.diversity.split_options import SplitOptions
from manycaps.kit.errors import InputError
from tests.refusals import assert_refused

# Classes of options, with what they cannot do without.
NEEDED = {
    "comparison.compare_options.CompareOptions": [],
    "diversity.core_set.core_set_options.CoreSetOptions": ["a.jsonl", "--test", "b.jsonl"],
    "sampling.decoding.decoding_options.DecodingOptions": ["-r", "b.jsonl"],
    "sampling.decoding.decoding_options.SettingGrid": [],
    "diversity.diversity_options.DiversityOptions": ["a.jsonl"],
    "human_correlation.correlation_options.CorrelationOptions": [],
    "human_correlation.judges.judge_options.JudgeOptions": ["scores.jsonl", "-r", "references.jsonl"],
    "pac_training.recipe.PositivesOptions": ["data", "output"],
    "pac_training.recipe.TrainOptions": ["data", "output"],
    "comparison.plan_options.PlanOptions": ["a.jsonl"],
    "diversity.rows.rows_options.RowsOptions": ["a.jsonl"],
    "sampling.decoding_setting.Setting": [],
    "sampling.sample_options.SampleOptions": ["--model", "m", "-o", "out.jsonl"],
    "scoring.score_options.ScoreOptions": ["-m", "trm_meteor", "-i", "a.jsonl", "-o", "scores"],
    "diversity.split_options.SplitOptions": ["a.jsonl", "--by", "length"],
}

# What the command line does not say in such a class.
GIVEN = {
    "CompareOptions": {"systems": ["a.jsonl"]},
    "DecodingOptions": {"files": ["a.jsonl", "b.jsonl"]},
    "CorrelationOptions": {"benchmark": "foil", "metric": "rouge", "references": None},
    "SampleOptions": {"sources": ["photos"]},
}


@pytest.fixture(params=NEEDED)
def base(request):
    """A class of options, and what a short command line makes of it."""
    module, _, name = request.param.rpartition(".")
    options = getattr(importlib.import_module(f"manycaps.{module}"), name)
    parser = argparse.ArgumentParser()
    add_options(parser, options, without=GIVEN.get(name, ()))
    return options_of(parser.parse_args(NEEDED[request.param]), options, **GIVEN.get(name, {}))


def test_a_command_line_gives_the_defaults_of_python(base):
    for field in dataclasses.fields(base):
        if field.default is not dataclasses.MISSING and field.name not in GIVEN.get(type(base).__name__, ()):
            assert getattr(base, field.name) == field.default


def test_values_out_of_range_are_refused_by_their_names(base):
    for field, kinds, option in option_fields(type(base)):
        bad = [] if option.least is None else [option.least - 1]
        bad += [] if option.most is None else [option.most + 1]
        bad += ["no such"] if option.choices is not None and str in kinds else []
        for value in bad:
            message = f"{names_of(field.name, option)[-1]}: expected "
            changes = {field.name: value}
            assert_refused(ValueError, message, lambda given=changes: check_options(dataclasses.replace(base, **given)))


def paths_of_commands():
    """What makes a path of every argument that is one, by the command and the argument."""
    kinds = {}
    for name in COMMANDS:
        parser = argparse.ArgumentParser(prog=name)
        importlib.import_module(f"manycaps.commands.{name.replace('-', '_')}").add_arguments(parser)
        for action in parser._actions:
            if action.type in (path_of, pathlib.Path) or isinstance(action.default, pathlib.Path):
                kinds[f"{name}-{action.dest}"] = action.type
    return kinds


@pytest.mark.parametrize("empty", ["", " "])
@pytest.mark.parametrize("kind", paths_of_commands().values(), ids=paths_of_commands())
def test_an_empty_path_is_refused(kind, empty):
    """It would be this folder: a shell makes it of "$FOLDER" where there is no such variable."""
    with pytest.raises(argparse.ArgumentTypeError, match="expected a path, got an empty one; give a dot for this fold"):
        kind(empty)


def test_commands_that_write_take_paths():
    assert paths_of_commands().keys() >= {
        "compare-output",
        "compare-figures",
        "decoding-output",
        "train-pac-output",
        "export-folder",
    }


def test_an_empty_path_from_python_is_refused():
    assert_refused(
        InputError,
        "--output: expected a path, got an empty one. Name it, or give a dot for this folder.$",
        lambda: SplitOptions(["a.jsonl"], by="length", output=""),
    )
