"""Do the shares of human parity say what is true of speakers whose faults are known, and are its words ever false?

python -m scripts.studies.human_parity_truth [--data FOLDER --corpus MSVD] [--output FOLDER]

Without a corpus on the made world, whose people describe scenes of coloured shapes. Three kinds of cells:

"truth": a speaker says, of each caption, with one probability a caption of another image ("wrong"), and then, of each
but the first, with another probability what the first one was ("repeated"), in all combinations of both from 0 to 1:
means over all rows that are drawn, with 95% intervals over images.
"words": corpora of a size with the damages of `human_parity_power`; how often `manycaps compare` says each sentence
about a system, by the names of `manycaps.comparison.sentences`, and whether it is false: of people all are, of others
those that name another fault. `DESERVED` says which are true. "bound": no difference from people is detected, and the
"at most X %" of unsupported captions lies below the share of all corpora; "wrong above": unsupported captions are said,
and `wrong_share_ci_low` lies above the share of wrong captions, where that is known.
"speakers": the speakers of `parity_speakers.py`, by MiniLM or as made points: people, one or five bland captions per
image, some of them wrong, and rows whose captions are all of one other image. "found": p <= 0.05; "gaps", "tails": by
one test alone; "bound below": nothing is detected, and "at most X %" lies below the share of wrong captions; "listed
first": a table with people on the same images lists the speaker before them, or beside them; "covers": share of the
95% intervals that hold the share of all corpora.

Written: human_parity_truth.csv, human_parity_truth_moves.csv (how far each share rises with its own fault, at the least
from step to step, and how far it moves with the other, at most), and the pictures.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from manycaps.comparison.parity import parity_of_systems
from manycaps.comparison.read import ParityRows
from manycaps.comparison.system_lines import verdict_of
from manycaps.kit.parity_corpus import row_columns
from manycaps.kit.parity_tails import TAIL
from manycaps.kit.sets_tests import interval_of_rows
from scripts.studies.parity_pools import (
    CONFIDENCE_LEVEL,
    DAMAGES,
    Damage,
    ParityCorpus,
    keep_distances,
    read_pool,
    tails_of,
)
from scripts.studies.parity_speakers import KnownSpeaker, VectorPool, corpora, vector_pool
from scripts.studies.split_tests import LEVEL
from scripts.studies.study_frame import Line, StudyTable, distinct, matching_lines, numbers, study_settings, write_lines
from scripts.studies.study_options import Options, add_parity_options, study_parser
from scripts.studies.study_pictures import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, label_axes, new_picture
from scripts.toy.scenes import draw_scene
from scripts.toy.speakers import Speaker, draw_captions

parser = study_parser(__doc__)
add_parity_options(parser, ("meteor", "MiniLM"))
parser.add_argument("--simulations", type=int, default=1_000, metavar="N", help="corpora of a cell, default 1000")
parser.add_argument("--scenes", type=int, default=100, metavar="N", help="of the made world, default 100")
parse = parser.parse_args

NAME = "human_parity_truth"
KEY = ("kind", "n_candidates", "n_references", "n_rows", "distance", "setting")
COLUMNS = ("measure", "value", "low", "high", "is_false")

# Human captions of a made scene.
N_MADE = 12

# Shares of wrong and of repeated captions.
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
WRONG = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
COLORS = (BLUE, SKY, GREEN, ORANGE, PURPLE, BLACK, "#999999", "#e69f00")

# The share that follows each fault.
FOLLOWS = {"unlike_people_share": "wrong", "near_duplicate_share": "repeated"}

# Of every corpus, None being made points: candidates, references and rows of the corpora whose words are counted; sizes
# of people's corpora, and of bland speakers' ones; rows of both; and the size of whole rows of another image.
WORD_SIZES: Mapping[str | None, Sequence[tuple[int, int, int]]] = {
    None: ((5, 5, 60),),
    "MSVD": ((5, 5, 60), (5, 5, 10), (10, 10, 20)),
    "Flickr8k": ((2, 3, 200), (1, 4, 200)),
}
PEOPLE_SIZES: Mapping[str | None, Sequence[tuple[int, int]]] = {
    None: ((1, 2), (1, 4), (5, 5)),
    "MSVD": ((5, 5), (10, 5), (5, 2)),
    "Flickr8k": ((1, 2), (1, 3), (1, 4), (2, 3)),
}
BLAND_SIZES: Mapping[str | None, Sequence[tuple[int, int]]] = {
    None: ((1, 2), (1, 4), (5, 2), (5, 5)),
    "MSVD": ((5, 2), (5, 5)),
    "Flickr8k": ((1, 2), (1, 4)),
}
ROWS: Mapping[str | None, Sequence[int]] = {None: (20, 60, 200), "MSVD": (20, 60, 100), "Flickr8k": (20, 60, 200)}
WHOLE_SIZE: Mapping[str | None, tuple[int, int]] = {None: (5, 5), "MSVD": (5, 5), "Flickr8k": (2, 3)}

# Candidates that are compensated, beside `DAMAGES`.
COMPENSATED = {
    "bland": Damage("bland"),
    "bland, 30% wrong": Damage("bland", share=0.3),
    "bland, 40% wrong": Damage("bland", share=0.4),
    "half repeated, 30% wrong": Damage("half repeated", share=0.3),
    "half repeated, 40% wrong": Damage("half repeated", share=0.4),
}

# People, people with whole rows of another image, and bland speakers by the share of their wrong captions.
PEOPLE, WHOLE = KnownSpeaker(), KnownSpeaker(0.3, whole=True)
BLAND = {wrong: KnownSpeaker(wrong, is_bland=True) for wrong in (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)}
SPEAKERS = {speaker.name: speaker for speaker in (PEOPLE, WHOLE, *BLAND.values())}

# Words that are true of candidates. Captions cut after five words begin alike, and so are near each other; the most
# ordinary captions are near each other, and are what the references say.
OF_WRONG, OF_BLAND = {"unsupported", "spread_pairs"}, {"generic", "near_duplicates", "copied"}
DESERVED: Mapping[str, set[str]] = {
    "human": set(),
    **dict.fromkeys(("10% other", "20% other", "one word", "30% object"), OF_WRONG),
    "five words": OF_WRONG | {"near_duplicates"},
    "half repeated": {"near_duplicates"},
    **dict.fromkeys(("blandest", "bland"), OF_BLAND),
    "copies": {"copied"},
    **dict.fromkeys(("bland, 30% wrong", "bland, 40% wrong"), OF_BLAND | OF_WRONG),
    **dict.fromkeys(("half repeated, 30% wrong", "half repeated, 40% wrong"), OF_WRONG | {"near_duplicates"}),
}

# Sentences that name something about a system, and all; each by the name of its function in `sentences`.
FAULTS = ("unsupported", "copied", "generic", "near_duplicates", "spread_pairs")
NO_DIFFERENCE = "no_difference_from_people"
WORDS = ("not_tested", "too_few_rows_for_shares", NO_DIFFERENCE, "differs_from_people", *FAULTS)

# p-values that say that something is found, by both tests, and by one alone.
P_VALUES = {"found": "human_parity_p_value", "gaps": "gaps_p_value", "tails": "tails_p_value"}

# What the picture of bland speakers shows.
DRAWN = {
    "found": "found",
    "gaps": "by the gaps alone",
    "bound below": '"at most" too low',
    "listed first": "listed first",
}


def make_pool(options: Options) -> ParityCorpus:
    """Return what people of the made world say of scenes."""
    images = []
    for i in range(options.scenes):
        rng = np.random.default_rng((options.seed, i))
        images.append(draw_captions(Speaker(), draw_scene(rng), N_MADE, rng))
    return ParityCorpus(images, N_MADE, options.drawn, options.seed)


def truth_lines(corpus: ParityCorpus, distance: str, size: tuple[int, int], damage: Damage) -> Iterator[list[Any]]:
    """Yield the shares of all rows."""
    distances = corpus.rows(distance, size, damage).distances
    images = (np.arange(len(distances)) // (len(distances) // corpus.n_images)).tolist()
    for name, share in tails_of(distances, size[0], images).shares.items():
        yield [name, share.value, share.low, share.high, ""]
    columns = row_columns(distances, size[0])
    for name in ("fidelity_gap", "diversity_gap"):
        yield [name, columns[name].mean(), *interval_of_rows(columns[name], CONFIDENCE_LEVEL, images), ""]


def share_line(name: str, counts: Counter[str], n_corpora: int, is_false: str) -> list[Any]:
    """Return the line of something that is counted in corpora."""
    return [name, counts[name] / n_corpora, np.nan, np.nan, is_false]


def word_lines(counts: Counter[str], deserved: set[str], n_corpora: int) -> Iterator[list[Any]]:
    """Yield how often each word is said, and whether it is false."""
    for word in WORDS:
        is_false = ("no" if word in deserved else "yes") if word in FAULTS else ""
        yield share_line(word, counts, n_corpora, is_false)


def system_of(distances: np.ndarray, m: int) -> Mapping[str, Any]:
    """Return what `manycaps compare` has of a system, from the distances of its rows."""
    rows = ParityRows(row_columns(distances, m), keep_distances(distances, m))
    (system,) = parity_of_systems({"system": rows}, None)
    return system.numbers(None, None)


def words_about(system: Mapping[str, Any], wrong: float) -> set[str]:
    """Return the sentences that are said of a system, and whether more captions are called wrong than are."""
    names = set(verdict_of(system).said)
    is_above = "unsupported" in names and wrong_share_low(system) > wrong
    return names | ({"wrong above"} if is_above else set())


def wrong_share_low(system: Mapping[str, Any]) -> float:
    """Return the lower end of the interval of the share of wrong captions, as `human_parity` has it."""
    return max(0.0, (system["unlike_people_share_ci_low"] - TAIL) / (1 - TAIL))


def damage_lines(
    corpus: ParityCorpus, distance: str, size: tuple[int, int], n_rows: int, setting: str, n_corpora: int
) -> Iterator[list[Any]]:
    """Yield how often each word is said of a damage, and how often its numbers are not right."""
    damage, counts = (DAMAGES | COMPENSATED)[setting], Counter[str]()
    distances = corpus.corpora(distance, size, damage, n_corpora, n_rows).distances
    true_share = tails_of(distances, size[0]).shares["unlike_people_share"].value
    for corpus_distances in np.split(distances, n_corpora):
        system = system_of(corpus_distances, size[0])
        words = words_about(system, damage.share)
        counts.update(words)
        counts["bound"] += NO_DIFFERENCE in words and system["unsupported_share_ci_high"] < true_share
    yield from word_lines(counts, DESERVED[setting], n_corpora)
    yield share_line("bound", counts, n_corpora, "yes")
    if damage.kind == "other" and damage.share:
        yield share_line("wrong above", counts, n_corpora, "yes")


def deserved_words(speaker: KnownSpeaker) -> set[str]:
    """Return words that are true of a speaker: a bland one also says what references say, and the like of itself."""
    words = ({"unsupported"} if speaker.whole else OF_WRONG) if speaker.wrong else set()
    return words | (OF_BLAND if speaker.is_bland else set())


def speaker_lines(
    pool: VectorPool, size: tuple[int, int], speaker: KnownSpeaker, n_rows: int, n_corpora: int, seed: int
) -> Iterator[list[Any]]:
    """Yield what is found and said of corpora of a speaker, and what is not right of it."""
    m, counts, is_people = size[0], Counter[str](), speaker == PEOPLE
    drawn = [rows for (rows,) in corpora(pool, size, [speaker], n_rows, n_corpora, (seed,))]
    beside = corpora(pool, size, [PEOPLE], n_rows, n_corpora, (seed,))
    shares = tails_of(np.concatenate(drawn), m).shares
    true = {name: share.value for name, share in shares.items() if not np.isnan(share.value)}
    for rows in drawn:
        system = system_of(rows, m)
        words = words_about(system, speaker.wrong)
        counts.update(words)
        counts.update(name for name, key in P_VALUES.items() if system[key] <= LEVEL)
        is_silent = NO_DIFFERENCE in words
        counts["bound below"] += is_silent and system["unsupported_share_ci_high"] < speaker.wrong
        if not is_people:
            counts["listed first"] += nearness(system) >= nearness(system_of(next(beside)[0], m))
        counts.update(f"covers {name}" for name, value in true.items() if _holds(system, name, value))
    yield from (share_line(name, counts, n_corpora, "yes" if is_people else "") for name in P_VALUES)
    yield from word_lines(counts, deserved_words(speaker), n_corpora)
    checks = ("wrong above",) if is_people else ("bound below", "wrong above", "listed first")
    yield from (share_line(name, counts, n_corpora, "yes") for name in checks)
    yield from (share_line(f"covers {name}", counts, n_corpora, "") for name in true)


def nearness(result: Mapping[str, float]) -> tuple[float, float]:
    """Return what `compare --sort likeness` orders systems by: `manycaps.comparison.system_lines.in_order`."""
    return result["rows_to_detect"], float(np.nan_to_num(result["human_parity_p_value"], nan=2.0))


def _holds(result: Mapping[str, float], name: str, value: float) -> bool:
    """Whether an interval holds a value, up to rounding."""
    return result[f"{name}_ci_low"] - 1e-9 <= value <= result[f"{name}_ci_high"] + 1e-9


def setting_of(wrong: float, repeated: float) -> str:
    """Name a combination.

    >>> setting_of(0.5, 1.0)
    '0.5 wrong, 1 repeated'
    """
    return f"{wrong:g} wrong, {repeated:g} repeated"


def cells(options: Options) -> Iterator[tuple[str, int, int, int, str, str]]:
    """Yield what is measured."""
    corpus, candidates = options.corpus, DAMAGES | COMPENSATED
    m, n, _ = WORD_SIZES[corpus][0]
    for distance, wrong, repeated in itertools.product(options.distances, WRONG, SHARES):
        yield "truth", m, n, 0, distance, setting_of(wrong, repeated)
    for (m, n, n_rows), distance in itertools.product(WORD_SIZES[corpus], options.distances):
        # A single candidate is not repeated, and the two that are left of five captions are no choice of ordinary ones.
        names = [name for name in candidates if candidates[name].base == "people" or m > 1 + 2 * (name in COMPENSATED)]
        yield from (("words", m, n, n_rows, distance, name) for name in names)
    designs = list(itertools.product(PEOPLE_SIZES[corpus], (10, *ROWS[corpus]), [PEOPLE]))
    designs += itertools.product(BLAND_SIZES[corpus], ROWS[corpus], BLAND.values())
    designs += itertools.product([WHOLE_SIZE[corpus]], ROWS[corpus], [WHOLE])
    distance = "MiniLM" if corpus else "points"
    yield from (("speakers", *size, n_rows, distance, speaker.name) for size, n_rows, speaker in designs)


def moves(lines: Sequence[Line]) -> Iterator[list[Any]]:
    """Yield for each share how it follows its own fault, and how far it moves with the other."""
    truth = matching_lines(lines, kind="truth")
    for distance, (name, fault) in itertools.product(distinct(truth, "distance"), FOLLOWS.items()):
        grid = grid_of(truth, distance, name)
        own = grid if fault == "wrong" else grid.T  # (own shares, the other's)
        yield [distance, name, fault, np.diff(own, axis=0).min(), np.ptp(own, axis=1).max()]


def grid_of(lines: Sequence[Line], distance: str, name: str) -> np.ndarray:
    """Return a share by the shares of wrong and of repeated captions: (n_wrong, n_repeated)."""
    mine = {line["setting"]: float(line["value"]) for line in matching_lines(lines, distance=distance, measure=name)}
    return np.array([[mine[setting_of(wrong, repeated)] for repeated in SHARES] for wrong in WRONG])


def draw_picture(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw each share against its own fault, a line for each share of the other."""
    truth = matching_lines(lines, kind="truth")
    distances = distinct(truth, "distance")
    with new_picture(output, NAME, 9.5, 3.7 * len(distances)) as figure:
        panels = figure.subplots(len(distances), 2, squeeze=False)
        for axes, (distance, (name, fault)) in zip(
            panels.flat, itertools.product(distances, FOLLOWS.items()), strict=True
        ):
            grid = grid_of(truth, distance, name)
            own, others, other = (WRONG, SHARES, "repeated") if fault == "wrong" else (SHARES, WRONG, "wrong")
            for color, share, values in zip(COLORS, others, grid.T if fault == "wrong" else grid, strict=False):
                axes.plot(own, values, "o-", ms=3, color=color, label=f"{share:g}")
            if fault == "wrong":
                axes.plot((0, 1), (0, 1), color="#888888", lw=0.8)
            axes.set_title(f"{distance}, by the share of {other} captions")
            label_axes(axes, f"true share of {fault} captions", name)
            axes.legend(fontsize=8, ncols=2)
        figure.suptitle(f"{title}: what is measured of speakers with two known faults")


