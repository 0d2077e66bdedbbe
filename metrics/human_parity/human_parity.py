"""Human parity: can candidate captions be distinguished from human ones, how do they differ, and how certain is it?"""

import itertools
import warnings

import evaluate
import numpy as np

from .errors import InputError
from .meteor15_data import METEOR15_DATA
from .meteor_nltk import METEORS, distances_from_meteor, meteor_scorer, meteor_settings
from .ngrams import DOCUMENT_FREQUENCY, FREQUENCIES, frequency_settings
from .ngrams_cider import cider_d_scores, cider_distances
from .options import (
    About,
    Effect,
    Option,
    check_choice,
    check_flag,
    dependent_options,
    one_of,
    value_table,
    whole_number,
)
from .parity_corpus import (
    MEANS,
    PARITY_P_VALUES,
    TextValues,
    check_two_references,
    list_captions,
    lists_of_rows,
    parity_result,
    symmetric,
    trim_result,
    values_of_rows,
    warn_of_copies,
    warn_of_few_rows,
    wording_values,
)
from .parity_gaps import parity_comparison
from .parity_sentences import (
    LANGUAGE,
    are_single_sentences,
    distances_of_texts,
    distances_of_vectors,
    row_spans,
    sentence_rules,
    sentence_support,
    split_sentences,
)
from .parity_tails import TAIL, TAILS
from .parity_texts import (
    captions_as_sentences,
    corpus_faults,
    repeated_phrases,
    sentences_of_rows,
    text_words,
    unsupported_sentences,
)
from .parity_words import words_of
from .rows import CAPTIONS
from .sets_module import (
    CAPTION_COLUMNS,
    IS_TESTED,
    SET_OPTIONS,
    SetMetric,
    Sets,
    caption_rows,
    check_three_texts,
    text_counts,
)
from .sets_tests import TIE_TOLERANCE, check_clusters
from .vectors_rows import (
    READY_VECTORS,
    Vectors,
    check_distance_diagonals,
    check_distance_scale,
    check_nonzero,
    cosine_similarities,
    distance_name,
    distances_from_cosines,
    encode_rows,
    ready_distances,
    text_distances,
)
from .vectors_sentences import ENCODER_OPTIONS, LONG_TEXT_VALUES, SENTENCES
from .words_predictability import (
    LANGUAGE_MODEL,
    WORDING_ALONE,
    load_language_model,
    number_texts,
    seen_references,
    wording_of,
)
from .words_tests import corpus_wording, telling_phrases
from .words_tokenizers import TOKENIZER, ngram_tokens, token_finder, tokenize_rows, tokenizer_name

# isort: split
# What the files above import: evaluate's loader copies only what is named here. Written by `make format`.
from .arrays import map_in_order as map_in_order
from .files import inline_bytes as inline_bytes
from .meteor15_scores import pair_statistics as pair_statistics
from .meteor15_search import Matches as Matches
from .meteor15_words import Prefixes as Prefixes
from .module import CollectionModule as CollectionModule
from .parity_faults import PeopleValues as PeopleValues
from .row_images import text_key as text_key
from .vectors_models import RememberedFeatures as RememberedFeatures
from .words_ptb import Shape as Shape

_DESCRIPTION = """
Human Parity counts the faults of candidate texts of any length, sentence by sentence, each beside people's own rate:
what nobody said, what is left out, odd wording, repetition. It says in one p-value whether the candidates can be
distinguished from human ones, how many rows that takes, and which share of them is generic or near-duplicate. The test
costs little beside the distances of texts, and finds a few wrong captions in a hundred.
"""

_CITATION = """
@article{chen2017generalized,
  title={A New Graph-Based Two-Sample Test for Multivariate and Object Data},
  author={Chen, Hao and Friedman, Jerome H.},
  journal={Journal of the American Statistical Association},
  volume={112}, number={517}, pages={397--409}, year={2017},
  doi={10.1080/01621459.2016.1147356}
}
@misc{song2020generalized,
  title={Generalized Kernel Two-Sample Tests},
  author={Song, Hoseung and Chen, Hao},
  year={2020}, eprint={2011.06127}, archivePrefix={arXiv}
}
"""

