"""The study of when positives help: gains by hand, a table that resumes, and a section that says what it found."""

import dataclasses

import pytest

from scripts.toy import positives_study
from scripts.toy.positives_study import SETTINGS, main, parsed, recipe_of
from scripts.toy.tables import LAMBDAS, gain, gain_table, gain_words, study_section

pytestmark = pytest.mark.slow


def lines_of(setting, *by_lambdas):
    """Lines of a setting from a list of tau_b, one for each seed, for each pair of lambdas."""
    return [
        {
            "setting": setting,
            "seed": str(seed),
            "lambda_v": f"{x.v:g}",
            "lambda_t": f"{x.t:g}",
            "tau_b": str(tau),
            "iterations": "50",
        }
        for x, values in zip(LAMBDAS, by_lambdas, strict=True)
        for seed, tau in enumerate(values)
    ]


LINES = [
    *lines_of("few", [50, 52, 54], [51, 53, 55], [50, 53, 57], [40, 41, 45]),
    *lines_of("many", [60, 60, 60], [60, 61, 59], [60, 60, 60], [61, 59, 60]),
]


def test_gains_by_hand():
    assert gain(LINES, "few", LAMBDAS[1], "tau_b") == (1.0, 0.0)
    assert gain(LINES, "few", LAMBDAS[2], "tau_b") == pytest.approx((4 / 3, 0.8819), abs=1e-4)  # 0, 1 and 3
    assert gain(LINES[::-1], "few", LAMBDAS[2], "tau_b") == gain(LINES, "few", LAMBDAS[2], "tau_b")


def test_the_words_count_what_is_beyond_two_standard_errors():
    assert gain_words(LINES) == (
        "Positives help beyond two standard errors, with one of the weights at least, in 1 of 2 settings: few (+1.33); "
        "they harm in: few (-10.00)."
    )
    assert "none of the settings; they harm in: none." in gain_words(lines_of("many", *[[60, 60]] * 4))
    idle = [line | {"iterations": "0"} for line in LINES if line["setting"] == "few"]
    assert gain_words(idle).endswith(" no step lowered the validation loss for any seed in: few.")
    assert "| few | 52.0 | **+1.00 (0.00)** | +1.33 (0.88) | -10.00 (0.58) |" in gain_table(LINES)


def test_the_study_resumes_and_draws(tmp_path, monkeypatch):
    assert study_section(tmp_path) == "Not measured for this checkpoint; `scripts/toy/positives_study.py` does it.\n"
    settings = {"50 pairs": {"n_pairs": 16}, "30 % wrong": {"n_pairs": 16, "wrong": 0.3}}
    monkeypatch.setattr(positives_study, "SETTINGS", settings)
    monkeypatch.setattr(positives_study, "N_VALIDATION", 16)

    def short(**setting):
        return dataclasses.replace(recipe_of(**setting), max_iterations=20, validate_every=10)

    n_positives = [recipe_of(**SETTINGS[f"{n} pairs"]).make.n_positives for n in (50, 500, 5000)]
    assert n_positives == [10, 4, 1], "many where pairs are few"
    monkeypatch.setattr(positives_study, "recipe_of", short)
    monkeypatch.setattr(positives_study, "load_start", lambda load=positives_study.load_start: load(20))

    def run(folder, *seeds):
        options = parsed(["--output", str(folder), "--settings", "50 pairs", "30 % wrong", "--seeds", *seeds])
        assert main(options) == 0
        return (folder / "positives.csv").read_text(encoding="utf-8")

    undisturbed = run(tmp_path / "a", "0", "1")
    assert len(undisturbed.splitlines()) == 1 + 2 * 2 * len(LAMBDAS)
    interrupted = run(tmp_path / "b", "0")
    assert set(interrupted.splitlines()) < set(undisturbed.splitlines())
    assert not (tmp_path / "b" / "positives.png").exists()  # a single seed has no standard error
    assert run(tmp_path / "b", "0", "1") == undisturbed
    assert (tmp_path / "b" / "positives.png").read_bytes() == (tmp_path / "a" / "positives.png").read_bytes()
    section = study_section(tmp_path / "a")
    assert "![Gains by setting](positives.png)" in section
    assert section.startswith("Positives help beyond two standard errors")
