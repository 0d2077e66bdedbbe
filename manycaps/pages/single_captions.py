"""Pages of the metrics of words: captions of one image beside human captions."""

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from .form import Form, Page
from .limits import CaptionLimits
from .plots import caption_bars
from .results import Drawing, result_table
from .text_boxes import caption_box, caption_lines

# Limits of one call of a public page: one image, captions, characters of a caption.
LIMITS = CaptionLimits(rows=1, captions_per_row=50, characters_per_caption=300)

# Candidates and human captions of the example.
EXAMPLE = (
    "a man watches a film\na person is watching a movie\na dog runs on the beach",
    "a man watches a movie\na man sits in a cinema and watches a film",
)


class WordMetric(NamedTuple):
    """A metric of words, and what its page says and draws."""

    # Name of the module, and as a person writes it.
    name: str
    title: str
    introduction: str
    # For each key of the table its meaning.
    meanings: Mapping[str, str]
    # For each label of the drawing the key of its values per candidate.
    bars: Mapping[str, str]
    # Options of the module, and the environment variables that set them.
    variables: Mapping[str, str] = MappingProxyType({})


def word_page(metric: WordMetric) -> Page:
    """Return the page of a metric of words."""
    return Page(functools.partial(word_form, metric), metric.name, metric.variables)


def word_form(metric: WordMetric, module: Any) -> Form:
    """Return the inputs and outputs of the page of a metric of words."""
    return Form(
        title=metric.title,
        introduction=metric.introduction,
        inputs=[caption_box("Candidate captions"), caption_box("Human captions", "of the same image")],
        drawings=["Captions"],
        examples={"A man and a film": EXAMPLE},
        measure=functools.partial(measure, metric, module),
    )


def measure(metric: WordMetric, module: Any, candidates: str, references: str) -> tuple[str, Drawing]:
    """Score the captions of one image."""
    rows = {
        "predictions": caption_lines(candidates, "predictions", LIMITS),
        "references": caption_lines(references, "references", LIMITS),
    }
    result = module.compute(**rows, details=True)
    scores = {label: result[key][0] for label, key in metric.bars.items()}
    return result_table(result, metric.meanings), caption_bars(scores, rows["predictions"][0])


BLEU_ROUGE = word_page(
    WordMetric(
        name="bleu_rouge",
        title="BLEU and ROUGE-L",
        introduction="How many words, and in which order, do captions share with what people wrote?",
        meanings={
            "bleu_1_corpus": "BLEU-1 of all captions together, 0 (worst) to 1 (best)",
            "bleu_4_corpus": "BLEU-4 of all captions together, as papers report it for a corpus",
            "bleu_4": "mean BLEU-4 of the captions, each by itself",
            "rouge_l": "mean ROUGE-L of the captions",
        },
        bars={"BLEU-4": "bleu_4_per_candidate", "ROUGE-L": "rouge_l_per_candidate"},
    )
)

METEOR15 = word_page(
    WordMetric(
        name="meteor15",
        title="METEOR 1.5",
        introduction=(
            "How near are captions to what people wrote? Words are matched by form, stem, synonyms and paraphrases. It "
            "is the METEOR of captioning papers, computed without Java."
        ),
        meanings={
            "meteor15": "METEOR 1.5 of all captions together, as papers report it for a corpus: 0 (worst) to 1 (best)",
            "meteor15_mean": "mean METEOR 1.5 of the captions",
        },
        bars={"METEOR 1.5": "meteor15_per_candidate"},
        # Data elsewhere than in the package pycocoevalcap: meteor-1.5.jar, or a folder that holds it.
        variables={"meteor15_data": "MANYCAPS_METEOR15_DATA"},
    )
)

COCO_CAPTION = word_page(
    WordMetric(
        name="coco_caption",
        title="COCO Caption",
        introduction=(
            "The numbers of COCO's caption evaluation, computed without Java. CIDEr needs the document frequencies of "
            "a data set: for one image it is not defined."
        ),
        meanings={
            "Bleu_1": "BLEU-1 of all captions together, 0 (worst) to 1 (best)",
            "Bleu_4": "BLEU-4 of all captions together",
            "METEOR": "METEOR 1.5 of all captions together",
            "ROUGE_L": "mean ROUGE-L of the captions",
        },
        bars={"BLEU-4": "Bleu_4_per_candidate", "METEOR": "METEOR_per_candidate", "ROUGE-L": "ROUGE_L_per_candidate"},
        variables={"meteor15_data": "MANYCAPS_METEOR15_DATA"},
    )
)
