"""CHAIR: objects that captions name, and which of them are not in the image, by rules, and people's own value.

Rohrbach et al. (2018), https://arxiv.org/abs/1809.02156, section 3.1: CHAIR-i is the share of all mentions of objects
that are hallucinated, CHAIR-s the share of captions with such a mention. An object is in the image if it is among the
image's labels, or if a human caption names it. The rules, the order in which they apply and the vocabulary come from
the published program (LisaAnne/Hallucination, utils/chair.py): NLTK's tokens, singular forms, then pairs of words that
are read as one. `tests/oracles` has a slow version of the leave-one-out values.
"""

import collections
import difflib
import functools
import itertools
import math
import re
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .arrays import CaptionRows, Floats, Ints, as_list
from .errors import InputError, InputTypeError, check_installed, check_n_rows, quote_value
from .rows import as_caption_rows, check_no_table, check_row_counts, warn_of_decoder_signs
from .sets_tests import ClusteredMean, mean_interval, mean_of_rows, one_sided_p_value, wilson_interval

# Objects of COCO's instances, each with the words that name it; the first word is the object's name (synonyms.txt of
# the published program).
COCO_OBJECTS = (
    "person, girl, boy, man, woman, kid, child, chef, baker, people, adult, rider, children, baby, worker, "
    "passenger, sister, biker, policeman, cop, officer, lady, cowboy, bride, groom, male, female, guy, traveler, "
    "mother, father, gentleman, pitcher, player, skier, snowboarder, skater, skateboarder, foreigner, caller, "
    "offender, coworker, trespasser, patient, politician, soldier, grandchild, serviceman, walker, drinker, "
    "doctor, bicyclist, thief, buyer, teenager, student, camper, driver, solider, hunter, shopper, villager",
    "bicycle, bike, unicycle, minibike, trike",
    "car, automobile, van, minivan, sedan, suv, hatchback, cab, jeep, coupe, taxicab, limo, taxi",
    "motorcycle, scooter,  motor bike, motor cycle, motorbike, moped",
    "airplane, jetliner, plane, air plane, monoplane, aircraft, jet, airbus, biplane, seaplane",
    "bus, minibus, trolley",
    "train, locomotive, tramway, caboose",
    "truck, pickup, lorry, hauler, firetruck",
    "boat, ship, liner, sailboat, motorboat, dinghy, powerboat, speedboat, canoe, skiff, yacht, kayak, catamaran, "
    "pontoon, houseboat, vessel, rowboat, trawler, ferryboat, watercraft, tugboat, schooner, barge, ferry, "
    "sailboard, paddleboat, lifeboat, freighter, steamboat, riverboat, battleship, steamship",
    "traffic light, street light, traffic signal, stop light, streetlight, stoplight",
    "fire hydrant, hydrant",
    "stop sign",
    "parking meter",
    "bench, pew",
    "bird, ostrich, owl, seagull, goose, duck, parakeet, falcon, robin, pelican, waterfowl, heron, hummingbird, "
    "mallard, finch, pigeon, sparrow, seabird, osprey, blackbird, fowl, shorebird, woodpecker, egret, chickadee, "
    "quail, bluebird, kingfisher, buzzard, willet, gull, swan, bluejay, flamingo, cormorant, parrot, loon, "
    "gosling, waterbird, pheasant, rooster, sandpiper, crow, raven, turkey, oriole, cowbird, warbler, magpie, "
    "peacock, cockatiel, lorikeet, puffin, vulture, condor, macaw, peafowl, cockatoo, songbird",
    "cat, kitten, feline, tabby",
    "dog, puppy, beagle, pup, chihuahua, schnauzer, dachshund, rottweiler, canine, pitbull, collie, pug, terrier, "
    "poodle, labrador, doggie, doberman, mutt, doggy, spaniel, bulldog, sheepdog, weimaraner, corgi, cocker, "
    "greyhound, retriever, brindle, hound, whippet, husky",
    "horse, colt, pony, racehorse, stallion, equine, mare, foal, palomino, mustang, clydesdale, bronc, bronco",
    "sheep, lamb, ram, goat, ewe",
    "cow, cattle, oxen, ox, calf, holstein, heifer, buffalo, bull, zebu, bison ",
    "elephant",
    "bear, panda",
    "zebra",
    "giraffe",
    "backpack, knapsack",
    "umbrella",
    "handbag, wallet, purse, briefcase",
    "tie, bow, bow tie",
    "suitcase, suit case, luggage",
    "frisbee",
    "skis, ski",
    "snowboard",
    "sports ball, ball",
    "kite",
    "baseball bat",
    "baseball glove",
    "skateboard",
    "surfboard, longboard, skimboard, shortboard, wakeboard",
    "tennis racket, racket",
    "bottle",
    "wine glass",
    "cup",
    "fork",
    "knife, pocketknife, knive",
    "spoon",
    "bowl, container",
    "banana",
    "apple",
    "sandwich, burger, sub, cheeseburger, hamburger",
    "orange",
    "broccoli",
    "carrot",
    "hot dog",
    "pizza",
    "donut, doughnut, bagel",
    "cake,  cheesecake, cupcake, shortcake, coffeecake, pancake",
    "chair, seat, stool",
    "couch, sofa, recliner, futon, loveseat, settee, chesterfield ",
    "potted plant, houseplant",
    "bed",
    "dining table, table, desk",
    "toilet, urinal, commode, lavatory, potty",
    "tv, monitor, televison, television",
    "laptop, computer, notebook, netbook, lenovo, macbook, laptop computer",
    "mouse",
    "remote",
    "keyboard",
    "cell phone, mobile phone, phone, cellphone, telephone, phon, smartphone, iPhone",
    "microwave",
    "oven, stovetop, stove, stove top oven",
    "toaster",
    "sink",
    "refrigerator, fridge, freezer",
    "book",
    "clock",
    "vase",
    "scissors",
    "teddy bear, teddybear",
    "hair drier, hairdryer",
    "toothbrush",
)

