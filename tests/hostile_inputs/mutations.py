"""Files, checkpoints and captions changed at random: the answer is a value, or an error of the house's form.

python -m tests.hostile_inputs.mutations --each 10000

runs every kind in a process with a limit of memory, and prints what came out. A run is decided by its seed; the number
of a mutation that is answered badly is printed, and `mutate` makes it again.
"""

import argparse
import functools
import json
import pathlib
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.hostile_inputs import mutated_tools
from tests.hostile_inputs.bounded_process import BoundedProcess
from tests.hostile_inputs.images import FORMATS, encoded
from tests.hostile_inputs.mutated_tools import damaged
from tests.hostile_inputs.rule import against_the_form

# Seconds of computing within which each must be answered.
TIME_LIMIT = 5

# Mutations that are tried in one call of the process with limits.
AT_ONCE = 100

# Seconds of computing for that many.
CALL_LIMIT = 300

# Pieces of hostile captions.
PIECES = (
    *"a dog runs & &amp; &#38; &lt; . , ' \" `` '' -- - ... ! ? ; : / \\ @ # $ % ( ) [ ] { } < > <a>".split(),
    *"U.S. Mr. can't n't 's 1,000 A <end_of_text> 一 İ ß \U0001f415 \ufdfa \u0301 \u202e \u200b \ufeff".split(),
    *(" ", "\t", "\n", "\0", "\u00a0", "\u2028", "\ud800"),
    *("a" * 50, "&amp;" * 20, "." * 40, "x-" * 30),
)  # fmt: skip

Attempt = Callable[[random.Random], object]


def attempt_image(rng: random.Random) -> object:
    """Decode a damaged image."""
    from manycaps.kit.media_images import as_image_source, as_model_pixels, as_rgb_image

    content = damaged(_picture(rng.choice(FORMATS), rng.choice((1, 1, 2))), rng)
    return as_model_pixels(as_rgb_image(as_image_source(content, "images[0]"), "images[0]"), 8)


def attempt_video(rng: random.Random) -> object:
    """Decode a damaged video."""
    from manycaps.kit.media_video import as_video_source, video_key
    from manycaps.kit.media_video_decoder import read_pixels
    from tests.hostile_inputs.videos import clip

    content = damaged(clip(rng.choice(("mp4", "mkv", "avi"))), rng)
    source = as_video_source(content, "videos[0]")
    return video_key(source, "videos[0]"), list(read_pixels(source, rng.choice(("all", 3)), 8, "videos[0]", 1))


def attempt_checkpoint(rng: random.Random) -> object:
    """Read a damaged file of weights, or build a model of changed ones and encode with it."""
    from manycaps.kit.clip_model import FeatureError
    from manycaps.kit.clip_weights import merge_lora, read_weights

    if rng.random() < 0.5:
        path = pathlib.Path(tempfile.gettempdir()) / f"mutated-{rng.random()}{rng.choice(('.pth', '.safetensors'))}"
        path.write_bytes(damaged(_weights_file(path.suffix), rng))
        try:
            return merge_lora(read_weights(path))
        finally:
            path.unlink()
    weights = changed_weights(dict(_weights()), rng)
    model = _clip_model(merge_lora(weights))
    pixels = np.zeros((1, model.image_size, model.image_size, 3), np.uint8)
    try:
        return model.image_features(pixels), model.text_features([model.tokenize("a dog")], 1)
    except FeatureError as error:  # as the modules do
        raise error.named("images[0]", "changed weights") from error