def draw_speakers(lines: Sequence[Line], title: str, output: Any) -> None:
    """Draw what is found of bland speakers by the share of their captions that is wrong."""
    bland = [line for line in matching_lines(lines, kind="speakers") if line["setting"].startswith("bland")]
    sizes, rows = distinct(bland, "n_candidates", "n_references"), distinct(bland, "n_rows")
    with new_picture(output, f"{NAME}_bland", 3.2 * len(rows), 2.6 * len(sizes)) as figure:
        panels = figure.subplots(len(sizes), len(rows), sharex=True, sharey=True, squeeze=False)
        for (row, column), axes in np.ndenumerate(panels):
            m, n = sizes[row]
            mine = matching_lines(bland, n_candidates=m, n_references=n, n_rows=rows[column])
            for (measure, label), color in zip(DRAWN.items(), COLORS, strict=False):
                axes.plot(list(BLAND), numbers(mine, "value", measure=measure), "o-", ms=3, color=color, label=label)
            axes.axhline(LEVEL, color="#888888", lw=0.8)
            axes.set_title(f"{m} + {n}, {rows[column]} rows")
            label_axes(axes, "share of wrong captions" if row == len(sizes) - 1 else "", "share of corpora")
        panels[0, 0].legend(fontsize=7)
        figure.suptitle(f"{title}: bland captions, some of them wrong")