# Pairs of words that are read as one, and pairs that are read as another word. The published list also has "stove top
# oven", which no pair of words can be.
COCO_PAIRS = (
    "motor bike, motor cycle, air plane, traffic light, street light, traffic signal, stop light, fire hydrant, "
    "stop sign, parking meter, suit case, sports ball, baseball bat, baseball glove, tennis racket, wine glass, "
    "hot dog, cell phone, mobile phone, teddy bear, hair drier, potted plant, laptop computer, home plate, train track"
)
COCO_PAIRS_READ_AS = {
    "bow tie": "tie",
    "toilet seat": "toilet",
    "wine glas": "wine glass",  # TextBlob's singular form of glass
    **{f"passenger {vehicle}": vehicle for vehicle in ("jet", "train")},
    **{
        f"{age} {animal}": animal
        for age in ("baby", "adult")
        for animal in "bird cat dog horse sheep cow elephant bear zebra giraffe animal cub".split()
    },
}

# The seat of a toilet is no chair: words that are left out of captions that have another word.
COCO_LEFT_OUT = {"seat": "toilet"}

# Distinct words whose singular forms are kept.
KEPT_WORDS = 1 << 17

# What NLTK's tokenizer does something about, except for commas, a last period and a genitive: few captions have it.
SPECIAL = re.compile(r"[^a-z0-9 ,.'-]|--|,(?! )|\.(?! *$)|(?<![a-z0-9])'|'(?!s(?:[ ,.]|$))")
CONTRACTED = frozenset("cannot gimme gonna gotta lemme wanna".split())

# Rows, or clusters, from which the gap has a p-value and an interval: people against people have p up to 0.05 in 10%
# of draws of 30 rows, as few captions name what nobody else names, in 5 to 7% of 50, and in 3 to 6% of 100 and more.
LEAST_COMPARED = 50

# What is counted of captions, in this order: mentions, hallucinated ones, objects of the ground truth that are named,
# and objects of the ground truth.
N_COUNTS = 4


class Mention(NamedTuple):
    """An object that a caption names."""

    object: str
    # The word, in its singular form, or the words that name it.
    word: str
    # Number of its first token in the caption.
    position: int


