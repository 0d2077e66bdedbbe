"""Write ptb_tokens.json: captions with the tokens of the COCO caption code's PTB tokenizer.

They come from captions.json and ptb_captions.json, whose captions are each written for one rule of the tokenizer.

Needs Java and tests/requirements.txt: pycocoevalcap runs Stanford CoreNLP 3.4.1.
"""

import json
import os

from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

from tests.parity.golden.golden_file import GOLDEN, caption_rows, meta, run, write_json


def main() -> None:
    hand_rows = json.loads((GOLDEN / "ptb_captions.json").read_text(encoding="utf-8"))["rows"]
    texts = [text for row in caption_rows() for text in row["references"] + row["candidates"]]
    captions = list(dict.fromkeys([*texts, *(text for row in hand_rows for text in row["captions"])]))
    # pycocoevalcap writes UTF-8 and leaves it to Java to guess that.
    os.environ["JAVA_TOOL_OPTIONS"] = "-Dfile.encoding=UTF-8"
    tokens = PTBTokenizer().tokenize({i: [{"caption": caption}] for i, caption in enumerate(captions)})
    rows = [{"id": i, "caption": text, "tokens": tokens[i][0].split()} for i, text in enumerate(captions)]
    about = meta(
        ("pycocoevalcap",),
        program="pycocoevalcap.tokenizer.ptbtokenizer.PTBTokenizer: edu.stanford.nlp.process.PTBTokenizer of Stanford "
        "CoreNLP 3.4.1 with -preserveLines -lowerCase, read as UTF-8",
        tokens="split at white space, without the wrapper's list of punctuation",
    )
    write_json("ptb_tokens.json", {"meta": about, "rows": rows})


if __name__ == "__main__":
    run(main)
