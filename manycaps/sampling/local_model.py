"""Models of transformers that write texts: of images, of prompts, or of both; no code of theirs is run."""

import concurrent.futures
import functools
import hashlib
import inspect
import pathlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import PIL.Image
import torch
import transformers

from manycaps.kit.arrays import map_in_order
from manycaps.kit.errors import InputError, as_input_errors, device_memory, quote_path, quote_value, reason_of
from manycaps.kit.files import check_loaded_tensors, file_sha256, read_json
from manycaps.kit.images import as_image_source, as_rgb_image
from manycaps.kit.vectors_models import as_device
from manycaps.sampling.answers import Sample
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.generation import are_cut, decoded_texts, drop_own_settings, n_prompt_tokens
from manycaps.sampling.items import Item, RowError, SampledRow
from manycaps.sampling.sample_options import DTYPE_NAMES, SampleOptions
from manycaps.sampling.token_choice import SampledTokens, choose_tokens, token_choice

# Floating-point numbers of a model, by the names of --dtype.
DTYPES = {name: getattr(torch, name) for name in DTYPE_NAMES}

# Endings of files that make a model what it is.
MODEL_FILES = (".json", ".safetensors", ".bin", ".model", ".txt", ".jinja")


# Rows, the tensors that a model takes of them, and the number of tokens that it writes.
ModelBatch = tuple[Sequence[Item], dict[str, torch.Tensor], int]


