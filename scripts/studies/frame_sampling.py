"""What the number of frames does to EMScore: the table on the card of emscore_pac.

python -m scripts.studies.frame_sampling clip.mp4 --checkpoint weights.pth --caption "a woman cooks" --caption "a dog"

Scores the captions with all frames of one clip and with fewer, evenly spread, and prints the means. The clip is decoded
and encoded once for each line. Needs metrics/emscore_pac/requirements.txt.
"""

import argparse
import pathlib
import sys
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
from scripts.command_line import start_tool


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse a command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clip", type=pathlib.Path)
    parser.add_argument("--checkpoint", help="weights instead of the published ones")
    parser.add_argument("--caption", action="append", required=True, help="a caption; may be given several times")
    return parser.parse_args(arguments)


start_tool(__name__, parsed, "metrics/emscore_pac/requirements.txt")

import evaluate

# Frames of each line; 10 is what the published VATEX-EVAL numbers use.
FRAMES = ("all", 50, 25, 10, 5, 2, 1)

# Columns of the table.
NAMES = ("emscore_pac", "coarse", "fine_precision", "fine_recall", "fine_f")


def main(clip: pathlib.Path, checkpoint: str | None, captions: list[str]) -> int:
    """Print one line for each number of frames, and how far the score lies from that of all frames."""
    module = evaluate.load(str(ROOT / "metrics" / "emscore_pac"), checkpoint=checkpoint)
    print("| frames | " + " | ".join(NAMES) + " | largest change of a caption's score |")
    print("|---" * (len(NAMES) + 2) + "|")
    everything: list[float] = []
    for frames in FRAMES:
        try:
            result = module.compute(predictions=[captions], videos=[str(clip)], frames=frames, details=True)
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
        scores = result["emscore_pac_per_candidate"][0]
        everything = everything or scores
        change = max(abs(a - b) for a, b in zip(scores, everything, strict=True))
        print(f"| {frames} | " + " | ".join(f"{result[name]:.4f}" for name in NAMES) + f" | {change:.4f} |", flush=True)
    return 0


if __name__ == "__main__":
    given = parsed()
    sys.exit(main(given.clip, given.checkpoint, given.caption))
