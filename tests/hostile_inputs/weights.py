"""Checkpoints that are damaged, of other shapes, or hold something else; and folders of sentence encoders."""

import json
import math
import pathlib
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from tests.clip_checkpoints import small_weights, with_lora
from tests.hostile_inputs.rule import BROKEN_JSON, Case, cases

Make = Callable[[pathlib.Path], Any]

CONV, PLACES, WORDS = "visual.conv1.weight", "visual.positional_embedding", "token_embedding.weight"
IN_BLOCK = "visual.transformer.resblocks.0.attn.in_proj"


def maker_of(change: Callable[[dict[str, Any]], Any]) -> Make:
    """Return a maker of a checkpoint with what a function makes of good weights."""

    def make(folder: pathlib.Path) -> str:
        import torch

        torch.save(change(small_weights()), folder / "bad.pth")
        return str(folder / "bad.pth")

    return make


def weight_change(name: str, change: Callable[[Any], Any], *, lora: bool = False) -> Make:
    """Return a maker of a checkpoint with one other weight, or without it where the function returns None."""

    def with_change(weights: dict[str, Any]) -> dict[str, Any]:
        weights = with_lora(weights) if lora else weights
        weights[name] = change(weights[name])
        return {name: weight for name, weight in weights.items() if weight is not None}

    return maker_of(with_change)


def files(contents: Mapping[str, bytes], name: str = "") -> Make:
    """Return a maker of a folder with files, or of one file in it."""

    def make(folder: pathlib.Path) -> str:
        for path, content in contents.items():
            (folder / path).write_bytes(content)
        return str(folder / name)

    return make


def safetensors_with(facts: str | None, config: bytes | None = None) -> Make:
    """Return a maker of a folder with weights, a note in them, and a configuration."""

    def make(folder: pathlib.Path) -> str:
        from safetensors.torch import save

        weights = {name: tensor.contiguous() for name, tensor in small_weights().items()}
        content = save(weights, None if facts is None else {"manycaps": facts})
        configs = {} if config is None else {"open_clip_config.json": config}
        return files({"open_clip_model.safetensors": content, **configs})(folder)

    return make


class Code:
    """What would run a program when it is loaded."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('code of a checkpoint was run')",)


# Changes of one weight.
CHANGES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "without_conv": (CONV, lambda t: None),
    "places_without_dimensions": (PLACES, lambda t: t.sum()),
    "conv_of_one_dimension": (CONV, lambda t: t.flatten()),
    "conv_not_square": (CONV, lambda t: t[:, :, :4]),
    "vocabulary_of_10": (WORDS, lambda t: t[:10]),
    "texts_of_10_to_5": ("positional_embedding", lambda t: t[:1].repeat(100_000, 1)),
    "image_projection_of_zeros": ("visual.proj", lambda t: t * 0),
    "text_projection_of_zeros": ("text_projection", lambda t: t * 0),
    "text_projection_overflows": ("text_projection", lambda t: t * 0 + 3e38),
}

# Changes of one low-rank update.
LORA_CHANGES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "of_rank_0": ("visual.conv1.lora_A", lambda t: t[:0]),
    "of_other_shape": (f"{IN_BLOCK}_weight_lora_B", lambda t: t[:-1]),
    "of_nan": ("visual.conv1.lora_B", lambda t: t * math.nan),
}

CHECKPOINTS: dict[str, Make] = {
    **{name: weight_change(*change) for name, change in CHANGES.items()},
    **{f"lora_{name}": weight_change(*change, lora=True) for name, change in LORA_CHANGES.items()},
    "without_any": maker_of(lambda weights: {}),
    "without_layers": maker_of(lambda weights: {name: t for name, t in weights.items() if ".resblocks." not in name}),
    "text": maker_of(lambda weights: "weights"),
    "folder_without_weights": str,
    **{
        f"file_of_{name}": files({"bad.pth": content}, "bad.pth")
        for name, content in {"code": pickle.dumps(Code()), "nothing": b"", "rubbish": bytes(range(256)) * 20}.items()
    },
    **{
        f"safetensors_{name}": files({"bad.safetensors": content}, "bad.safetensors")
        for name, content in {
            "empty": b"",
            "of_huge_header": b"\xff" * 8 + b"{}",
            "of_brackets": (100_000).to_bytes(8, "little") + b"[" * 100_000,
            "offsets_beyond": (60).to_bytes(8, "little")
            + b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}}'.ljust(60),
        }.items()
    },
}

FACTS = {
    "no_json": "{",
    "brackets": "[" * 100_000,
    "activation_unknown": '{"activation": "relu"}',
    "mean_short": '{"mean": [0.5]}',
    "mean_nan": '{"mean": [NaN, 0, 0]}',
    "std_0": '{"std": [0, 1, 1]}',
}

CONFIGS = {
    "half": BROKEN_JSON["half"],
    "model_null": b'{"model_cfg": null}',
    "std_negative": b'{"model_cfg": {}, "preprocess_cfg": {"std": [-1, 1, 1]}}',
}

CHECKPOINTS |= {f"facts_{name}": safetensors_with(text) for name, text in FACTS.items()}
CHECKPOINTS |= {f"config_{name}": safetensors_with(None, content) for name, content in CONFIGS.items()}

MODULES = json.dumps([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]).encode()
OF_BERT = {"modules.json": MODULES, "config.json": b'{"model_type": "bert"}'}

# Contents of the list of a sentence encoder's parts.
PARTS: dict[str, bytes] = {
    "half": BROKEN_JSON["half"],
    "list_of_null": b"[null]",
    "path_number": b'[{"path": 3}]',
    "path_missing": b'[{"type": "a"}]',
    "path_nul": b'[{"path": "a\\u0000b"}]',
    "no_config": MODULES,
}

ENCODERS: dict[str, Make] = {
    **{f"modules_{name}": files({"modules.json": content}) for name, content in PARTS.items()},
    "config_half": files({**OF_BERT, "config.json": BROKEN_JSON["half"]}),
    "config_of_unknown_type": files({**OF_BERT, "config.json": b'{"model_type": "none"}'}),
    "weights_rubbish": files({**OF_BERT, "model.safetensors": bytes(64)}),
    "weights_pickled": files({**OF_BERT, "pytorch_model.bin": pickle.dumps(Code())}),
    "folder_empty": str,
    "file": files({"model.bin": b"model"}, "model.bin"),
    "name_of_5000_letters": lambda _: "a/" + "b" * 5000,
    "name_with_nul": lambda _: "./a\0b",
    "home_of_nobody": lambda _: "~nobody-here/model",
}


def with_checkpoint(module: str, make: Make) -> Case:
    """Return a case of a module that is loaded with a hostile checkpoint."""
    return Case(module, lambda folder, _: {"checkpoint": make(folder), "device": "cpu"}, "", loads=True)


def with_encoder(module: str, make: Make) -> Case:
    """Return a case of the good columns with a hostile sentence encoder."""
    return Case(module, lambda folder, columns: {**columns, "encoder": make(folder), "device": "cpu"}, "encoder")


CASES = {
    **cases(["pac_score"], "{}", CHECKPOINTS, with_checkpoint),
    **cases(
        ["emscore_pac"],
        "{}",
        {name: CHECKPOINTS[f"text_projection_{name}"] for name in ("of_zeros", "overflows")},
        with_checkpoint,
    ),
    **cases(["fid_bert"], "{}", ENCODERS, with_encoder),
}
