"""METEOR, CIDEr-D and BLEU-4 on trial: do they rank people first, what of wording do they reward, do raters agree?

python -m scripts.studies.judge_metrics --data FOLDER --corpus E2E [--rows 615] [--output FOLDER]
python -m scripts.studies.judge_metrics --data FOLDER --corpus SummEval [--output FOLDER]

FOLDER holds real_systems/e2e_nlg.json.gz (E2E challenge, Dušek et al. 2020, https://arxiv.org/abs/1901.07931) and
real_systems/summeval.json.gz (Fabbri et al. 2021, https://arxiv.org/abs/2007.12626). One of the references of every
row, drawn at random, is taken out: it is the text of the system "people". Rows with a single reference are left out.

Written: CORPUS/scores.jsonl, a line for each text with the columns id, system, text, METEOR, CIDEr-D, BLEU-4, and
"rating" for SummEval, the mean of its four scales; CORPUS/references.jsonl, the other references; and what

    manycaps judge CORPUS/scores.jsonl -r CORPUS/references.jsonl -j METEOR,CIDEr-D,BLEU-4

prints, with --ratings rating as well for SummEval. Then Spearman's rho with the raters over systems: of the mean
scores, and of what remains of them where the texts are alike in all features.
"""

import gzip
import json
import pathlib
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from manycaps import functional
from manycaps.files.saved_files import make_folder, write_text_atomically
from manycaps.human_correlation.judges import JudgeOptions, JudgeTrial, judge
from manycaps.human_correlation.judges.trial import difference_of
from manycaps.kit.words_tokenizers import tokenize_rows
from scripts.studies.study_options import Options, add_output, tool_parser

FILES = {"E2E": "e2e_nlg", "SummEval": "summeval"}
JUDGES = ("METEOR", "CIDEr-D", "BLEU-4")
PEOPLE, RATING = "people", "rating"

parser = tool_parser(__doc__)
parser.add_argument("--data", type=pathlib.Path, required=True, metavar="FOLDER", help="public data sets")
parser.add_argument("--corpus", choices=FILES, required=True, help="which of them")
parser.add_argument("--rows", type=int, metavar="N", help="first rows; default: all")
parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the references that are taken out, default 0")
add_output(parser)
parse = parser.parse_args


class RatedTexts(NamedTuple):
    """Texts of systems and of people."""

    ids: list[str]
    references: list[list[str]]
    # By system the text of every row, people's among them.
    texts: dict[str, list[str]]
    # By system its rating, and of every row; empty where it has none.
    ratings: dict[str, float]
    row_ratings: dict[str, list[float]]


def read_texts(path: pathlib.Path, n_rows: int | None, seed: int) -> RatedTexts:
    """Read a file of systems, and take one reference of every row out."""
    content = json.loads(gzip.decompress(path.read_bytes()))
    rng = np.random.default_rng(seed)
    places = [i for i, row in enumerate(content["rows"]) if len(row["references"]) > 1][:n_rows]
    references = [[str(text) for text in rng.permutation(content["rows"][i]["references"])] for i in places]
    texts = {name: [own[i] for i in places] for name, own in content["systems"].items()}
    row_ratings = {
        name: np.mean([[scale[i] for i in places] for scale in scales.values()], axis=0).tolist()
        for name, scales in content.get("ratings", {}).items()
    }
    ratings = {name: float(np.mean(values)) for name, values in row_ratings.items()}
    return RatedTexts(
        [str(content["rows"][i]["id"]) for i in places],
        [row[1:] for row in references],
        {**texts, PEOPLE: [row[0] for row in references]},
        ratings or {name: float(rate) for name, rate in content["human_win_rate"]["quality"].items()},
        row_ratings,
    )


def score_lines(texts: RatedTexts) -> list[dict[str, Any]]:
    """Score all texts against the references that were not taken out."""
    references = tokenize_rows(texts.references, "ptb")
    lines = []
    for system, own in texts.texts.items():
        rows = tokenize_rows([[text] for text in own], "ptb")
        columns = {
            "METEOR": functional.meteor(rows, references),
            "CIDEr-D": functional.cider_d(rows, references),
            "BLEU-4": functional.bleu(rows, references)[:, 3],
        }
        for i, text in enumerate(own):
            line = {"id": texts.ids[i], "system": system, "text": text}
            line |= {name: float(column[i]) for name, column in columns.items()}
            rated = texts.row_ratings.get(system)
            lines.append(line | ({RATING: rated[i]} if rated else {}))
    return lines


def agreement(trial: JudgeTrial, ratings: dict[str, float]) -> tuple[float, float]:
    """Return Spearman's rho with the raters over systems: of the means, and of what remains without the features."""
    names = [system.name for system in trial.systems if system.name in ratings and system.name != trial.baseline]
    means = {system.name: system.mean for system in trial.systems}
    remaining = [difference_of(trial.bias, name, trial.baseline).remaining for name in names]
    rated = [ratings[name] for name in names]
    found = (scipy.stats.spearmanr(values, rated).statistic for values in ([means[name] for name in names], remaining))
    first, second = (float(value) for value in found)
    return first, second


def main(options: Options) -> None:
    """Score, try the judges, and print."""
    folder = make_folder(options.output / options.corpus)
    texts = read_texts(options.data / "real_systems" / f"{FILES[options.corpus]}.json.gz", options.rows, options.seed)
    people = [{"id": name, "references": row} for name, row in zip(texts.ids, texts.references, strict=True)]
    files = {"scores": score_lines(texts), "references": people}
    for name, lines in files.items():
        write_text_atomically(folder / f"{name}.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    scores, references = ([str(folder / f"{name}.jsonl")] for name in files)
    found = judge(JudgeOptions(scores, references=references, judges=JUDGES))
    print(found.write("text"))
    if texts.row_ratings:
        rated = judge(JudgeOptions(scores, references=references, judges=JUDGES, ratings=RATING))
        print("\nBeyond the ratings:\n")
        for trial in rated.trials:
            print("\n".join(trial.sentences()))
        beside = judge(JudgeOptions(scores, references=references, judges=[RATING]))
        print("\nThe raters themselves:\n")
        print(beside.write("text"))
    print("\nSpearman's rho with the raters over systems: means, and what remains")
    for trial in found.trials:
        print(trial.judge, *(f"{value:.2f}" for value in agreement(trial, texts.ratings)))


if __name__ == "__main__":
    main(parse())
