"""Homogeneity: do two models say different things to the same prompts, and does one repeat itself more?"""

import evaluate
import numpy as np

from .errors import InputError
from .module import CollectionModule, signature
from .options import (
    DETAILS,
    INTERVALS,
    About,
    Effect,
    Option,
    by_value,
    check_beside_rows,
    dependent_options,
    one_of,
    value_table,
    whole_number,
)
from .rows import has_references
from .sets_distinct import (
    CLASSES,
    EQUIVALENT_DISTANCE,
    check_equivalent,
    judge_texts,
    near_texts,
    pairs_to_judge,
    unit_rows,
)
from .sets_diversity import check_set_sizes
from .sets_homogeneity import (
    ANSWER_DISTANCES,
    HOMOGENEITY_P_VALUES,
    PEOPLE,
    as_other_models,
    check_two_answers,
    class_distances,
    compare_models,
    distances_of_units,
    homogeneity_result,
    ngram_distances,
    warn_of_few_prompts,
    warn_of_shared_answers,
)
from .sets_module import N_RESAMPLES
from .sets_tests import MOST_RESAMPLES, check_clusters
from .vectors_sentences import ENCODER_OPTIONS, LONG_TEXT_VALUES, SENTENCES, encoder_settings
from .words_tokenizers import TOKENIZER, ngram_tokens, token_finder, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .files import inline_bytes as inline_bytes
from .ngrams import RowTexts as RowTexts
from .ngrams_bleu import bleu_scores as bleu_scores
from .ngrams_cider import cider_scores as cider_scores
from .parity_corpus import check_two_references as check_two_references
from .parity_faults import PeopleValues as PeopleValues
from .parity_gaps import RowGaps as RowGaps
from .parity_sentences import check_language as check_language
from .parity_tails import Tail as Tail
from .parity_texts import SentencesOfRows as SentencesOfRows
from .row_images import text_key as text_key
from .vectors_models import RememberedFeatures as RememberedFeatures
from .vectors_rows import EmbeddingRows as EmbeddingRows
from .words_predictability import LanguageModel as LanguageModel
from .words_ptb import Shape as Shape
from .words_tests import WordingTest as WordingTest

_DESCRIPTION = """
Homogeneity compares models, runs, temperatures or checkpoints that answered the same prompts several times each: do
they say different things, and does one repeat itself more? The test splits the answers to every prompt at random
between two models, exactly and in closed form. No references are needed; where there are answers of people, their
values stand beside the models'.
"""

_CITATION = """
@article{szekely2013energy,
  title={Energy statistics: A class of statistics based on distances},
  author={Sz{\\'e}kely, G{\\'a}bor J. and Rizzo, Maria L.},
  journal={Journal of Statistical Planning and Inference},
  volume={143}, number={8}, pages={1249--1272}, year={2013},
  doi={10.1016/j.jspi.2013.03.018}
}
@article{chen2017generalized,
  title={A New Graph-Based Two-Sample Test for Multivariate and Object Data},
  author={Chen, Hao and Friedman, Jerome H.},
  journal={Journal of the American Statistical Association},
  volume={112}, number={517}, pages={397--409}, year={2017},
  doi={10.1080/01621459.2016.1147356}
}
"""

_EXAMPLES = """
>>> homogeneity = evaluate.load("measurements/homogeneity")  # on the Hub: "manycaps/homogeneity"
>>> base = [["a dog runs", "two cats sleep", "a red kite", "men cook rice"]] * 8
>>> tuned = [["a dog runs", "a dog runs", "a dog runs fast", "a red kite"]] * 8
>>> result = homogeneity.compute(predictions=base, others={"tuned": tuned})
>>> [round(result[key], 2) for key in ("homogeneity", "energy_distance", "diversity_difference")]
[1.03, -0.05, 0.43]
>>> result["homogeneity_p_value"] < 0.01, result["diversity_p_value"] < 0.01
(True, True)
"""

