"""Put a judge on trial: where does it rank people, what of wording does it reward, and what remains without that?

manycaps judge scores.jsonl -r references.jsonl
manycaps judge scores.csv -r references.jsonl -j gpt_score,clip_score --people human
manycaps judge scores.jsonl -r references.jsonl --ratings expert_mean
manycaps judge scores.jsonl -r references.jsonl --baseline base -f md -o judge.html

A judge is whatever gives a number to a text: an LLM, a reward model, CLIPScore, or a metric. The table has a line for
each text with id, system, text (or caption, prediction, output, ...) and one column of scores or several, which are
judges; larger scores are better, unless --lower-is-better. Texts of people that were scored in the same way, as the
system `people` (--people), show where the judge ranks them; they may be among the references, which are
human texts by id, in any format of `manycaps compare`.

Each score is taken apart by least squares: row + system + slopes times four features of the text. Length is its number
of words, by doublings; predictability its SLOR, by an n-gram model of the references of other rows; copied_bigrams the
share of its pairs of words that a reference of its row has; and genericness the cosine of its words with a
reference of its row, each a mean over references. Slopes are learnt from texts of one row that differ, beyond what
their systems differ by on average; intervals and p-values are the jackknife's over rows, or clusters of rows. A feature
is named where its slope is significant, by Holm's rule over the four, and at least 0.05 standard deviations of the
score for each of the feature's. Of the difference of a system and the baseline, the table says what remains
where texts are alike in all features.

What the judge rewards is no fault where people reward it, too: copying what references say is what CIDEr is for. With
--ratings, a column of people's ratings of the same texts, slopes are what the judge rewards beyond them. docs/judges.md
shows METEOR, CIDEr and BLEU on trial.
"""

import argparse
import sys

from manycaps.catalog.command_options import add_format, add_options, options_of, path_of, print_json
from manycaps.human_correlation.judges.judge_options import JudgeOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("-o", "--output", type=path_of, metavar="FILE", help="a page of the answer (HTML)")
    add_format(parser, "md", "latex")
    add_options(parser, JudgeOptions)


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.files.saved_files import check_can_be_written
    from manycaps.human_correlation.judges import judge

    options = options_of(arguments, JudgeOptions)
    if arguments.output is not None:
        check_can_be_written(arguments.output, [*options.scores, *options.references])
    found = judge(options)
    if arguments.format == "json":
        print_json(found.to_dict())
    else:
        print(found.write(arguments.format))
    if arguments.output is not None:
        found.save(arguments.output)
        print(f"wrote {arguments.output}", file=sys.stderr)