class Vocabulary(NamedTuple):
    """Objects, the words that name them, and how a caption becomes words."""

    # Name of the object by the word that names it; several words are joined by blanks.
    objects: Mapping[str, str]
    # What several words are read as, by these words, and the lengths of the phrases that begin with a word.
    phrases: Mapping[tuple[str, ...], str]
    lengths: Mapping[str, Sequence[int]]
    # Words that are left out of captions which name an object by another word, the one behind them.
    left_out: Mapping[str, str]
    # From a caption to its words.
    words: Callable[[str], Sequence[str]]

    def mentions(self, caption: str) -> list[Mention]:
        """Return the objects that a caption names, in its order.

        >>> [mention.object for mention in own_vocabulary({"fire truck": ["fire engine"]}).mentions("two fire engines")]
        ['fire truck']
        """
        words = self.words(caption)
        has_phrase, objects = not self.lengths.keys().isdisjoint(words), self.objects
        read = self._read(words) if has_phrase else enumerate(words)
        named = [Mention(objects[word], word, position) for position, word in read if word in objects]
        if len(named) < 2 or self.left_out.keys().isdisjoint(words):
            return named
        present = {mention.word for mention in named}
        return [mention for mention in named if self.left_out.get(mention.word) not in present]

    def object_named(self, name: str) -> str | None:
        """Return the object that a label names: by the name, one of its words, or either as captions are read.

        >>> own = own_vocabulary({"TV": ["television"], "bus": []})
        >>> [own.object_named(name) for name in ("TV", "tv", "Televisions", "bus", "bus stop")]
        ['TV', 'TV', 'TV', 'bus', None]
        """
        if name in self.objects.values():
            return name
        for word in (name, name.lower()):
            if word in self.objects:
                return self.objects[word]
        read = self._read(self.words(name))
        return self.objects.get(read[0][1]) if len(read) == 1 else None

    def _read(self, words: Sequence[str]) -> list[tuple[int, str]]:
        """Words with their positions, from left to right; phrases are one word, the longest first."""
        read, position = [], 0
        while position < len(words):
            word, n_words = words[position], 1
            for length in self.lengths.get(word, ()):
                phrase = self.phrases.get(tuple(words[position : position + length]))
                if phrase is not None:
                    word, n_words = phrase, length
                    break
            read.append((position, word))
            position += n_words
        return read


def coco_vocabulary() -> Vocabulary:
    """Return the 80 objects of COCO, read as the published program reads them."""
    groups = [group.split(", ") for group in COCO_OBJECTS]
    objects = {word: group[0] for group in groups for word in group}
    return _vocabulary(objects, {pair: pair for pair in COCO_PAIRS.split(", ")} | COCO_PAIRS_READ_AS, COCO_LEFT_OUT)


def own_vocabulary(
    synonyms: Mapping[str, Iterable[str]], words: Callable[[str], Sequence[str]] | None = None
) -> Vocabulary:
    """Return a vocabulary out of a mapping from names to words that name them, one or several each.

    Args:
        synonyms: a name is among its own words.
        words: from a caption, and a synonym, to words; default: English, in the singular form.

    Raises:
        TypeError, ValueError: no objects, a synonym that is no text or has no word, a word that names two objects.

    >>> own_vocabulary({"dog": ["puppy"], "cat": []}).mentions("Puppies")[0].object
    'dog'
    """
    if not isinstance(synonyms, Mapping) or not synonyms:
        fix = "Give for example {'dog': ['puppy', 'hound'], 'traffic light': []}."
        raise InputTypeError("vocabulary", "lists of words by the name of the object", quote_value(synonyms), fix)
    objects: dict[str, str] = {}
    for name, given in synonyms.items():
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InputTypeError(f"vocabulary[{name!r}]", "a list of words", quote_value(given), "Give a list.")
        check_no_table(given, f"vocabulary[{name!r}]", "a list of words")
        for text in (name, *given):
            split = (words or singular_words)(text) if isinstance(text, str) else ()
            if not split:
                raise InputError(f"vocabulary[{name!r}]", "words", quote_value(text), "Leave it out.")
            word = " ".join(split)
            if objects.setdefault(word, name) != name:
                got = f"{text!r}, which also names {objects[word]!r}"
                raise InputError(f"vocabulary[{name!r}]", "words of one object", got, "Leave it out of one of them.")
    return _vocabulary(objects, {word: word for word in objects if " " in word}, {}, words)


def _vocabulary(
    objects: Mapping[str, str],
    phrases: Mapping[str, str],
    left_out: Mapping[str, str],
    words: Callable[[str], Sequence[str]] | None = None,
) -> Vocabulary:
    split = {tuple(phrase.split(" ")): word for phrase, word in phrases.items()}
    lengths: dict[str, list[int]] = {}
    for phrase in sorted(split, key=len, reverse=True):
        word_lengths = lengths.setdefault(phrase[0], [])
        word_lengths += [] if len(phrase) in word_lengths else [len(phrase)]
    return Vocabulary(objects, split, lengths, left_out, words or singular_words)