BY_NGRAMS = Effect("distance", "'ngram'", lambda options: options["distance"] == "ngram")
BY_CLASSES = Effect("distance", "'classes'", lambda options: options["distance"] == "classes")
IS_EMBEDDED = Effect(
    "distance",
    "'bert'",
    lambda options: (
        options["distance"] == "bert" or (options["distance"] == "classes" and not callable(options["equivalent"]))
    ),
)
IS_DRAWN = Effect("p_value", "'permutation'", lambda options: options["p_value"] == "permutation")


class Homogeneity(CollectionModule, evaluate.Measurement):
    """Whether models say different things, as an evaluate module."""

    ABOUT = About(
        _DESCRIPTION,
        _CITATION,
        _EXAMPLES,
        ["https://doi.org/10.1016/j.jspi.2013.03.018", "https://doi.org/10.1080/01621459.2016.1147356"],
    )
    COLUMNS = {
        "predictions": "n_rows lists of a model's answers, at least two each: a row is a prompt, or an image.",
        "references": "n_rows lists of people's answers, at least two each; may be left out beside `others`.",
    }
    OPTIONAL_COLUMNS = frozenset({"references"})
    OPTIONS = (
        {
            "others": Option(
                None,
                check_beside_rows,
                "Further models on the same prompts, `{name: n_rows lists of answers}`; by default none, and the model "
                "is compared with people.",
            ),
            "distance": Option(
                "ngram",
                one_of(ANSWER_DISTANCES),
                '`"ngram"` (1 to 4 words, no weights), `"bert"` (cosine of sentence embeddings), or `"classes"` (1 for '
                "answers that do not say the same: W + 1 is then the expected number of classes of two answers).",
            ),
        }
        | dependent_options(
            BY_CLASSES,
            {
                "equivalent": Option(
                    EQUIVALENT_DISTANCE,
                    by_value(check_equivalent),
                    "Which answers say the same: a cosine distance of embeddings, or a function of two texts that "
                    "returns a bool, such as a judge (`manycaps.sampling.SameMeaning`). The default agrees best with "
                    "NoveltyBench's partitions.",
                )
            }
            | {"classes": CLASSES["classes"]._replace(default="first")},
        )
        | dependent_options(BY_NGRAMS, TOKENIZER)
        | dependent_options(IS_EMBEDDED, ENCODER_OPTIONS)
        | {
            "p_value": Option(
                "chi-squared",
                one_of(HOMOGENEITY_P_VALUES),
                '`"chi-squared"` (closed form, from five rows on) or `"permutation"` (`n_resamples` random splits).',
            )
        }
        | dependent_options(
            IS_DRAWN,
            {
                "n_resamples": Option(N_RESAMPLES, whole_number(1, MOST_RESAMPLES), "Random splits of each row."),
                "seed": Option(0, whole_number(0), "Whole number, of the splits."),
            },
        )
        | INTERVALS
        | DETAILS
    )
    VALUES = (
        value_table("""
        * homogeneity | 0 to 2 | | (W1 + W2) / (2 B), W1 and W2 the mean distances of two answers of each model, B
            of one of each: 1 for one distribution, lower the more the models differ; mean over pairs of models
        * homogeneity_p_value | 0 to 1 | | of "the models say the same": T2 of both gaps under all splits of each
            prompt; of several pairs the smallest after Holm's rule
        * energy_distance | -2 to 2 | | 2 B - W1 - W2, 0 on average for one distribution; mean over rows and pairs
        * diversity_difference | -2 to 2 | | W of `predictions` less W of the other models: below 0, it repeats itself
            more
        * diversity_p_value | 0 to 1 | | of "all repeat themselves as much", two-sided; of several pairs the smallest
            after Holm's rule
        rows_to_detect | | | rows after which the test finds the difference 80% of the time; of several pairs the fewest
        within_distance, between_distance | 0 to 2 | | W of `predictions`, and B, mean over pairs
        within_distance_of_people, homogeneity_with_people | | | with `references`: W of people, and the mean
            homogeneity of a model with them
        n_models, n_rows | | | counts; people are no model
        ..._ci_low, ..._ci_high | | | with `confidence_level`: ends of the intervals of `energy_distance` and
            `diversity_difference` over rows, or clusters
        models, homogeneity_matrix, distance_matrix | | | with `details`: names, people last, and lists of lists; on the
            diagonal of distances W
        energy_distance_per_row, diversity_difference_per_row | | | with `details`
        signature | | | with `details`: everything that determines the numbers
    """)
        + LONG_TEXT_VALUES
    )
    token_finder = token_finder
    PARTS = SENTENCES
    ROW_CHECKS = (check_set_sizes,)

    def result(self, predictions, references, options):
        """Compare all models, and return the result."""
        others = as_other_models(options["others"], len(predictions))
        people = {PEOPLE: references} if has_references(references) else {}
        models = {"predictions": predictions} | others | people
        if len(models) < 2:
            raise InputError(
                "others", "another model, or references", "neither", "Give {'tuned': rows}; set_diversity takes one."
            )
        check_two_answers(models)
        if options["clusters"] is not None:
            check_clusters(options["clusters"], len(predictions))
        warn_of_few_prompts(len(predictions), options["p_value"])
        if IS_EMBEDDED.holds(options):
            columns = {f"others[{name!r}]": texts for name, texts in others.items()}
            columns |= {"predictions": predictions} | ({"references": references} if people else {})
            self.encoder.check_known(columns, options)
        rows = [[text for row in together for text in row] for together in zip(*models.values(), strict=True)]
        settings = {name: options[name] for name in ("clusters", "p_value", "n_resamples", "seed")}
        compared = compare_models(models, self._distances(rows, options), progress=self.progress, **settings)
        warn_of_shared_answers(compared)
        result = homogeneity_result(compared, confidence_level=options["confidence_level"], details=options["details"])
        if IS_EMBEDDED.holds(options):
            result |= self.encoder.count_unread([text for row in rows for text in row], options)
        return result | ({"signature": self._signature(options)} if options["details"] else {})

    def _distances(self, rows, options):
        """Distances of the texts of every row, by its number."""
        equivalent = options["equivalent"]
        if options["distance"] == "ngram":
            return ngram_distances(ngram_tokens(rows, options["tokenizer"]))
        if options["distance"] == "classes" and callable(equivalent):
            if hasattr(equivalent, "of_pairs"):  # it answers many pairs at once, and keeps the answers
                equivalent.of_pairs(pairs_to_judge(rows))
            return lambda row: class_distances(rows[row], judge_texts(rows[row], equivalent), options["classes"])
        texts = sorted({text for row in rows for text in row})
        embedded = unit_rows(self.encoder.embed(texts, options, self.progress).astype("float64"))
        vectors = dict(zip(texts, embedded, strict=True))
        if options["distance"] == "bert":
            return lambda row: distances_of_units(np.stack([vectors[text] for text in rows[row]]))
        return lambda row: class_distances(rows[row], near_texts(rows[row], vectors, equivalent), options["classes"])

    def _signature(self, options):
        is_ngram, is_classes = (options["distance"] == name for name in ("ngram", "classes"))
        equivalent, is_drawn = options["equivalent"], IS_DRAWN.holds(options)
        return signature(
            "homogeneity",
            others=None if options["others"] is None else "+".join(options["others"]),
            distance=options["distance"],
            tokenizer=tokenizer_name(options["tokenizer"]) if is_ngram else None,
            equivalent=(getattr(equivalent, "__name__", "function") if callable(equivalent) else equivalent)
            if is_classes
            else None,
            classes=options["classes"] if is_classes else None,
            **(encoder_settings(options) if IS_EMBEDDED.holds(options) else {}),
            p_value=options["p_value"],
            clusters=None if options["clusters"] is None else len(set(options["clusters"])),
            n_resamples=options["n_resamples"] if is_drawn else None,
            seed=options["seed"] if is_drawn else None,
        )
