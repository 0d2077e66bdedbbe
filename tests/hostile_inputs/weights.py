"""Checkpoints that are damaged, of other shapes, or hold something else; and folders of sentence encoders."""

import functools
import io
import json
import math
import pathlib
import pickle
import zipfile
from collections.abc import Callable
from typing import Any

from tests.hostile_inputs.rule import BROKEN_JSON, Case, cases

Make = Callable[[pathlib.Path], Any]

CONV, PLACES, WORDS = "visual.conv1.weight", "visual.positional_embedding", "token_embedding.weight"
BLOCK = "visual.transformer.resblocks.0"


@functools.cache
def good_weights() -> dict[str, Any]:
    """Return the weights of a small CLIP."""
    from tests.clip_checkpoints import small_weights

    return small_weights()


def saved(change: Callable[[dict[str, Any]], Any], name: str = "bad.pth") -> Make:
    """Return a maker of a checkpoint whose state dict is changed, or replaced by what the change returns."""

    def make(folder: pathlib.Path) -> str:
        import torch

        weights = dict(good_weights())
        changed = change(weights)
        torch.save({"state_dict": weights} if changed is None else changed, folder / name)
        return str(folder / name)

    return make


def without(*names: str) -> Make:
    """Return a maker of a checkpoint that lacks weights."""
    return saved(lambda weights: [weights.pop(name) for name in names] and None)


def with_weight(name: str, change: Callable[[Any], Any]) -> Make:
    """Return a maker of a checkpoint with one other weight."""
    return saved(lambda weights: weights.update({name: change(weights[name])}))


def safetensors_with(facts: str | None, config: bytes | None = None) -> Make:
    """Return a maker of a folder with weights, a note in them, and a configuration."""

    def make(folder: pathlib.Path) -> str:
        from safetensors.torch import save_file

        weights = {name: tensor.contiguous() for name, tensor in good_weights().items()}
        save_file(weights, folder / "open_clip_model.safetensors", None if facts is None else {"manycaps": facts})
        if config is not None:
            (folder / "open_clip_config.json").write_bytes(config)
        return str(folder)

    return make


def raw(content: bytes, name: str = "bad.pth") -> Make:
    """Return a maker of a file."""

    def make(folder: pathlib.Path) -> str:
        (folder / name).write_bytes(content)
        return str(folder / name)

    return make


def zipped(**members: bytes) -> bytes:
    """Return an archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return file.getvalue()


class Code:
    """What would run a program when it is loaded."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('code of a checkpoint was run')",)


def lora(**changes: Any) -> Make:
    """Return a maker of a checkpoint with low-rank updates, some of them changed."""

    def change(weights: dict[str, Any]) -> None:
        from tests.clip_checkpoints import with_lora

        weights.update(with_lora(weights))
        for name, value in changes.items():
            key = next(key for key in weights if key.endswith(name.replace("__", ".")))
            if value is None:
                del weights[key]
            else:
                weights[key] = value(weights[key])

    return saved(change)


def rewritten(name: str, value: float) -> Make:
    """Return a maker of a checkpoint with one weight that is a number everywhere."""
    return with_weight(name, lambda tensor: tensor * 0 + value)