def changed_weights(weights: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Change one to three weights of a state dict."""
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(sorted(weights))
        tensor = weights[name]
        kind = rng.choice(("drop", "rename", "lora", *CHANGES))
        if kind in CHANGES:
            weights[name] = CHANGES[kind](tensor, rng)
        elif kind == "lora":
            weights[f"{name.removesuffix('weight')}lora_{rng.choice('AB')}"] = _matrix(rng)
        else:
            del weights[name]
        if kind == "rename":
            weights[rng.choice((f"{name}.x", "x", name.replace("blocks.0", "blocks.7"), f"{name}_lora_A"))] = tensor
    return weights


def _matrix(rng: random.Random) -> Any:
    import torch

    return torch.ones(rng.randrange(4), rng.randrange(4))


def _cut(tensor: Any, rng: random.Random) -> Any:
    """Leave out the end of one dimension."""
    if not tensor.ndim:
        return tensor[None]
    axis = rng.randrange(tensor.ndim)
    return tensor.narrow(axis, 0, rng.randrange(tensor.shape[axis] + 1))


def _repeated(tensor: Any, rng: random.Random) -> Any:
    """Double one dimension."""
    if not tensor.ndim or tensor.numel() > 100_000:
        return tensor[None]
    return tensor.repeat([2 if axis == rng.randrange(tensor.ndim) else 1 for axis in range(tensor.ndim)])


def _filled(number: float) -> Callable[..., Any]:
    """Return a change to one number everywhere, in no memory."""
    return lambda tensor, rng: tensor.float().new_full((), number).expand(tensor.shape)


CHANGES: dict[str, Callable[[Any, random.Random], Any]] = {
    "cut": _cut,
    "repeat": _repeated,
    "flatten": lambda tensor, rng: tensor.flatten(),
    "sum": lambda tensor, rng: tensor.sum(),
    "transpose": lambda tensor, rng: tensor.transpose(0, -1) if tensor.ndim > 1 else tensor,
    "zeros": _filled(0.0),
    "large": _filled(3e38),
    "nan": _filled(float("nan")),
    "half": lambda tensor, rng: tensor.half(),
    "int": lambda tensor, rng: tensor.int(),
    "bool": lambda tensor, rng: tensor > 0,
}


def attempt_json(rng: random.Random) -> object:
    """Read a damaged file of JSON by one of its readers."""
    readers = _json_readers()
    name = rng.choice(sorted(readers))
    content, read = readers[name]
    path = pathlib.Path(tempfile.gettempdir()) / f"mutated-{rng.random()}.json"
    path.write_bytes(damaged(content, rng))
    try:
        return read(path)
    finally:
        path.unlink()


def attempt_caption(rng: random.Random) -> object:
    """Compute METEOR, CIDEr-D and CLIP's tokens of hostile captions."""
    from manycaps.kit.clip_model import first_tokens
    from manycaps.kit.text_cider import cider_d_scores
    from manycaps.kit.text_meteor import meteor_scores

    texts, tokens = hostile_row(rng)
    for text in texts:
        first_tokens(_tokenizer(), text)
    scores = meteor_scores([tokens], _lexicon())[0], cider_d_scores([tokens], {}, 2)[0]
    return [within(values, 0, most) for values, most in zip(scores, (1, 10), strict=True)]


def attempt_words(rng: random.Random) -> object:
    """Compute METEOR 1.5, BLEU, ROUGE-L, self-CIDEr and both measurements of diversity of hostile captions."""
    from manycaps import functional
    from measurements.vdtk_diversity.vdtk_diversity import VdtkDiversity

    texts, tokens = hostile_row(rng)
    candidates, references = [tokens[:1]], [tokens[1:]]
    own = _set_diversity().compute(predictions=[texts], references=[texts[1:]])
    return [
        within(functional.bleu(candidates, references), 0, 1),
        within(functional.rouge_l(candidates, references), 0, 1),
        within(functional.meteor15(candidates, references), 0, 1),
        within(functional.self_cider([tokens]), 0, 1, may_be_undefined=True),
        within([own["vendi_ngram_1"]], 1, len(texts)),
        within([own["compression_ratio"]], 0, np.inf),
        VdtkDiversity().compute(data=[texts]),
    ]


def hostile_row(rng: random.Random) -> tuple[list[str], list[list[str]]]:
    """Return three captions as a module takes them, and their tokens."""
    from manycaps.kit.base_rows import LONGEST_CAPTION, as_caption_rows
    from manycaps.kit.text_tokens import tokenize_rows

    def caption() -> str:
        text = "".join(rng.choices(PIECES, k=rng.choice((1, 3, 10, 40)))) * rng.choice((1, 1, 1, 1, 2, 100))
        return text[: rng.choice((LONGEST_CAPTION, LONGEST_CAPTION, LONGEST_CAPTION + 5))]

    rows = as_caption_rows([[caption() for _ in range(3)]], "predictions")
    return rows[0], tokenize_rows(rows, "ptb")[0]


def within(values: Any, least: float, most: float, may_be_undefined: bool = False) -> Any:
    """Return values of which all lie in a range, or raise."""
    found = np.asarray(values, dtype=np.float64)
    inside = (found >= least - 1e-9) & (found <= most + 1e-9)
    if not (inside | np.isnan(found) if may_be_undefined else inside).all():
        raise ArithmeticError(f"expected values from {least} to {most}, got {found.min()} to {found.max()}")
    return values


ATTEMPTS: dict[str, Attempt] = {
    "images": attempt_image,
    "videos": attempt_video,
    "checkpoints": attempt_checkpoint,
    "json": attempt_json,
    "captions": attempt_caption,
    "words": attempt_words,
    **mutated_tools.ATTEMPTS,
}


def mutate(kind: str, number: int, seed: int = 0) -> str | None:
    """Make one mutation; say what is against the rule, or return None."""
    rng = random.Random(f"{kind} {seed} {number}")
    start = time.process_time()
    try:
        ATTEMPTS[kind](rng)
        found = None
    except Exception as error:
        found = against_the_form(error, None)
    used = time.process_time() - start
    return found or (f"hang: {used:.1f} s" if used > TIME_LIMIT else None)


def several(kind: str, numbers: range, seed: int) -> tuple[list[tuple[int, str]], int]:
    """Make mutations; return those against the rule, and the peak of the memory in MB."""
    answers = [(number, mutate(kind, number, seed)) for number in numbers]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return [(number, found) for number, found in answers if found], peak


def prepare() -> None:
    """Load what the attempts need, and make one attempt of each kind."""
    for kind in ATTEMPTS:
        mutate(kind, -1)


def main() -> int:
    """Run all kinds and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=10_000, help="mutations of each kind (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=ATTEMPTS, default=list(ATTEMPTS))
    arguments = parser.parse_args()
    n_bad = 0
    here = "tests.hostile_inputs.mutations"
    for kind in arguments.kinds:
        process, start = BoundedProcess(f"{here}.prepare"), time.time()
        bad: list[tuple[int, str]] = []
        peak = 0
        for first in range(0, arguments.each, AT_ONCE):
            numbers = range(first, min(first + AT_ONCE, arguments.each))
            answer = process.call(f"{here}.several", kind, numbers, arguments.seed, seconds=CALL_LIMIT)
            if isinstance(answer, str):
                bad.append((first, answer))
            else:
                bad.extend(answer[0])
                peak = max(peak, answer[1])
        process.close()
        n_bad += len(bad)
        counts = dict(Counter(found.split(":")[0] for _, found in bad))
        print(f"{kind}: {arguments.each:,} mutations, {len(bad)} answered badly {counts or ''}, peak {peak:,} MB, "
              f"{time.time() - start:.0f} s", flush=True)  # fmt: skip
        for number, found in bad[:10]:
            print(f"    {number}: {found[:300]}", flush=True)
    return int(n_bad > 0)


@functools.cache
def _picture(kind: str, pictures: int) -> bytes:
    try:
        return encoded(kind, pictures)
    except (KeyError, OSError):  # a format of one page
        return encoded(kind)


@functools.cache
def _weights() -> dict[str, Any]:
    """A small state dict, whose token embedding takes no memory."""
    import torch

    from tests.clip_checkpoints import small_weights

    weights = small_weights()
    embedding = weights["token_embedding.weight"]
    return weights | {"token_embedding.weight": torch.full((1, 1), 0.1).expand(embedding.shape)}


@functools.cache
def _weights_file(suffix: str) -> bytes:
    """A file of a few small tensors."""
    import torch
    from safetensors.torch import save

    few = {name: tensor.clone() for name, tensor in list(_weights().items())[:6] if tensor.numel() < 5_000}
    if suffix == ".safetensors":
        return save(few, {"manycaps": '{"activation": "gelu"}'})
    with tempfile.NamedTemporaryFile(suffix=suffix) as file:
        torch.save({"state_dict": few}, file.name)
        return pathlib.Path(file.name).read_bytes()


def _clip_model(weights: dict[str, Any]) -> Any:
    import open_clip

    from manycaps.kit import clip_model

    open_clip.SimpleTokenizer = _tokenizer  # made once: it takes longer than all the rest
    return clip_model.ClipModel(
        weights, activation="quick_gelu", mean=clip_model.OPENAI_MEAN, std=clip_model.OPENAI_STD, device="cpu"
    )


@functools.cache
def _tokenizer() -> Any:
    from open_clip.tokenizer import SimpleTokenizer

    return SimpleTokenizer()


@functools.cache
def _lexicon() -> Any:
    from manycaps.kit.text_meteor import WordNetLexicon

    return WordNetLexicon()


@functools.cache
def _set_diversity() -> Any:
    from measurements.set_diversity.set_diversity import SetDiversity

    return SetDiversity(kernels=("ngram",))


@functools.cache
def _json_readers() -> dict[str, tuple[bytes, Callable[[pathlib.Path], Any]]]:
    """A good file and its reader, by name."""
    from manycaps.caption_tables import caption_lists, open_captions, table_records
    from manycaps.kit.clip_token_matching import load_token_frequency
    from manycaps.kit.clip_variants import as_treatment, config_treatment
    from manycaps.kit.text_document_frequency import load_document_frequency
    from manycaps.kit.text_sentence_encoder import _module_paths
    from manycaps.quickstart.scenes import read_scenes
    from tests.hostile_inputs.command_lines import GOOD_LINES, GOOD_SCENES
    from tests.hostile_inputs.weights import MODULES

    counts = json.dumps({"n_documents": 9, "document_frequency": {"a": 3, "dog": 2}}).encode()
    config = json.dumps(
        {"model_cfg": {"quick_gelu": True}, "preprocess_cfg": {"mean": [0.5] * 3, "std": [0.2] * 3}}
    ).encode()

    def modules(path: pathlib.Path) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "modules.json").write_bytes(path.read_bytes())
            return _module_paths(pathlib.Path(folder))

    defaults = {"activation": "gelu", "mean": (0.5,) * 3, "std": (0.5,) * 3}
    return {
        "document_frequency": (counts, load_document_frequency),
        "token_frequency": (counts, lambda path: load_token_frequency(path, {"a": 1, "dog": 2})),
        "config": (config, lambda path: as_treatment(defaults | config_treatment(path), path)),
        "scenes": (json.dumps(GOOD_SCENES).encode(), read_scenes),
        "lines": (GOOD_LINES, lambda path: list(caption_lists(open_captions([str(path)])))),
        "table": (GOOD_LINES, lambda path: list(table_records(path))),
        "modules": (MODULES, modules),
    }


if __name__ == "__main__":
    sys.exit(main())