_EXAMPLES = """
>>> human_parity = evaluate.load("metrics/human_parity")  # on the Hub: "manycaps/human_parity"
>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> people, system = rng.normal(size=(30, 5, 8)), rng.normal(size=(30, 5, 8))
>>> result = human_parity.compute(prediction_embeddings=system, reference_embeddings=people)
>>> round(result["human_parity_p_value"], 2), round(result["unlike_people_share"], 2)
(0.17, 0.1)
>>> system[:, 0] = -4 * people.mean(axis=1)  # one caption in five is wrong
>>> result = human_parity.compute(prediction_embeddings=system, reference_embeddings=people)
>>> round(result["human_parity_p_value"], 4), round(result["unlike_people_share"], 2), result["rows_to_detect"]
(0.0, 0.27, 10.0)
"""

# Distances by name; "bert" is between embeddings.
DISTANCES = ("bert", "meteor", "meteor15", "cider")

# Keys of a result, beside shares of tails and means of rows, that need two references in every row.
NEED_TWO_REFERENCES = ("human_parity_p_value", "human_parity_statistic", "rows_to_detect")

# What METEOR's function calls its versions.
METEOR_VERSIONS = dict(zip(("meteor", "meteor15"), METEORS, strict=True))


def check_distance(name, distance):
    """Raise unless `distance` is one of `DISTANCES`, or a function."""
    if not callable(distance):
        check_choice(name, distance, DISTANCES)


def check_rows(sizes, columns):
    """Raise if a row cannot be compared: captions can with one reference in every row, by their wording."""
    if columns != CAPTION_COLUMNS or any(n > 1 for _, n in sizes):
        check_three_texts(sizes, columns)


def check_vectors(embedded, columns, options):
    """Raise if a vector has no cosine, or a distance of texts is to compare it."""
    if options["distance"] != "bert":
        raise InputError(
            columns[0], "captions for a distance of texts", "vectors", "Leave distance out for their cosines."
        )
    check_nonzero(embedded, columns)


def compare_by_cosines(vectors, n_candidates, _options):
    """Compare rows of vectors by their cosine distances."""
    return parity_comparison(distances_from_cosines(cosine_similarities(vectors)), n_candidates)


def compare_by_distances(matrices, n_candidates, _options):
    """Compare rows by ready distances."""
    return parity_comparison(symmetric(matrices), n_candidates)


def check_distances(matrices, _options):
    """Raise unless ready distances can be used."""
    check_distance_diagonals(matrices)
    check_distance_scale(matrices)


READY_DISTANCES = ready_distances(check_distances, compare_by_distances, ("distance",))


def when_distance(name):
    """Return when options of one distance have an effect."""
    return Effect("distance", repr(name), lambda options: options["distance"] == name)


# When p-values are drawn.
IS_DRAWN = IS_TESTED._replace(holds=lambda options: options["p_value"] in ("permutation", "exact"))


