"""What the number of frames does to EMScore: the table on the card of emscore_pac.

python -m scripts.studies.frame_sampling clip.mp4 --checkpoint weights.pth --caption "a woman cooks" --caption "a dog"

Scores the captions with all frames of one clip and with fewer, evenly spread, and prints the means. The clip is decoded
and encoded once for each line.
"""

from scripts.studies.study_options import Options, start_study, tool_parser

parser = tool_parser(__doc__)
parser.add_argument("clip")
parser.add_argument("--checkpoint", help="weights instead of the published ones")
parser.add_argument("--caption", action="append", required=True, help="a caption; may be given several times")
parsed = start_study(__name__, parser, "metrics/emscore_pac")

from collections.abc import Iterator

import evaluate

import manycaps
from scripts.studies.study_frame import print_table

# Frames of each line; 10 is what the published VATEX-EVAL numbers use.
FRAMES = ("all", 50, 25, 10, 5, 2, 1)

# Columns of the table.
NAMES = ("emscore_pac", "coarse", "fine_precision", "fine_recall", "fine_f")


def rows(options: Options) -> Iterator[list[str]]:
    """Yield a row for each number of frames, and how far the scores lie from those of all frames."""
    module = manycaps.load("emscore_pac", checkpoint=options.checkpoint)
    everything: list[float] = []
    for frames in FRAMES:
        result = module.compute(predictions=[options.caption], videos=[options.clip], frames=frames, details=True)
        scores = result["emscore_pac_per_candidate"][0]
        everything = everything or scores
        change = max(abs(a - b) for a, b in zip(scores, everything, strict=True))
        yield [str(frames), *(f"{result[name]:.4f}" for name in NAMES), f"{change:.4f}"]


def main(options: Options) -> None:
    """Print the table."""
    evaluate.utils.logging.disable_progress_bar()
    print_table(["frames", *NAMES, "largest change of a caption's score"], rows(options))


if __name__ == "__main__":
    main(parsed())