def singular_words(caption: str) -> list[str]:
    """Return the tokens of a caption in lower case and in the singular form, as the published program makes them.

    The tokens equal NLTK's `word_tokenize(caption.lower(), preserve_line=True)`.

    >>> singular_words("Two women ride buses.")
    ['two', 'woman', 'ride', 'bus', '.']
    """
    caption = caption.lower()
    body = caption.removesuffix(".")
    if body.isascii() and body.replace(" ", "").isalnum():  # as most captions are
        words = body.split()
        words += ["."] if body != caption else []
        is_plain = True
    else:
        words = caption.replace(",", " ,").replace(".", " .").replace("'s", " 's").split()
        is_plain = SPECIAL.search(caption) is None
    if not (is_plain and CONTRACTED.isdisjoint(words)):
        words = _nltk_tokenizer().tokenize(caption)
    return list(map(_singular, words))


@functools.cache
def _nltk_tokenizer() -> Any:
    from nltk.tokenize import NLTKWordTokenizer

    return NLTKWordTokenizer()


@functools.cache
def _singularize() -> Callable[[str], str]:
    check_installed(["textblob"], "chair", "Install the package textblob, or give tokenizer= for words as they come.")
    from textblob.inflect import singularize

    return singularize


@functools.lru_cache(maxsize=KEPT_WORDS)
def _singular(word: str) -> str:
    return str(_singularize()(word))


class RowObjects(NamedTuple):
    """What the captions of a row name, beside the ground truth."""

    # Of every candidate: what it names, and what of that is hallucinated.
    named: list[list[Mention]]
    hallucinated: list[list[Mention]]
    # Sums of the `N_COUNTS`: of candidates, and of references, each by the ground truth without it.
    counts: tuple[tuple[int, ...], tuple[int, ...]]
    # Whether the labels hold all that the references name; None without labels, or without a name.
    is_held: bool | None
    # Share of the candidates that hallucinate; the same by the ground truths without a reference, mean over these; and
    # the share of the references that do. The last two are NaN without people to compare with.
    shares: tuple[float, float, float]


def row_objects(
    candidates: Iterable[list[Mention]], references: Iterable[list[Mention]], objects: frozenset[str] | None = None
) -> RowObjects:
    """Compare what the candidates of a row name with its ground truth: labels, what references name, or both.

    A reference is compared with the ground truth without it, and so are the candidates for their value beside people:
    if a candidate is a human caption, both shares have the same expectation, whatever the number of references.

    Args:
        candidates: mentions of each, at least one candidate.
        references: mentions of each; none: only labels.
        objects: labels of the image; None: only references.

    >>> dog, bed = Mention("dog", "puppy", 1), Mention("bed", "bed", 4)
    >>> row_objects([[dog, bed], [dog]], [[dog], [dog], [bed]]).shares
    (0.0, 0.16666666666666666, 0.3333333333333333)
    """
    named, known = list(candidates), objects or frozenset()
    named_lists, lists = ([[mention.object for mention in caption] for caption in side] for side in (named, references))
    named_sets, sets = list(map(frozenset, named_lists)), list(map(frozenset, lists))
    n_naming = collections.Counter(itertools.chain.from_iterable(sets))
    truth = known.union(n_naming)
    # Ground truths without a reference: what only this one names is missing.
    named_once = {name for name, n in n_naming.items() if n == 1} - known
    without_one = [truth if named_once.isdisjoint(names) else truth - (named_once & names) for names in sets]
    if objects is None and len(sets) < 2:
        lists, sets, without_one = [], [], []
    hallucinated = [
        [] if names <= truth else [mention for mention in caption if mention.object not in truth]
        for caption, names in zip(named, named_sets, strict=True)
    ]
    truths = itertools.repeat(truth)
    is_held = known.issuperset(n_naming) if objects is not None and n_naming else None
    return RowObjects(
        named,
        hallucinated,
        (
            _sums(list(map(_counts, named_lists, named_sets, truths))),
            _sums(list(map(_counts, lists, sets, without_one))),
        ),
        is_held,
        (
            _share([bool(caption) for caption in hallucinated]),
            _share([not names <= others for names in named_sets for others in without_one]),
            _share([not names <= others for names, others in zip(sets, without_one, strict=True)]),
        ),
    )


def _counts(names: Sequence[str], distinct: frozenset[str], truth: frozenset[str]) -> tuple[int, int, int, int]:
    if distinct <= truth:  # as most are
        return len(names), 0, len(distinct), len(truth)
    return len(names), len([name for name in names if name not in truth]), len(truth & distinct), len(truth)


