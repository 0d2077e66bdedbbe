"""Sample several captions of every image, or several answers to every prompt, by any model.

manycaps sample Salesforce/blip-image-captioning-base photos/ -n 10 -o blip.jsonl
manycaps sample google/gemma-3-4b-it photos/ -n 10 --prompt "Describe the image in one sentence." -o gemma.jsonl
manycaps sample --url http://localhost:8000/v1 --model my-vlm photos/ -n 10 --prompt "..." -o vlm.jsonl
manycaps sample my-lm prompts.jsonl -n 10 --temperature 0.7 --top-p 0.9 -o answers.jsonl

MODEL is a folder, or a name on the Hub at --revision: captioners of images, chat models with or without images,
encoder-decoders and causal language models of transformers; code that comes with a model is never run. With --url,
requests go to a server with OpenAI's chat completions API: vLLM, SGLang, `transformers serve`; OPENAI_API_KEY holds its
key, if it needs one. SOURCE is a folder of images, an image, or a table (tar, parquet, JSON Lines, a data set of
`datasets` or the Hub) with a column of images or of prompts (prompt, question, instruction).

Tokens are drawn from all of the model's probabilities: temperature 1, no top-k, no top-p, no penalty, whatever the
model's own configuration asks for. With a model that runs locally, the samples of a row depend on --seed and its id
alone, not on --batch-size, --shard or the order of the rows; in float16 and bfloat16, rounding depends on the batch, so
--batch-size matters, too.

FILE gets one row per line, {"id": "12.jpg", "captions": ["a dog", "a brown dog"]}, for `manycaps compare` and `manycaps
score`; FILE.settings says how they were made. The same command resumes a run that was stopped; it refuses if a setting
has changed. Shards are put together with `cat`. A row that cannot be sampled ends the run: a damaged image, a prompt
that is too long, a request that the server refuses. With --on-error skip, its error goes to FILE.errors, and the same
command tries such rows again.

A model needs `pip install 'manycaps[sample]'`.
"""

import argparse
import sys

from manycaps.catalog.command_options import add_options, options_of
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.sample_options import SampleOptions, sample_options_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument("names", nargs="+", metavar="[MODEL] SOURCE", help="model, unless --model names it; then rows")
    parser.add_argument("--model", metavar="NAME", help="in place of the first argument")
    add_options(parser, Setting)
    add_options(parser, SampleOptions, without=("model",))


def run(arguments: argparse.Namespace) -> None:
    """Import what does the work, and do it."""
    from manycaps.sampling import sample

    options = sample_options_of(arguments, output=arguments.output, setting=options_of(arguments, Setting))
    print(f"wrote {sample(options)}", file=sys.stderr)
