"""What the triangle-rank metrics say of human, repeating and unrelated captions: the table on their cards.

python -m scripts.studies.msvd_systems FILE [--module trm_meteor] [--clips 25]

FILE has one `video<TAB>caption` per line, as MSVD's captions do. For each of the first clips with at least 20 captions,
ten random captions (seed 0) are the references; the systems are ten other captions of the clip, their best one by the
plain score ten times, and ten captions of another clip.
"""

import pathlib
from typing import Any

import numpy as np

import manycaps
from scripts.studies.caption_rows import read_clips
from scripts.studies.study_options import Options, tool_parser

# Result key of the plain metric behind each module.
PLAIN = {"trm_meteor": "meteor", "trm_cider": "cider_d", "trm_bert": "cosine"}

parser = tool_parser(__doc__)
parser.add_argument("file", type=pathlib.Path)
parser.add_argument("--module", choices=PLAIN, default="trm_meteor")
parser.add_argument("--clips", type=int, default=25)
parse = parser.parse_args

# Candidates, and references, of each clip.
N_CAPTIONS = 10


def best_captions(module: Any, plain: str, humans: list[list[str]], references: list[list[str]]) -> list[list[str]]:
    """Return, for each clip, its human candidate with the best plain score, repeated."""
    single = [[caption] for clip in humans for caption in clip]
    repeated = [row for row in references for _ in range(N_CAPTIONS)]
    scores = np.array(module.compute(predictions=single, references=repeated, p_value="none")[f"{plain}_per_row"])
    best = scores.reshape(len(humans), N_CAPTIONS).argmax(axis=1)
    return [[clip[i]] * N_CAPTIONS for clip, i in zip(humans, best, strict=True)]


def main(options: Options) -> None:
    """Print the table."""
    name, plain = options.module, PLAIN[options.module]
    clips = read_clips(options.file, options.clips, 2 * N_CAPTIONS)
    humans, references = [clip[:N_CAPTIONS] for clip in clips], [clip[N_CAPTIONS:] for clip in clips]
    module = manycaps.load(name, p_value="exact", details=True)
    systems = {
        "ten other human captions": humans,
        "the best caption, ten times": best_captions(module, plain, humans, references),
        "captions of other clips": humans[7:] + humans[:7],
    }
    print(f"{len(clips)} clips")
    for system, predictions in systems.items():
        cells = []
        for statistic in ("per_side", "pooled"):
            result = module.compute(predictions=predictions, references=references, statistic=statistic)
            value, excess, z, p_value = (result[f"{name}{end}"] for end in ("", "_excess", "_z", "_corpus_p_value"))
            cells.append(f"{statistic} {value:.3f} excess {excess:.3f} z {z:.1f} corpus p {p_value:.2g}")
        print(f"{system:<28} {plain} {result[plain]:.3f}   {'   '.join(cells)}", flush=True)


if __name__ == "__main__":
    main(parse())