def _sums(counts: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*counts, strict=True))) if counts else (0,) * N_COUNTS


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else math.nan


def shares_in_image(rows: Iterable[RowObjects]) -> Floats:
    """Return the share of each candidate's mentions that are not hallucinated, 0 to 1; 1 of a caption without any."""
    return np.array(
        [
            1 - len(hallucinated) / len(named) if named else 1.0
            for row in rows
            for named, hallucinated in zip(row.named, row.hallucinated, strict=True)
        ]
    )


class ObjectSums(NamedTuple):
    """What the values of rows are made of: counts are added up, shares appended."""

    # int64, shape (2, 4): sums of `RowObjects.counts`; and float64, shape (n_rows, 3): `RowObjects.shares`.
    counts: Ints
    shares: Floats
    # int64, shape (2,): rows with labels whose references name something, and those whose labels hold all of it.
    held: Ints = np.zeros(2, dtype=np.int64)


def object_sums(rows: Iterable[RowObjects]) -> ObjectSums:
    """Add rows up; their mentions are not kept."""
    kept = [(row.counts, row.shares, row.is_held) for row in rows]
    counts, shares, held = zip(*kept, strict=True) if kept else ((), (), ())
    sums = np.array(counts, dtype=np.int64).reshape(-1, 2, N_COUNTS).sum(axis=0)
    return ObjectSums(sums, np.array(shares), np.array([len(held) - held.count(None), held.count(True)]))


def compare_rows(
    predictions: CaptionRows, references: CaptionRows, objects: Sequence[frozenset[str]] | None, vocabulary: Vocabulary
) -> Iterator[RowObjects]:
    """Compare the captions of every row, one row after the other; without references, their lists are empty."""
    truths = [None] * len(predictions) if objects is None else objects
    for candidates, people, labels in zip(predictions, references, truths, strict=True):
        yield row_objects(map(vocabulary.mentions, candidates), map(vocabulary.mentions, people), labels)


def object_values(
    sums: ObjectSums, confidence_level: float | None = None, clusters: Sequence[Hashable] | None = None
) -> dict[str, float]:
    """Return the values of all rows.

    Args:
        sums: of all rows, at least one.
        confidence_level: of intervals; None: no intervals.
        clusters: n_rows labels; None: every row stands for itself.

    Returns:
        Shares, 0 to 1; the gap, -1 to 1, 0 for people, and its two-sided p-value, Student's without skewness, which is
        NaN, as is the interval of the gap, below `LEAST_COMPARED` rows or clusters, and where the labels already hold
        all that references name, as the published files have them: people's value is then 0 by construction.
    """
    counts, shares, held = sums
    is_held = bool(held[0]) and held[0] == held[1]
    if is_held:
        warnings.warn(
            f"objects: they hold all objects that the references name, in each of {held[0]:,} rows, as the published "
            "files of CHAIR do. People's value is 0 by construction, and the gap is not tested: give the objects of "
            "labels alone, or leave them out.",
            stacklevel=2,
        )
    known = ~np.isnan(shares[:, 2])
    labels = None if clusters is None else [label for label, is_known in zip(clusters, known, strict=True) if is_known]
    compared = shares[known]
    gaps = compared[:, 1] - compared[:, 2]
    result = {
        "chair_i": _ratio(counts[0, 1], counts[0, 0]),
        "chair_s": math.fsum(shares[:, 0]) / len(shares),
        "recall": _ratio(counts[0, 2], counts[0, 3]),
        "chair_i_of_people": _ratio(counts[1, 1], counts[1, 0]),
        "chair_s_of_people": _ratio(math.fsum(compared[:, 2]), len(compared)),
        "recall_of_people": _ratio(counts[1, 2], counts[1, 3]),
        "chair_s_compared": _ratio(math.fsum(compared[:, 1]), len(compared)),
        "chair_s_gap": _ratio(math.fsum(gaps), len(gaps)),
        "chair_p_value": math.nan,
    }
    mean_gap = mean_of_rows(gaps.tolist(), labels) if len(gaps) else ClusteredMean(math.nan, math.nan, 0.0, 0)
    is_tested = mean_gap.n_clusters >= LEAST_COMPARED and not is_held
    if is_tested:
        result["chair_p_value"] = gap_p_value(mean_gap)
    if confidence_level is not None:
        mean_share = mean_of_rows(shares[:, 0].tolist(), clusters)
        ends = wilson_interval(mean_share.mean, mean_share.standard_error, mean_share.n_clusters, confidence_level)
        gap_ends = mean_interval(mean_gap, confidence_level) if is_tested else (math.nan, math.nan)
        result |= {"chair_s_ci_low": ends[0], "chair_s_ci_high": ends[1]}
        result |= {"chair_s_gap_ci_low": gap_ends[0], "chair_s_gap_ci_high": gap_ends[1]}
    return result


