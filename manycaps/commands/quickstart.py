"""Compare three captioning systems on the bundled sample: which can be distinguished from people, and how.

manycaps quickstart                     results in quickstart-output/
manycaps quickstart --output FOLDER     results elsewhere
manycaps quickstart --captions FILE     your own captions instead of the sample
manycaps quickstart --no-images         without the second part, which needs torch

Writes the sample as files, diverse.jsonl and others, runs `manycaps compare` on them, and prints the command and its
answer: each system compared with people, by sentence embeddings if they are installed, otherwise by METEOR, and how
each pair differs; the page, with the map, is report/index.html. Behind it stands a table of the metrics of the
papers, whose values are in table.csv, with a picture, null_distributions.png: for every system the means over scenes
that chance alone would give, and the observed one. Then scores scenes of a made world by the image and video metrics,
with tiny-pac, a toy that knows nothing else: a second table, made_world.csv, and made_world.png.

FILE is JSON: for each image, the captions of people and of every system.

    {"scenes": [{"scene": "beach",
                 "references": ["a dog runs on the beach", "a wet dog near the water"],
                 "systems": {"mine": ["a dog in the sand", "a dog runs"], "other": ["a dog", "an animal"]}},
                {"scene": "kitchen",
                 "references": ["a man cooks pancakes", "somebody makes breakfast"],
                 "systems": {"mine": ["a man at the stove", "a cook"], "other": ["a man", "a room"]}}]}

It needs two or more scenes, with the same systems in each; "scene" is a name for messages and may be left out. The
second part runs for the bundled sample only, and needs `pip install 'manycaps[clip,video]'`.
"""

import argparse
import pathlib
import sys

from manycaps.catalog.command_options import path_of

# The bundled sample, beside the code that reads it.
SAMPLE = pathlib.Path(__file__).resolve().parents[1] / "comparison" / "quickstart" / "captions.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument(
        "--captions",
        type=path_of,
        default=SAMPLE,
        metavar="FILE",
        help="JSON in the layout above (default: the bundled sample)",
    )
    parser.add_argument("--output", type=path_of, default=pathlib.Path("quickstart-output"), metavar="FOLDER")
    parser.add_argument("--no-images", action="store_true", help="leave out the metrics that need torch")


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.comparison.quickstart.comparison import compare_image_metrics, compare_systems, missing_image_packages

    is_sample = arguments.captions == SAMPLE
    systems = compare_systems(arguments.captions, arguments.output, is_sample=is_sample)
    print(systems.text)
    print(f"Wrote {', '.join(map(str, systems.files))}.", file=sys.stderr)
    if arguments.no_images or not is_sample:
        return
    if missing := missing_image_packages():
        print(
            f"\nLeft out the image metrics: {', '.join(missing)} not installed. Run `pip install "
            "'manycaps[clip,video]'`, or give --no-images.",
            file=sys.stderr,
        )
        return
    images = compare_image_metrics(arguments.output)
    print(images.text)
    print(f"\nWrote {images.files[0]} and {images.files[1]}.", file=sys.stderr)