CHECKPOINTS: dict[str, Make] = {
    **{
        f"without_{name}": without(name)
        for name in (CONV, PLACES, WORDS, "visual.proj", "text_projection", "ln_final.weight")
    },
    "without_any": saved(lambda weights: {"state_dict": {}}),
    "without_layers": saved(
        lambda weights: [weights.pop(name) for name in list(weights) if ".resblocks." in name] and None
    ),
    "without_text_layers": saved(
        lambda weights: [weights.pop(name) for name in list(weights) if name.startswith("transformer.")] and None
    ),
    "without_a_bias": without(f"{BLOCK}.attn.in_proj_bias"),
    "unknown_weight": saved(lambda weights: weights.update(extra=weights[CONV])),
    **{
        f"{name}_without_dimensions": with_weight(name, lambda t: t.sum())
        for name in (CONV, PLACES, "text_projection", "ln_final.weight")
    },
    **{
        f"{name}_empty": with_weight(name, lambda t: t[:0])
        for name in (CONV, PLACES, WORDS, "text_projection", "positional_embedding")
    },
    **{
        f"{name}_of_one_dimension": with_weight(name, lambda t: t.flatten())
        for name in (CONV, PLACES, WORDS, "visual.proj")
    },
    "conv_of_two_colours": with_weight(CONV, lambda t: t[:, :2]),
    "conv_not_square": with_weight(CONV, lambda t: t[:, :, :4]),
    "conv_of_width_65": with_weight(CONV, lambda t: t.repeat(2, 1, 1, 1)[:65]),
    "places_of_one": with_weight(PLACES, lambda t: t[:1]),
    "places_not_square": with_weight(PLACES, lambda t: t[:12]),
    "places_of_10_to_6": with_weight(PLACES, lambda t: t[:1, :1].repeat(1_000_001, 1)),
    "vocabulary_of_10": with_weight(WORDS, lambda t: t[:10]),
    "vocabulary_too_large": with_weight(WORDS, lambda t: t.repeat(2, 1)),
    "texts_of_one": with_weight("positional_embedding", lambda t: t[:1]),
    "texts_of_10_to_5": with_weight("positional_embedding", lambda t: t[:1].repeat(100_000, 1)),
    "text_width_130": with_weight("ln_final.weight", lambda t: t.repeat(3)[:130]),
    "layer_of_other_name": saved(
        lambda weights: weights.update({"visual.transformer.resblocks.x.ln_1.weight": weights[f"{BLOCK}.ln_1.weight"]})
    ),
    "sparse": with_weight("text_projection", lambda t: t.to_sparse()),
    "meta": with_weight("text_projection", lambda t: t.to("meta")),
    "complex": with_weight("text_projection", lambda t: t + 1j),
    "bool": with_weight("text_projection", lambda t: t > 0),
    "nan": rewritten("text_projection", math.nan),
    "infinite": rewritten("visual.proj", math.inf),
    "image_projection_of_zeros": rewritten("visual.proj", 0.0),
    "text_projection_of_zeros": rewritten("text_projection", 0.0),
    "image_projection_overflows": rewritten("visual.proj", 3e38),
    "text_projection_overflows": rewritten("text_projection", 3e38),
    "projections_of_other_length": with_weight("visual.proj", lambda t: t[:, :7]),
    "double_overflow": saved(lambda weights: weights.update({"visual.proj": weights["visual.proj"].double() * 1e300})),
    "lora_without_partner": lora(conv1__lora_B=None),
    "lora_of_rank_0": lora(conv1__lora_A=lambda t: t[:0]),
    "lora_without_dimensions": lora(conv1__lora_A=lambda t: t.sum()),
    "lora_of_other_shape": lora(in_proj_weight_lora_B=lambda t: t[:-1]),
    "lora_rank_1_of_conv": lora(conv1__lora_A=lambda t: t[:1], conv1__lora_B=lambda t: t[:, :1]),
    "lora_of_nan": lora(conv1__lora_B=lambda t: t * math.nan),
    "list": saved(lambda weights: [1, 2, 3]),
    "number": saved(lambda weights: 7),
    "text": saved(lambda weights: "weights"),
    "keys_of_numbers": saved(lambda weights: {1: weights[CONV]}),
    "values_of_lists": saved(lambda weights: {"a": [1.0]}),
    "state_dict_of_none": saved(lambda weights: {"state_dict": None}),
    "nested": saved(lambda weights: {"state_dict": {"state_dict": dict(good_weights())}}),
    "with_code": raw(pickle.dumps(Code())),
    "pickle": raw(pickle.dumps({"a": 1})),
    "empty": raw(b""),
    "rubbish": raw(bytes(range(256)) * 20),
    "zip": raw(zipped(a=b"b")),
    "zip_of_nothing": raw(zipped()),
    "zip_half": raw(zipped(archive__data=b"x" * 400)[:200]),
    "safetensors_empty": raw(b"", "bad.safetensors"),
    "safetensors_rubbish": raw(bytes(100), "bad.safetensors"),
    "safetensors_of_huge_header": raw(b"\xff" * 8 + b"{}", "bad.safetensors"),
    "safetensors_of_brackets": raw((100_000).to_bytes(8, "little") + b"[" * 100_000, "bad.safetensors"),
    "safetensors_offsets_beyond": raw(
        (60).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}}'.ljust(60),
        "bad.safetensors",
    ),
    "other_ending": raw(b"weights", "bad.txt"),
    "folder_without_weights": str,
}

FACTS = {
    **{name: content.decode() for name, content in BROKEN_JSON.items() if name in ("text", "null", "number", "list")},
    "no_json": "{",
    "brackets": "[" * 100_000,
    "long_number": "9" * 6000,
    "activation_unknown": '{"activation": "relu"}',
    "activation_number": '{"activation": 3}',
    "activation_list": '{"activation": []}',
    "mean_short": '{"mean": [0.5]}',
    "mean_text": '{"mean": "abc"}',
    "mean_number": '{"mean": 0.5}',
    "mean_nan": '{"mean": [NaN, 0, 0]}',
    "mean_null": '{"mean": null}',
    "mean_huge": '{"mean": [1e300, 0, 0]}',
    "std_0": '{"std": [0, 1, 1]}',
    "std_negative": '{"std": [-0.2, 0.2, 0.2]}',
    "std_infinite": '{"std": [Infinity, 1, 1]}',
    "std_long": '{"std": [1, 1, 1, 1]}',
    "std_words": '{"std": ["a", "b", "c"]}',
    "std_true": '{"std": [true, true, true]}',
    "std_nested": '{"std": [[1], [1], [1]]}',
}