class HumanParity(SetMetric, evaluate.Metric):
    """Joint test of fidelity and diversity against people, as an evaluate module."""

    ABOUT = About(_DESCRIPTION, _CITATION, _EXAMPLES, ["https://arxiv.org/abs/2011.06127"])
    COLUMNS = CAPTIONS | {
        "references": (
            "n_rows lists of at least two reference captions each; with one in every row, wording alone is "
            "measured, and all other values are NaN. Rows may have different numbers of captions, and count alike."
        )
    }
    READY = READY_VECTORS | READY_DISTANCES
    OPTIONS = (
        {
            "distance": Option(
                "bert",
                check_distance,
                '`"bert"` (1 - cosine of sentence embeddings), `"meteor"` (NLTK\'s METEOR), `"meteor15"` (METEOR 1.5, '
                'of captioning papers), `"cider"` (CIDEr-D), or a function of two lists of n texts that returns n '
                "distances. Of both directions the mean is taken; captions with equal tokens have distance 0.",
            )
        }
        | TOKENIZER
        | LANGUAGE
        | LANGUAGE_MODEL
        | dependent_options(when_distance("cider"), DOCUMENT_FREQUENCY)
        | dependent_options(when_distance("meteor15"), METEOR15_DATA)
        | dependent_options(when_distance("bert"), ENCODER_OPTIONS)
        | SET_OPTIONS
        | dependent_options(IS_DRAWN, {"n_resamples": SET_OPTIONS["n_resamples"]})
        | {"clusters": SET_OPTIONS["clusters"]._replace(needs=None)}
        | {
            "p_value": Option(
                "chi-squared",
                one_of(PARITY_P_VALUES),
                'Of the gaps: `"chi-squared"` (closed form, right at a level of 5% from five rows on), '
                '`"permutation"` (`n_resamples` random splits of every row), `"exact"` (all splits of a row; the '
                'corpus by `n_resamples` draws of them) or `"none"`.',
            ),
            "seed": Option(
                0,
                whole_number(0),
                "Of the tails of fewer than 100 rows, and of drawn p-values. The closed form needs none.",
                needs=IS_TESTED._replace(value="'chi-squared'"),
            ),
            "details": Option(False, check_flag, "`True` adds per-row and per-candidate lists and the signature."),
        }
    )
    VALUES = (
        value_table("""
        * faults | 0 to 1; 0 for people | lower | what of the next four shares lies beyond people's, added up: at
            most so many of the candidates are worse than people's. People have 0, and nothing has fewer
        * unsupported_share | 0 to 1; 0.05 for people | lower | share of the candidates' sentences that are farther from
            what people say than 19 of 20 of people's: they say what nobody said
        omitted_share | 0 to 1; 0.05 for people | lower | share of the candidates that leave out more of what people say
            than 19 of 20 of people's texts. NaN where most of people's texts are one sentence: there it is the
            unsupported share
        odd_wording_share | 0 to 1; 0.05 for people | lower | share of the sentences whose words follow each other less
            predictably than in 19 of 20 of people's, or with more words that nobody else wrote than 99 of 100 of
            people's have
        repeated_share | 0 to 1; repeated_share_of_people for people | lower | share of the candidates that say a word
            twice in a row, three words twice in a sentence, or a sentence twice, where no reference does
        unsupported_share_of_people, omitted_share_of_people, odd_wording_share_of_people, repeated_share_of_people |
            0 to 1 | | the same of people's own texts, each beside the others
        faults_p_value | 0 to 1; above 0.05 in 95% for people | | one-sided: is one of the four shares larger than
            people's? The smallest p-value times their number
        unsupported_p_value, omitted_p_value, odd_wording_p_value, repeated_p_value | 0 to 1 | | with `details` or
            `confidence_level`: of each share, one-sided
        * words_per_text, words_per_text_of_people | 0 or more | | mean number of words of candidates, and of references
        length_gap | in words | 0 | the first less the second
        length_p_value | 0 to 1; above 0.05 in 95% for people | | with `details` or `confidence_level`: two-sided, of
            "people wrote the candidates", by the length gap
        * human_parity_p_value | 0 to 1; above 0.05 in 95% for people | | can the candidates of all rows be
            distinguished from human captions? Gaps, tails, wording and length have 0.72, 0.18, 0.05 and 0.05 of the
            level (Bonferroni), without captions 0.8, 0.2, 0 and 0
        human_parity_statistic | 0 or more; about 2 for people | | T2 of the gaps, for people chi-squared with two
            degrees of freedom (single candidates: one)
        rows_to_detect | 1 to infinity; infinity for people | higher | rows after which one of the tests distinguishes
            the candidates from human captions, 80% of the time at a level of 5%: the larger, the more like people's
        unlike_people_share | 0 to 1; 0.05 for people | | share of the candidates that are farther from the references
            than 19 of 20 human captions
        * generic_share | 0 to 1; 0.05 for people | | share of the candidates that are nearer to the references than 19
            of 20 human captions
        * near_duplicate_share | 0 to 1; 0.05 for people | | share of the pairs of candidates that are nearer to each
            other than 19 of 20 pairs of human captions
        spread_share | 0 to 1; 0.05 for people | | share of these pairs that are farther apart than 19 of 20
        wording_gap | in natural logarithms per word | 0 | mean SLOR of the candidates less the mean of people's
            captions: how much more predictable their words are; below 0 for broken language. Values of wording are NaN
            below ten rows, or clusters
        wording_p_value | 0 to 1; above 0.05 in 95% for people | | two-sided, of "people wrote the candidates", by the
            wording gap
        predictable_share | 0 to 1; 0.05 for people | | share of the candidates that are more predictable than 19 of 20
            human captions
        wrong_share_ci_low | 0 to 1; 0 for people | | with `confidence_level`: lower bound of the share of captions that
            people would not have written, (`unlike_people_share_ci_low` - 0.05) / 0.95, at least 0
        copied_share | 0 to 1; copied_share_expected for people | | share of the candidates at distance 0 from a
            reference: copies, if there are more than expected of people's
        fidelity_gap, diversity_gap | in the unit of the distance | 0 | how much farther candidates are from people, and
            how much more varied, than people are
        energy_distance | in the unit of the distance | 0 | 2 fidelity_gap - diversity_gap
        gaps_p_value, tails_p_value | 0 to 1 | | with `details` or `confidence_level`: of the joint test of both gaps;
            of the shares unlike people, generic and near-duplicate, each tested for more than people's 5%, the
            smallest times their number, NaN below ten rows, or 20 with two references
        human_parity_smallest_p | 0 to 1 | | with `details` or `confidence_level`: the smallest p-value that sets of
            these sizes can have
        fidelity_gap_p_value, diversity_gap_p_value | 0 to 1 | | with `details` or `confidence_level`: of each gap
            alone, two-sided
        copied_share_of_people, copied_share_expected | 0 to 1 | | with `details` or `confidence_level`: share of
            references at distance 0 from another one; and the copied_share of people's candidates, which have one
            reference more to match
        n_rows | | | number of rows
        ..._ci_low, ..._ci_high | | | with `confidence_level`: ends of the intervals of rows_to_detect and of every
            share, gap and distance. NaN where rows have one candidate, and a value needs two
        ..._per_row | | | with `details`: of every share, gap and distance, and of the p-value for `"exact"` and
            `"permutation"`
        conformal_p_value_per_candidate, distance_per_candidate | | | with `details`: share of people's distances, of
            all rows, that are at least as large as the candidate's (one added to both counts); and its mean distance
            from the references
        distance_histogram | | | with `details`: share of the candidates in each twentieth of people's distances, the
            nearest first; 0.05 each for people. The first is `generic_share`, the last `unlike_people_share`
        wording_per_candidate | | | with `details`: SLOR
        unsupported_sentences | | | with `details`: [row, candidate, sentence, its text, the nearest span of the
            references] of the 100 sentences that are farthest from what people say, the worst first
        repeated_phrases | | | with `details`: [row, candidate, phrase] of 100 repetitions at most
        oddest_wording | | | with `details`: [row, candidate] of the 100 candidates with the lowest SLOR
        phrases | | | with `details`: up to 20 phrases of one to three words that candidates have more often, or less
            often, than people: dicts with `phrase`, `begins` and `ends` (whether captions begin, or end, with it),
            `share`, `share_of_people`, and `p_value`, adjusted for all phrases. Chosen so that 5% of them at most are
            false
        most_unlike_people, most_alike | | | with `details`: [row, candidate] of the 100 candidates farthest from their
            references, and [row, candidate, candidate] of the 100 pairs nearest to each other: where to look
        signature | | | with `details`: everything that determines the numbers
    """)
        + LONG_TEXT_VALUES
    )
    token_finder = token_finder
    PARTS = SENTENCES | FREQUENCIES
    ROW_CHECKS = (check_rows,)
    SETS = Sets(
        size_checks=(check_two_references,),
        settings=lambda options: {"ties": TIE_TOLERANCE, "tail": TAIL, "distance": distance_name(options["distance"])},
    )
    VECTORS = Vectors(compare_by_cosines, check_vectors)

    def has_token(self, options):
        """Return the function that says whether something of a caption is read with these options."""
        return super().has_token(options if options["distance"] in DISTANCES[1:] else {"tokenizer": "raw"})

    def rows_of(self, predictions, references, options):
        """Return the rows of captions, whose wording comes from their tokens whatever their distances are."""
        if options["distance"] == "bert":
            rows = encode_rows(self, predictions, references, options)
        else:
            distances, settings = self.text_distances(references, options)

            def compare(rows, n_candidates):
                return parity_comparison(symmetric(np.stack(distances(rows))), n_candidates)

            rows = caption_rows(predictions, references, compare, **settings)
        return rows._replace(settings={**rows.settings, **self.wording_settings(options)})

    def text_distances(self, references, options):
        """Return the function from rows of captions to the distances of all pairs, and what decides them."""
        distance, tokenizer = options["distance"], options["tokenizer"]
        if callable(distance):
            return (lambda rows: text_distances(rows, distance)), {}
        settings = {"tokenizer": tokenizer_name(tokenizer)}
        if distance == "cider":
            frequency = self.frequencies.count(references, options)

            def by_cider(rows):
                tokens = ngram_tokens(rows, tokenizer)
                return cider_distances(tokens, cider_d_scores(tokens, frequency.counts, frequency.n_documents))

            return by_cider, settings | frequency_settings(frequency, options)
        which = METEOR_VERSIONS[distance], options["meteor15_data"], self.progress
        score = meteor_scorer(*which)

        def by_meteor(rows):
            tokens = tokenize_rows(rows, tokenizer)
            return distances_from_meteor(tokens, score(tokens))

        return by_meteor, settings | meteor_settings(*which)

    def result(self, predictions, references, options):
        """Check the sizes of all rows, compare the captions and their wording, and return the result."""
        if max(map(len, references)) < 2:
            return self.wording_result(predictions, references, options)
        self.check_sizes(text_counts(predictions, references), CAPTION_COLUMNS, options)
        rows = self.rows_of(predictions, references, options)
        texts = self.number_texts(predictions, references, options)
        return self.summary(rows, options, texts, self.divide(predictions, references, texts, options))

    def divide(self, predictions, references, texts, options):
        """Return the sentences of all texts: their words, and their spans and distances, None where each is one."""
        captions = itertools.chain.from_iterable((*predictions, *references))
        if are_single_sentences(captions, options["language"]):
            is_tested = options["language_model"] is None
            return text_words(captions_as_sentences(texts), is_tested=is_tested), None, None
        spans, distances = self.sentence_distances(predictions, references, options)
        return self.sentence_words(predictions, references, options), spans, distances

    def sentence_distances(self, predictions, references, options):
        """Return the spans of all rows, and how their sentences are compared; None where every text is one sentence."""
        spans = row_spans(predictions, references, options["language"])
        if all(max(row.n_sentences) == 1 for row in spans):
            return spans, None
        if options["distance"] != "bert":
            return spans, distances_of_texts(self.text_distances(references, options)[0])
        return spans, distances_of_vectors(spans, lambda captions: self.encoder.embed(captions, options, self.progress))

    @staticmethod
    def sentence_words(predictions, references, options):
        """Return the words of the sentences of all texts, scored by a model of the sentences of other rows."""
        divided = [[split_sentences(row, options["language"]) for row in side] for side in (predictions, references)]
        flat = tokenize_rows([text for side in divided for row in side for text in row], options["tokenizer"])
        tokens = iter(flat)
        sides = [[[next(tokens) for _ in row] for row in side] for side in divided]
        model = load_language_model(options["language_model"], options["tokenizer"])
        return text_words(sentences_of_rows(*sides, options["clusters"], model), is_tested=model is None)

    def wording_result(self, predictions, references, options):
        """Return the result of rows with one reference each: of their wording alone, NaN for what needs two."""
        warnings.warn(WORDING_ALONE, stacklevel=2)
        level, clusters = options["confidence_level"], options["clusters"]
        if clusters is not None:
            check_clusters(clusters, len(predictions))
        texts = self.number_texts(predictions, references, options)
        measured = corpus_wording(wording_of(texts, is_tested=options["language_model"] is None), clusters, level)
        words = self.sentence_words(predictions, references, options)
        sizes = text_counts(predictions, references)
        result = self.single_references_result(measured, words, sizes, options)
        if not options["details"]:
            return result
        phrases = telling_phrases(texts, clusters) if measured.is_measured else []
        lists = measured.lists() | {"phrases": [phrase._asdict() for phrase in phrases]}
        lists |= {"repeated_phrases": repeated_phrases(words.sentences)}
        return result | lists | {"signature": self._signature(options, self.wording_settings(options))}

    def single_references_result(self, wording, words, sizes, options):
        """Return the values of rows with one reference each, without lists: of wording, odd sentences and length."""
        level, clusters, is_tested = options["confidence_level"], options["clusters"], options["p_value"] != "none"
        faults = corpus_faults(None, None, words, sizes, options, is_tested=is_tested)
        found = TextValues(faults, words.length(clusters, level, np.array(sizes)))
        return trim_result(self.without_meaning(wording, options) | found.result(level, is_tested=is_tested), options)

    @staticmethod
    def without_meaning(wording, options):
        """Return the values of the wording, NaN for what needs two references; warn where there are too few rows."""
        wording.warn_of_few_rows()
        result = dict.fromkeys((*NEED_TWO_REFERENCES, *TAILS, *MEANS), float("nan"))
        result |= {"n_rows": len(wording.rows.sizes)}
        return result | wording_values(wording, options["confidence_level"], is_tested=options["p_value"] != "none")

    @staticmethod
    def wording_settings(options):
        """Return what decides the wording, for the signature."""
        model = "references" if options["language_model"] is None else "file"
        sentences = sentence_rules(options["language"])
        return {"tokenizer": tokenizer_name(options["tokenizer"]), "language_model": model, "sentences": sentences}

    @staticmethod
    def number_texts(predictions, references, options):
        """Return the words of all captions, and of the language model, as numbers."""
        candidates, people = (tokenize_rows(rows, options["tokenizer"]) for rows in (predictions, references))
        model = load_language_model(options["language_model"], options["tokenizer"])
        texts = number_texts(candidates, people, options["clusters"], model)
        seen_references(texts).warn()
        return texts

    def row_values(self, predictions, references):
        """Return what the corpus needs of every row, with the options of load time; see `values_of_rows`."""
        options = {**self.load_options, "p_value": "none", "confidence_level": None}
        self.check_sizes(text_counts(predictions, references), CAPTION_COLUMNS, options)
        return values_of_rows(self.rows_of(predictions, references, options), options, self.progress)

    def summary(self, rows, options, texts=None, divided=(None, None, None)):
        """Compare all rows, and build the result, with `texts` of their wording, and their sentences, too."""
        values = values_of_rows(rows, options, self.progress)
        tails, wording, length, support = values.tails(options), None, None, None
        words, spans, distances = divided
        if texts is not None:
            word_rows = wording_of(texts, is_tested=options["language_model"] is None)
            wording = corpus_wording(word_rows, options["clusters"], options["confidence_level"])
            length = words.length(options["clusters"], options["confidence_level"], texts.sizes)
            if spans is not None:
                support = sentence_support(spans, distances, self.progress)
        is_tested = options["p_value"] != "none"
        faults = corpus_faults(tails, support, words, rows.sizes, options, is_tested=is_tested)
        warn_of_few_rows(tails, options)
        if wording is not None:
            wording.warn_of_few_rows()
        warn_of_copies(values.columns, options["clusters"])
        measured = parity_result(values.columns, tails, options, values.drawn, wording, TextValues(faults, length))
        result = trim_result(measured, options) | rows.n_unread()
        if not options["details"]:
            return result
        lists = lists_of_rows(values, tails) | list_captions(values.distances, tails.people[False])
        if wording is not None:
            phrases = telling_phrases(texts, options["clusters"]) if wording.is_measured else []
            lists |= {**wording.lists(), "phrases": [phrase._asdict() for phrase in phrases]}
            lists |= {"repeated_phrases": repeated_phrases(words.sentences)}
        if support is not None:
            lists |= {"unsupported_sentences": unsupported_sentences(spans, support, distances)}
        return result | lists | faults.lists() | {"signature": self._signature(options, rows.settings)}

    @staticmethod
    def words(result):
        """Say what a result with confidence_level=0.95 means, in sentences that are each false in at most 5%."""
        return [word.sentence for word in words_of(result)]