def main(options: Options) -> None:
    """Measure what the table does not have yet, then draw it."""
    corpus = functools.cache(lambda: read_pool(options) if options.corpus else make_pool(options))
    pool = functools.cache(lambda: vector_pool(corpus() if options.corpus else None, options.seed))
    spoken = {setting_of(wrong, repeats): Damage(share=wrong, repeats=repeats) for wrong in WRONG for repeats in SHARES}

    def study(kind: str, m: int, n: int, n_rows: int, distance: str, setting: str) -> Iterator[list[Any]]:
        if kind == "truth":
            return truth_lines(corpus(), distance, (m, n), spoken[setting])
        if kind == "speakers":
            return speaker_lines(pool(), (m, n), SPEAKERS[setting], n_rows, options.simulations, options.seed)
        return damage_lines(corpus(), distance, (m, n), n_rows, setting, options.simulations)

    lines = StudyTable(options.output, NAME, KEY, COLUMNS, study_settings(options)).fill(cells(options), study)
    columns = ["distance", "measure", "follows", "least_step", "moves_at_most"]
    write_lines(options.output / f"{NAME}_moves.csv", columns, moves(lines))
    draw_picture(lines, options.corpus or "made world", options.output)
    draw_speakers(lines, options.corpus or "made points", options.output)
    for line in matching_lines(lines, is_false="yes"):
        if float(line["value"]) > LEVEL:
            print("  ".join(line.values()))


if __name__ == "__main__":
    main(parse())