class LocalModel:
    """A model of transformers."""

    def __init__(self, options: SampleOptions):
        self.options = options
        self._device = as_device(options.device)
        fix = "Check the name, --revision and the network; models with code of their own are not loaded."
        got = f"{quote_value(options.model)}, which cannot be loaded"
        with as_input_errors("model", "a folder of a model, or its name on the Hub", fix, got):
            self._load()

    def _load(self) -> None:
        """Load the model, and what makes tensors of images and texts."""
        options = self.options
        source = {"revision": options.revision, "trust_remote_code": False}
        config = transformers.AutoConfig.from_pretrained(options.model, **source)
        self._kind = _kind_of(config)
        model, info = self._kind.from_pretrained(
            options.model, dtype=DTYPES[options.dtype], output_loading_info=True, **source
        )
        check_loaded_tensors(info, f"model {quote_path(options.model)}")
        own = pathlib.Path(options.model) / "generation_config.json"
        if own.is_file():  # transformers goes without a broken one
            read_json(own, "model", "Save the model again with save_pretrained.")
        self.model = model.to(self._device).eval()
        processor: Any = _auto("Processor", options.model, **source)
        self._takes_images = self._kind in (
            transformers.AutoModelForImageTextToText,
            transformers.VisionEncoderDecoderModel,
        )
        self._processor: Any = processor if hasattr(processor, "tokenizer") else None
        tokenizer = processor.tokenizer if self._processor else processor
        if not hasattr(tokenizer, "batch_decode") or not hasattr(tokenizer, "pad"):
            tokenizer = _auto("Tokenizer", options.model, **source)
        self._tokenizer: Any = tokenizer
        self._images: Any = getattr(processor, "image_processor", None)
        if self._takes_images and self._images is None:
            self._images = _auto("ImageProcessor", options.model, **source)
        self._chat = next(
            (owner for owner in (self._processor, tokenizer) if getattr(owner, "chat_template", None)), None
        )
        template = getattr(self._chat, "apply_chat_template", None)
        has_own = template is not None and "processor_kwargs" in inspect.signature(template).parameters
        self._padding: dict[str, Any] = {"processor_kwargs": {"padding": True}} if has_own else {"padding": True}
        # Tokenizers without a model of their own number the segments of a text; some chat models mark images so.
        wanted = self._takes_images and "token_type_ids" in inspect.signature(self.model.forward).parameters
        self._unwanted = () if wanted else ("token_type_ids",)
        self._prepare()

    def _prepare(self) -> None:
        """Pad on the left, and drop what the model's own settings of `generate` ask for."""
        if not self.model.config.is_encoder_decoder:
            self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        drop_own_settings(self.model)
        settings = self.model.generation_config
        if settings.eos_token_id is None:
            settings.eos_token_id = self._tokenizer.eos_token_id
        if settings.pad_token_id is None:
            settings.pad_token_id = self._tokenizer.pad_token_id

    @property
    def facts(self) -> dict[str, Any]:
        """What decides the samples, beside the setting."""
        settings = {
            "model": self.options.model,
            "revision": _revision(self.options.model, self.model.config),
            "kind": self.model.config.model_type,
            "dtype": self.options.dtype,
            "system": self.options.system,
            "transformers": transformers.__version__,
            "torch": torch.__version__.partition("+")[0],
        }
        # Rounding depends on the neighbours where numbers are short.
        return settings if self.options.dtype == "float32" else {**settings, "batch_size": self.options.batch_size}

    def check(self, item: Item) -> None:
        """Raise if the model cannot take an item."""
        if item.image is None and item.prompt is None:
            raise InputError(item.where, "an image or a prompt", "none", "Add it, or leave the row out.")
        if item.image is not None and not self._takes_images:
            got = f"one of texts alone ({self.model.config.model_type})"
            fix = "Name another model, or give prompts."
            raise InputError(self.options.model, "a model that takes images", got, fix)
        if item.image is None and (self._chat is None or item.prompt is None) and self._takes_images:
            raise InputError(item.where, "an image", "none", "The model captions images alone.")
        if item.image is not None and item.prompt is None and self._chat is not None:
            raise InputError("--prompt", "what to ask of an image", "none", "Chat models need a prompt.")
        if item.image is not None and item.prompt is not None and self._chat is None and self._processor is None:
            raise InputError("--prompt", "none", "one", "This model captions images without a prompt.")
        if self.options.system is not None and self._chat is None:
            raise InputError("--system", "none", "one", "This model has no chat template.")

    def samples(
        self, items: Sequence[Item], setting: Setting, n: int, seed: int, finished: Collection[str] = ()
    ) -> Iterator[list[SampledRow]]:
        """Yield ids with n texts or an error each, batch by batch; the next batch is read while the model writes."""
        starts = range(0, len(items), self.options.batch_size)
        batches = [items[start : start + self.options.batch_size] for start in starts]
        batches = [batch for batch in batches if not all(item.id in finished for item in batch)]
        read = functools.partial(self._read, wanted=setting.max_new_tokens)
        with concurrent.futures.ThreadPoolExecutor(1) as reader:
            for batch, (parts, errors) in zip(batches, map_in_order(reader, read, batches, 1), strict=True):
                sampled: dict[str, list[Sample] | RowError] = dict(errors)
                for part in parts:
                    sampled |= zip((item.id for item in part[0]), self._texts(part, setting, n, seed), strict=True)
                yield [(item.id, sampled[item.id]) for item in batch if item.id not in finished]

    def _read(self, items: Sequence[Item], wanted: int) -> tuple[list[ModelBatch], dict[str, RowError]]:
        """Decode images and make tensors of rows, each of one kind; return the errors of others by id."""
        kinds: dict[Any, list[tuple[Item, PIL.Image.Image | None]]] = {}
        errors: dict[str, RowError] = {}
        for item in items:
            try:
                self.check(item)
                picture = (
                    None if item.image is None else as_rgb_image(as_image_source(item.image, item.where), item.where)
                )
            except InputError as error:
                errors[item.id] = error.as_kind(RowError)
            else:
                kinds.setdefault((picture is None, item.prompt is None), []).append((item, picture))
        parts = [part for rows in kinds.values() for part in self._parts(rows, wanted, errors)]
        return parts, errors

    def _parts(
        self, rows: Sequence[tuple[Item, PIL.Image.Image | None]], wanted: int, errors: dict[str, RowError]
    ) -> list[ModelBatch]:
        """Make tensors of rows of one kind, those with room for equally many tokens together."""
        items = [item for item, _ in rows]
        try:
            inputs = self._inputs([item.prompt for item in items], [picture for _, picture in rows if picture])
            n_tokens = [
                self._n_new_tokens(item, wanted, n) for item, n in zip(items, _lengths(inputs, len(items)), strict=True)
            ]
        except Exception as error:  # of a template, a tokenizer or a processor
            if len(rows) > 1:  # each by itself: one row must not fail the others
                return [part for row in rows for part in self._parts([row], wanted, errors)]
            errors[items[0].id] = (
                error
                if isinstance(error, RowError)
                else RowError(
                    items[0].where,
                    "a row that the model's processor and chat template take",
                    f"{type(error).__name__} ({reason_of(error)})",
                    f"Check the row and the files of {self.options.model}.",
                )
            )
            return []
        if len(set(n_tokens)) == 1:
            return [(items, inputs, n_tokens[0])]
        by_room = {n: [row for row, own in zip(rows, n_tokens, strict=True) if own == n] for n in n_tokens}
        return [part for group in by_room.values() for part in self._parts(group, wanted, errors)]

    def _inputs(self, prompts: Sequence[str | None], pictures: Sequence[PIL.Image.Image]) -> dict[str, torch.Tensor]:
        """Make tensors of rows, all with pictures or none, and all with prompts or none."""
        if self._chat is not None:
            # Processors take parts of a message; those of transformers 4 no text in their place.
            chats = _chats(prompts, pictures, self.options.system, has_parts=self._chat is self._processor)
            options = {"add_generation_prompt": True, "tokenize": True, "return_dict": True, "return_tensors": "pt"}
            return dict(self._chat.apply_chat_template(chats, **options, **self._padding))
        if not pictures:
            return dict(self._tokenizer(prompts, return_tensors="pt", padding=True))
        if prompts[0] is None:
            return {"pixel_values": self._images(pictures, return_tensors="pt")["pixel_values"]}
        return dict(self._processor(images=pictures, text=prompts, return_tensors="pt", padding=True))

    @torch.inference_mode()
    def _texts(self, part: ModelBatch, setting: Setting, n: int, seed: int) -> list[list[Sample]]:
        """Return n texts of every row of a batch."""
        items, given, n_tokens = part
        inputs = {
            name: value.to(self._device, DTYPES[self.options.dtype] if value.is_floating_point() else None)
            for name, value in given.items()
            if name not in self._unwanted
        }
        choice = token_choice(setting, [item.id for item in items], n, n_tokens, seed, self._device)
        options = _generate_options(setting, n) | ({} if choice is None else {"logits_processor": [choice]})
        tokens = self._generate(inputs, {**options, "max_new_tokens": n_tokens})
        if isinstance(choice, SampledTokens) and choice.has_overflowed:
            raise InputError(
                "--dtype", "finite probabilities", f"others in {self.options.dtype}", "Try bfloat16 or float32."
            )
        tokens = tokens[:, n_prompt_tokens(self.model, tokens, inputs.get("input_ids")) :]
        texts = [text.strip() for text in decoded_texts(self._tokenizer, tokens)]
        samples = list(map(Sample, texts, are_cut(self.model, tokens)))
        n_each = len(samples) // len(items)
        return [samples[k * n_each : (k + 1) * n_each] * (n // n_each) for k in range(len(items))]

    def _generate(self, inputs: dict[str, torch.Tensor], options: dict[str, Any]) -> torch.Tensor:
        """Call `generate`; turn what a model with odd settings raises into one kind of error."""
        where, fix = f"model {quote_path(self.options.model)}", "Check the folder's files."
        expected, besides = "one that writes texts with its own generation_config.json", (torch.cuda.OutOfMemoryError,)
        rows = f"less than {self.options.batch_size} rows at a time"
        memory = device_memory("--batch-size", rows, "Give fewer, or a smaller -n.")
        with memory, as_input_errors(where, expected, fix, besides=besides):
            tokens: torch.Tensor = self.model.generate(**inputs, **options)
        return tokens

    def _n_new_tokens(self, item: Item, wanted: int, n_given: int) -> int:
        """Tokens that a row has room for: as many as wanted, unless the model has fewer positions."""
        config = self.model.config.get_text_config(decoder=True)
        positions = getattr(config, "n_positions", None) or getattr(config, "max_position_embeddings", None)
        if config.model_type == "t5" or not isinstance(positions, int) or positions <= 0:
            return wanted
        is_encoded = self.model.config.is_encoder_decoder
        if is_encoded and self._takes_images:
            n_given = 1
        elif positions <= n_given - is_encoded:
            expected = f"fewer tokens than the {positions} positions of the model"
            raise RowError(item.where, expected, n_given, "Shorten it.")
        return min(wanted, positions - (1 if is_encoded else n_given))


def _auto(kind: str, name: str, **source: Any) -> Any:
    """Load what goes with a model by a class of transformers such as AutoTokenizer."""
    return getattr(transformers, f"Auto{kind}").from_pretrained(name, **source)


def _kind_of(config: Any) -> Any:
    """The class of transformers that loads a model of a configuration."""
    if config.model_type == "vision-encoder-decoder":
        return transformers.VisionEncoderDecoderModel
    if type(config) in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        return transformers.AutoModelForImageTextToText
    if config.is_encoder_decoder:
        return transformers.AutoModelForSeq2SeqLM
    return transformers.AutoModelForCausalLM


def _generate_options(setting: Setting, n: int) -> dict[str, Any]:
    """Arguments of `generate` for n samples of a row, of one where all are equal."""
    if setting.greedy:
        return {"do_sample": False, "num_beams": 1}
    if setting.num_beams is not None:
        return {"do_sample": False, "num_beams": setting.num_beams, "num_return_sequences": n}
    own = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "custom_generate": choose_tokens}
    return {"do_sample": True, "num_return_sequences": n, **own}


def _chats(
    prompts: Sequence[str | None], pictures: Sequence[PIL.Image.Image], system: str | None, *, has_parts: bool
) -> list[list[dict[str, Any]]]:
    """Messages of every row, each a list of parts or a text."""

    def content(text: str | None, *images: PIL.Image.Image) -> Any:
        parts = [*({"type": "image", "image": image} for image in images), {"type": "text", "text": text}]
        return parts if has_parts or images else text

    first = [] if system is None else [{"role": "system", "content": content(system)}]
    return [
        [*first, {"role": "user", "content": content(prompt, *pictures[k : k + 1])}] for k, prompt in enumerate(prompts)
    ]


def _lengths(inputs: Mapping[str, torch.Tensor], n_rows: int) -> list[int]:
    """Tokens of the prompt of every row; 1, for the start, where there is none."""
    if "input_ids" not in inputs:
        return [1] * n_rows
    return inputs.get("attention_mask", torch.ones_like(inputs["input_ids"])).sum(dim=1).tolist()


def _revision(name: str, config: Any) -> str:
    """The commit of a model of the Hub, or a hash of the files of a folder."""
    folder = pathlib.Path(name)
    if not folder.is_dir():
        return str(getattr(config, "_commit_hash", None))
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.suffix in MODEL_FILES and path.is_file()):
        digest.update(f"{path.name} {file_sha256(path)}\n".encode())
    return f"sha256:{digest.hexdigest()}"
