"""Models of transformers that write texts: of images, of prompts, or of both; no code of theirs is run."""

import concurrent.futures
import hashlib
import inspect
import pathlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import PIL.Image
import torch
import transformers

from manycaps.kit.base_files import file_sha256
from manycaps.kit.base_messages import reason_of, shown_value
from manycaps.kit.clip_image_features import ordered_results
from manycaps.kit.clip_model import as_device
from manycaps.kit.media_images import as_image_source, as_rgb_image
from manycaps.sampling.decoding_setting import Setting
from manycaps.sampling.items import Item
from manycaps.sampling.sample_options import DTYPE_NAMES, SampleOptions
from manycaps.sampling.token_choice import SampledTokens, chosen_tokens, token_choice

# Floating-point numbers of a model, by the names of --dtype.
DTYPES = {name: getattr(torch, name) for name in DTYPE_NAMES}

# What is kept of a model's own settings of `generate`: special tokens, and what its cache needs; not its temperature,
# top-k, penalties and lengths.
KEPT_SETTINGS = (
    *("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "forced_bos_token_id"),
    *("forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens", "bad_words_ids", "cache_implementation"),
)

# Endings of files that make a model what it is.
MODEL_FILES = (".json", ".safetensors", ".bin", ".model", ".txt", ".jinja")


# Rows, and the tensors that a model takes of them.
ModelBatch = tuple[Sequence[Item], dict[str, torch.Tensor]]


class LocalModel:
    """A model of transformers."""

    def __init__(self, options: SampleOptions):
        self.options = options
        self._device = as_device(options.device)
        source = {"revision": options.revision, "trust_remote_code": False}
        config = _loaded(options.model, transformers.AutoConfig.from_pretrained, **source)
        self._kind = _kind_of(config)
        load = self._kind.from_pretrained
        self.model = _loaded(options.model, load, dtype=DTYPES[options.dtype], **source).to(self._device).eval()
        processor = _loaded(options.model, transformers.AutoProcessor.from_pretrained, **source)
        self._takes_images = self._kind in (
            transformers.AutoModelForImageTextToText,
            transformers.VisionEncoderDecoderModel,
        )
        self._processor: Any = processor if hasattr(processor, "tokenizer") else None
        tokenizer = processor.tokenizer if self._processor else processor
        if not hasattr(tokenizer, "batch_decode") or not hasattr(tokenizer, "pad"):
            tokenizer = _loaded(options.model, transformers.AutoTokenizer.from_pretrained, **source)
        self._tokenizer: Any = tokenizer
        self._images: Any = getattr(processor, "image_processor", None)
        if self._takes_images and self._images is None:
            self._images = _loaded(options.model, transformers.AutoImageProcessor.from_pretrained, **source)
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
        for module in self.model.modules():
            own = getattr(module, "generation_config", None)
            if own is not None:
                kept = {name: value for name in KEPT_SETTINGS if (value := getattr(own, name, None)) is not None}
                make: Any = transformers.GenerationConfig
                module.generation_config = make(**kept)
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
            raise ValueError(f"{item.where}: expected an image or a prompt, got none. Add it, or leave the row out.")
        if item.image is not None and not self._takes_images:
            raise ValueError(
                f"{self.options.model}: expected a model that takes images, got one of texts alone "
                f"({self.model.config.model_type}). Name another model, or give prompts."
            )
        if item.image is None and (self._chat is None or item.prompt is None) and self._takes_images:
            raise ValueError(f"{item.where}: expected an image, got none. The model captions images alone.")
        if item.image is not None and item.prompt is None and self._chat is not None:
            raise ValueError("--prompt: expected what to ask of an image, got none. Chat models need a prompt.")
        if item.image is not None and item.prompt is not None and self._chat is None and self._processor is None:
            raise ValueError("--prompt: expected none, got one. This model captions images without a prompt.")
        if self.options.system is not None and self._chat is None:
            raise ValueError("--system: expected none, got one. This model has no chat template.")

    def samples(
        self, items: Sequence[Item], setting: Setting, n: int, seed: int, finished: Collection[str] = ()
    ) -> Iterator[list[tuple[str, list[str]]]]:
        """Yield ids with n texts each, batch by batch; the next batch is read while the model writes."""
        starts = range(0, len(items), self.options.batch_size)
        batches = [items[start : start + self.options.batch_size] for start in starts]
        batches = [batch for batch in batches if not all(item.id in finished for item in batch)]
        with concurrent.futures.ThreadPoolExecutor(1) as reader:
            for batch, inputs in ordered_results(reader, self._read, batches, 1):
                rows = zip(batch, self._texts(batch, inputs, setting, n, seed), strict=True)
                yield [(item.id, of_item) for item, of_item in rows if item.id not in finished]

    def _read(self, items: Sequence[Item]) -> ModelBatch:
        """Decode images and make tensors of rows."""
        for item in items:
            self.check(item)
        prompts = [item.prompt for item in items]
        pictures = [
            as_rgb_image(as_image_source(item.image, item.where), item.where)
            for item in items
            if item.image is not None
        ]
        if self._chat is not None:
            chats = _chats(prompts, pictures, self.options.system)
            options = {"add_generation_prompt": True, "tokenize": True, "return_dict": True, "return_tensors": "pt"}
            return items, dict(self._chat.apply_chat_template(chats, **options, **self._padding))
        if not pictures:
            return items, dict(self._tokenizer(prompts, return_tensors="pt", padding=True))
        if prompts[0] is None:
            return items, {"pixel_values": self._images(pictures, return_tensors="pt")["pixel_values"]}
        return items, dict(self._processor(images=pictures, text=prompts, return_tensors="pt", padding=True))

    @torch.inference_mode()
    def _texts(
        self, items: Sequence[Item], given: dict[str, torch.Tensor], setting: Setting, n: int, seed: int
    ) -> list[list[str]]:
        """Return n texts of every row of a batch."""
        inputs = {
            name: value.to(self._device, DTYPES[self.options.dtype] if value.is_floating_point() else None)
            for name, value in given.items()
            if name not in self._unwanted
        }
        n_tokens = self._n_new_tokens(setting.max_new_tokens, inputs)
        choice = token_choice(setting, [item.id for item in items], n, n_tokens, seed, self._device)
        options = _generate_options(setting, n) | ({} if choice is None else {"logits_processor": [choice]})
        tokens = self.model.generate(**inputs, **options, max_new_tokens=n_tokens)
        if isinstance(choice, SampledTokens) and choice.has_overflowed:
            raise ValueError(
                f"--dtype: expected finite probabilities, got others in {self.options.dtype}. Try bfloat16 or float32."
            )
        tokens = tokens[:, self._n_prompt_tokens(tokens, inputs) :]
        texts = [text.strip() for text in self._tokenizer.batch_decode(tokens, skip_special_tokens=True)]
        n_each = len(texts) // len(items)
        return [texts[k * n_each : (k + 1) * n_each] * (n // n_each) for k in range(len(items))]

    def _n_new_tokens(self, wanted: int, inputs: dict[str, torch.Tensor]) -> int:
        """Tokens that there is room for: as many as wanted, unless the model has fewer positions."""
        config = self.model.config.get_text_config(decoder=True)
        positions = getattr(config, "n_positions", None) or getattr(config, "max_position_embeddings", None)
        if config.model_type == "t5" or not isinstance(positions, int) or positions <= 0:
            return wanted
        is_prefix = "input_ids" in inputs and not self.model.config.is_encoder_decoder
        n_given = inputs["input_ids"].shape[1] if is_prefix else 1
        if positions <= n_given:
            raise ValueError(
                f"prompt: expected fewer tokens than the {positions} positions of the model, got {n_given}. Shorten it."
            )
        return min(wanted, positions - n_given)

    def _n_prompt_tokens(self, tokens: torch.Tensor, inputs: dict[str, torch.Tensor]) -> int:
        """Tokens of the prompt that `generate` repeats before the text."""
        given = inputs.get("input_ids")
        if given is None or self.model.config.is_encoder_decoder:
            return 0
        if self._kind is transformers.AutoModelForCausalLM:
            return given.shape[1]
        given = given.repeat_interleave(len(tokens) // len(given), dim=0)
        # BLIP leaves out the last token of the prompt, and changes the first.
        for length in (given.shape[1], given.shape[1] - 1):
            if tokens.shape[1] >= length and torch.equal(tokens[:, 1:length], given[:, 1:length]):
                return length
        return 0


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
    own = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "custom_generate": chosen_tokens}
    return {"do_sample": True, "num_return_sequences": n, **own}


def _chats(
    prompts: Sequence[str | None], pictures: Sequence[PIL.Image.Image], system: str | None
) -> list[list[dict[str, Any]]]:
    """Messages of every row."""
    chats = []
    for k, prompt in enumerate(prompts):
        content: Any = prompt
        if pictures:
            content = [{"type": "image", "image": pictures[k]}, {"type": "text", "text": prompt}]
        system_content: Any = system if not pictures else [{"type": "text", "text": system}]
        first = [] if system is None else [{"role": "system", "content": system_content}]
        chats.append([*first, {"role": "user", "content": content}])
    return chats


def _loaded(name: str, load: Callable[..., Any], **keywords: Any) -> Any:
    """Call a loader; turn its many kinds of errors into one."""
    try:
        return load(name, **keywords)
    except Exception as error:  # transformers, huggingface_hub and safetensors each raise their own
        raise ValueError(
            f"model: expected a folder of a model, or its name on the Hub, got {shown_value(name)}, which cannot be "
            f"loaded ({type(error).__name__}: {reason_of(error)}). Check the name, --revision and the network; models "
            "with code of their own are not loaded."
        ) from error


def _revision(name: str, config: Any) -> str:
    """The commit of a model of the Hub, or a hash of the files of a folder."""
    folder = pathlib.Path(name)
    if not folder.is_dir():
        return str(getattr(config, "_commit_hash", None))
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.suffix in MODEL_FILES and path.is_file()):
        digest.update(f"{path.name} {file_sha256(path)}\n".encode())
    return f"sha256:{digest.hexdigest()}"