def gap_p_value(gap: ClusteredMean) -> float:
    """Return the two-sided p-value of "the mean of the rows' gaps is 0", by the spread of the clusters.

    Where all gaps are equal, their spread is taken with one more row without a gap.

    >>> gap_p_value(mean_of_rows([0.0] * 9)), round(gap_p_value(mean_of_rows([0.5, -0.25, 0.5, 0.5])), 3)
    (1.0, 0.354)
    """
    if gap.standard_error == 0:
        if gap.mean == 0:
            return 1.0
        gap = mean_of_rows([*[gap.mean] * gap.n_clusters, 0.0])
    other = gap._replace(mean=-gap.mean, skewness=-gap.skewness)
    return min(1.0, 2 * min(one_sided_p_value(gap), one_sided_p_value(other)))


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else math.nan


def as_objects(objects: Any, n_rows: int, vocabulary: Vocabulary) -> list[frozenset[str]]:
    """Return the labels of every row by the names of the vocabulary, or name the first that it does not know."""
    check_no_table(objects, "objects", "a list of names for each row")
    if isinstance(objects, str | Mapping) or not isinstance(objects, Collection):
        raise InputTypeError("objects", "a list of names for each row", quote_value(objects), "Give lists.")
    objects = as_list(objects, "objects", "a list of names for each row")
    fix = "Give an empty list for an image without objects."
    check_n_rows("objects", len(objects), "predictions", n_rows, "list", fix)
    rows = []
    for i, row in enumerate(objects):
        if isinstance(row, str | Mapping) or not isinstance(row, Iterable):
            raise InputTypeError(f"objects[{i}]", "a list of names", quote_value(row), "Give a list.")
        names = enumerate(as_list(row, f"objects[{i}]", "a list of names"))
        rows.append(frozenset(_object_name(name, f"objects[{i}][{j}]", vocabulary) for j, name in names))
    return rows


def _object_name(name: Any, where: str, vocabulary: Vocabulary) -> str:
    known = vocabulary.object_named(name) if isinstance(name, str) else None
    if known is None:
        names = set(vocabulary.objects.values())
        nearest = difflib.get_close_matches(name, names, 1) if isinstance(name, str) else []
        meant = f"Did you mean {nearest[0]!r}?" if nearest else "Give names of the vocabulary, or your own vocabulary=."
        raise InputError(where, f"one of {len(names)} objects", quote_value(name), meant)
    return known


def chair(
    candidates: CaptionRows,
    references: CaptionRows | None = None,
    objects: Sequence[Collection[str]] | None = None,
    *,
    vocabulary: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, float]:
    """Find objects in captions that are not in the image: CHAIR (Rohrbach et al. 2018), and people's own value.

    CHAIR-i = hallucinated mentions / mentions, CHAIR-s = captions with one / captions
    (https://arxiv.org/abs/1809.02156, section 3.1).

    Args:
        candidates: n_rows lists of captions, at least one per row.
        references: n_rows lists of human captions, whose objects are in the image.
        objects: n_rows lists of names of objects in the image.
        vocabulary: names of objects, each with a list of words; None for COCO's 80 objects.

    Returns:
        "chair_i", "chair_s", "recall" and the other values of the module `chair`, by name, 0 to 1; the gap -1 to 1.

    Raises:
        TypeError, ValueError: a column is no list of rows, or they differ in length; a name is unknown; neither
            references nor objects are given.

    >>> round(chair([["a dog on a bed"]], [["a puppy sleeps", "a dog"]])["chair_i"], 2)
    0.5
    """
    known = coco_vocabulary() if vocabulary is None else own_vocabulary(vocabulary)
    rows = as_caption_rows(candidates, "candidates")
    if references is None and objects is None:
        raise InputError("references", "human captions, or objects", "neither", "Give one of them.")
    people = [[] for _ in rows] if references is None else as_caption_rows(references, "references")
    check_row_counts(len(rows), len(people))
    warn_of_decoder_signs(rows, people, "candidates")
    labels = None if objects is None else as_objects(objects, len(rows), known)
    return object_values(object_sums(compare_rows(rows, people, labels, known)))