CONFIGS = {
    **BROKEN_JSON,
    "no_model": b'{"preprocess_cfg": {}}',
    "model_of_text": b'{"model_cfg": "ViT"}',
    "model_null": b'{"model_cfg": null}',
    "quick_in_words": b'{"model_cfg": {"quick_gelu": "no"}}',
    "quick_number": b'{"model_cfg": {"quick_gelu": 1}}',
    "pixels_of_text": b'{"model_cfg": {}, "preprocess_cfg": "none"}',
    "mean_of_text": b'{"model_cfg": {}, "preprocess_cfg": {"mean": "none"}}',
    "std_negative": b'{"model_cfg": {}, "preprocess_cfg": {"std": [-1, 1, 1]}}',
    "mean_of_two": b'{"model_cfg": {}, "preprocess_cfg": {"mean": [0.5, 0.5]}}',
}

CHECKPOINTS |= {f"facts_{name}": safetensors_with(text) for name, text in FACTS.items()}
CHECKPOINTS |= {f"config_{name}": safetensors_with(None, content) for name, content in CONFIGS.items()}


def modules_json(content: bytes, **more: bytes) -> Make:
    """Return a maker of a sentence encoder's folder with this `modules.json`."""

    def make(folder: pathlib.Path) -> str:
        (folder / "modules.json").write_bytes(content)
        for name, data in more.items():
            (folder / name.replace("__", ".")).write_bytes(data)
        return str(folder)

    return make


MODULES = json.dumps([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]).encode()

ENCODERS: dict[str, Make] = {
    **{
        f"modules_{name}": modules_json(content)
        for name, content in {
            **BROKEN_JSON,
            "dict": b"{}",
            "list_of_null": b"[null]",
            "nested": b"[[[]]]",
            "path_number": b'[{"path": 3}]',
            "path_missing": b'[{"type": "a"}]',
            "path_null": b'[{"path": null}]',
            "path_nul": b'[{"path": "a\\u0000b"}]',
            "path_long": json.dumps([{"path": "a" * 5000}]).encode(),
            "type_unknown": b'[{"path": "", "type": "no.such.Type"}]',
            "type_number": b'[{"path": "", "type": 3}]',
            "no_config": MODULES,
        }.items()
    },
    **{
        f"config_{name}": modules_json(MODULES, config__json=content)
        for name, content in {**BROKEN_JSON, "unknown_type": b'{"model_type": "none"}'}.items()
    },
    "weights_rubbish": modules_json(MODULES, config__json=b'{"model_type": "bert"}', model__safetensors=bytes(64)),
    "weights_pickled": modules_json(
        MODULES, config__json=b'{"model_type": "bert"}', pytorch_model__bin=pickle.dumps(Code())
    ),
    "folder_empty": str,
    "missing": lambda folder: str(folder / "missing"),
    "file": raw(b"model", "model.bin"),
    "name_of_5000_letters": lambda _: "a/" + "b" * 5000,
    "name_with_nul": lambda _: "./a\0b",
    "home_of_nobody": lambda _: "~nobody-here/model",
}


def with_checkpoint(make: Make) -> Callable[..., dict[str, Any]]:
    """Return the load option of a hostile checkpoint."""
    return lambda folder, _: {"checkpoint": make(folder), "device": "cpu"}


def with_encoder(make: Make) -> Callable[..., dict[str, Any]]:
    """Return the good columns with a hostile sentence encoder."""
    return lambda folder, columns: {**columns, "encoder": make(folder), "device": "cpu"}


OF_MODULES = {name: make for name, make in ENCODERS.items() if name.startswith("modules_")}
OF_NUMBERS = {name: make for name, make in CHECKPOINTS.items() if name.endswith(("zeros", "overflows"))}

CASES = {
    **cases(["pac_score"], "{}", CHECKPOINTS, lambda m, make: Case(m, with_checkpoint(make), "", loads=True)),
    **cases(["emscore_pac"], "{}", OF_NUMBERS, lambda m, make: Case(m, with_checkpoint(make), "", loads=True)),
    **cases(["fid_bert"], "{}", ENCODERS, lambda m, make: Case(m, with_encoder(make), "encoder")),
    **cases(["vdtk_diversity"], "{}", OF_MODULES, lambda m, make: Case(m, with_encoder(make), "encoder")),
}
