"""The page of a module: what it offers, its limits, and what it says of a result."""

import pytest

pytest.importorskip("gradio", reason="gradio is not installed: pip install -r tests/requirements.txt")
pytest.importorskip("av", reason="av is not installed: pip install -r tests/requirements.txt")
from manycaps.kit.media_video_decoder import VideoSize
from manycaps.pages.module_page import check_clip, module_form
from tests.each_case import each_case
from tests.modules.conftest import FOLDERS
from tests.modules.test_every_module import load_module

# Of every module that has options of a page: which it offers, with the default first.
OFFERED = {
    "trm": {"distance": "cosine", "statistic": "per_side", "p_value": "exact"},
    "mmd": {"kernel": "rbf", "estimator": "unbiased", "p_value": "exact"},
    "trm_meteor": {"statistic": "per_side", "p_value": "exact"},
    "trm_cider": {"statistic": "per_side", "p_value": "exact"},
    "trm_bert": {"statistic": "per_side", "p_value": "exact"},
    "mmd_bert": {"estimator": "unbiased", "p_value": "exact"},
    "fid_bert": {"p_value": "exact"},
    "set_diversity": {"sizes": "equal"},
}


def test_a_page_offers_the_options_of_its_module():
    labels = {"Distance of sentence embeddings": "distance", "Kernel of sentence embeddings": "kernel"}
    labels |= {"Statistic": "statistic", "Estimator": "estimator", "p-value": "p_value"}
    labels["Captions to measure on each side"] = "sizes"
    for folder in FOLDERS:
        form = module_form("Title", load_module(folder))
        if folder.name != "human_parity":  # it has a page of its own
            offered = {labels[component.label]: component.value for component in form.options}
            assert offered == OFFERED.get(folder.name, {}), folder.name


def test_every_number_of_a_result_of_the_papers_metrics_has_a_meaning():
    for folder in FOLDERS:
        if folder.name in ("trm_meteor", "bleu_rouge", "meteor15", "vdtk_leave_one_out"):
            form = module_form("Title", load_module(folder))
            example = next(iter(form.examples.values()))
            values = example() if callable(example) else example
            (text,) = form.measure(*(values if isinstance(values, tuple) else [values]))
            rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| `")]
            assert rows, text
            # What the docstring names in passing has no meaning of its own.
            without = [row[0] for row in rows if not row[2].strip(" |") and "_excess_ci_" not in row[0]]
            assert without == [], folder.name


def test_captions_of_one_image_are_listed_with_their_scores():
    folder = next(folder for folder in FOLDERS if folder.name == "bleu_rouge")
    form = module_form("BLEU", load_module(folder))
    (text,) = form.measure("a dog runs\na <b> | cat", "a dog runs\na cat")
    assert "| a dog runs | " in text
    assert "| a &lt;b&gt; &#124; cat | " in text


def test_a_minute_as_phones_record_it():
    check_clip(VideoSize(60.0, 3600, 1920, 1080))
    check_clip(VideoSize(15.0, 900, 4096, 2160))


@each_case(
    ("size", "message"),
    [
        ((60.5, 605, 640, 480), "60 seconds on this page, got 60.5."),
        ((0.0, 3601, 64, 48), "3,600 frames on this page, got 3,601."),
        ((1.0, 10, 5000, 2000), "9 megapixels a frame on this page, got 10.0."),
        ((60.0, 3600, 2560, 1440), "8 gigapixels in all frames on this page, got 13.3."),
    ],
)
def test_larger_clips(size, message):
    with pytest.raises(ValueError) as error:
        check_clip(VideoSize(*size))
    assert str(error.value).startswith(f"videos[0]: expected at most {message}")
