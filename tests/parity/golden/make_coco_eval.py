"""Write coco_eval.json: what pycocoevalcap's COCOEvalCap computes and prints, without SPICE, which needs a download.

Needs Java and tests/requirements.txt.
"""

import contextlib
import io
import os
import sys

from tests.parity.golden.golden_file import caption_rows, meta, run, write_json
from tests.parity.golden.make_meteor15 import NOT_IN_A_LINE

# Candidates of a row that are scored, each as an image of its own.
N_CANDIDATES = 3


class NoSpice:
    """Stands in for SPICE."""

    def compute_score(self, gts, res):
        return 0.0, [0.0] * len(gts)

    def method(self):
        return "SPICE"


def coco_files() -> tuple[dict, list]:
    """Return annotations and results out of captions.json, as COCO's files have them."""
    annotations, results = [], []
    for row in caption_rows():
        own = [text for text in row["references"] if not NOT_IN_A_LINE.search(text)]
        texts = [text for text in row["candidates"] if not NOT_IN_A_LINE.search(text)]
        for i, text in enumerate(texts[:N_CANDIDATES]):
            key = len(results)
            results.append({"image_id": key, "caption": text})
            captions = own[: 1 + (key % 10)] if i else own
            annotations += [
                {"image_id": key, "id": len(annotations) + place, "caption": caption}
                for place, caption in enumerate(captions)
            ]
    return {"images": [{"id": each["image_id"]} for each in results], "annotations": annotations}, results


def main() -> None:
    import pycocoevalcap.eval
    from pycocotools.coco import COCO

    os.environ["JAVA_TOOL_OPTIONS"] = "-Dfile.encoding=UTF-8"
    annotations, results = coco_files()
    pycocoevalcap.eval.Spice = NoSpice
    printed = io.StringIO()
    with contextlib.redirect_stdout(sys.stderr):
        coco = COCO()
        coco.dataset = annotations
        coco.createIndex()
        evaluation = pycocoevalcap.eval.COCOEvalCap(coco, coco.loadRes(results))
    with contextlib.redirect_stdout(printed):
        evaluation.evaluate()
    for each in (evaluation.eval, *evaluation.evalImgs):
        del each["SPICE"]
    content = {
        "meta": meta(
            ("pycocoevalcap", "pycocotools", "numpy"),
            program="COCOEvalCap(coco, coco.loadRes(results)).evaluate(), without SPICE",
            eval={name: float(value) for name, value in evaluation.eval.items()},
        ),
        "printed": [line for line in printed.getvalue().splitlines() if "SPICE" not in line],
        "images": [
            {name: value if name == "image_id" else float(value) for name, value in each.items()}
            for each in evaluation.evalImgs
        ],
    }
    write_json("coco_eval.json", content)


if __name__ == "__main__":
    run(main)
