"""Models of every kind that `manycaps sample` takes, with random weights, saved as transformers saves them."""

import numpy as np
import PIL.Image

from tests.large_packages import OnFirstUse, torch, transformers
from tests.tiny_pipelines import save_captioner
from tests.tools import write_jsonl

tokenizers = OnFirstUse("tokenizers")

WORDS = "<pad> <s> </s> <unk> <image> <|im_start|> <|im_end|>".split()
# Those that Qwen2-VL looks for.
QWEN_WORDS = {name: f"<|{name}|>" for name in ("vision_start", "vision_end", "image_pad", "video_pad")}
WORDS += QWEN_WORDS.values()
WORDS += "a the red blue green thing field table on number dog cat runs sleeps what is user assistant".split()
WORDS += "system : .".split()

SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}

# What a language model of few weights is.
DECODER = {
    "vocab_size": len(WORDS),
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    **SPECIAL,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.5,
}

# The same of GPT-2, and an encoder of images.
GPT2 = {"vocab_size": len(WORDS), "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 32, **SPECIAL}
VISION = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
IMAGE = {"image_size": 16, "patch_size": 8}

# Transformers 4, whose names and checks differ.
IS_OLD = transformers.__version__.startswith("4.")

CHAT = (
    "{% for m in messages %}<|im_start|> {{ m['role'] }} : {% if m['content'] is string %}{{ m['content'] }}{% else %}"
    "{% for c in m['content'] %}{% if c['type'] == 'image' %} <image> {% else %}{{ c['text'] }}{% endif %}{% endfor %}"
    "{% endif %} <|im_end|> {% endfor %}{% if add_generation_prompt %}<|im_start|> assistant :{% endif %}"
)


def new_tokenizer():
    """Return a tokenizer of whole words."""
    kept = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>")
    )
    kept.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    special = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=kept, **special)
    # Found also where no space is before it.
    tokenizer.add_tokens(
        [tokenizers.AddedToken(token, special=True) for token in ("<image>", "<|im_start|>", *QWEN_WORDS.values())]
    )
    return tokenizer


def save(model, folder, *others):
    """Write a model with weights that make its samples differ, and what goes with it."""
    torch.manual_seed(1)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    for each in (model, *others):
        each.save_pretrained(folder)
    return folder


def save_causal(folder):
    """Write a GPT-2."""
    return save(transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT2)), folder, new_tokenizer())


def save_chat(folder):
    """Write a Llama with a template of a chat, and with settings of its own that are not to be used."""
    tokenizer = new_tokenizer()
    tokenizer.chat_template = CHAT
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER))
    model.generation_config.update(do_sample=True, temperature=0.01, top_k=1, repetition_penalty=3.0)
    return save(model, folder, tokenizer)


def save_encoder_decoder(folder):
    """Write a T5."""
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    config = transformers.T5Config(vocab_size=len(WORDS), decoder_start_token_id=0, **sizes, **SPECIAL)
    return save(transformers.T5ForConditionalGeneration(config), folder, new_tokenizer())


def save_vision_encoder_decoder(folder):
    """Write a ViT with a GPT-2."""
    encoder = transformers.ViTConfig(**IMAGE, **VISION)
    decoder = transformers.GPT2Config(add_cross_attention=True, is_decoder=True, **GPT2)
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 1, 0, 2
    model = transformers.VisionEncoderDecoderModel(config)
    model.generation_config = transformers.GenerationConfig(decoder_start_token_id=1, **SPECIAL)
    return save(model, folder, new_tokenizer(), transformers.ViTImageProcessor(size={"height": 16, "width": 16}))


def image_processor():
    return transformers.CLIPImageProcessor(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})


def save_git(folder):
    """Write a GIT."""
    text = {"vocab_size": len(WORDS), "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.GitConfig(vision_config={**VISION, **IMAGE}, intermediate_size=16, **text, **SPECIAL)
    processor = transformers.GitProcessor(image_processor(), new_tokenizer())
    return save(transformers.GitForCausalLM(config), folder, processor)


def save_image_chat(folder):
    """Write a LLaVA."""
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**IMAGE, **VISION | {"num_hidden_layers": 2}),
        text_config=transformers.LlamaConfig(**DECODER),
        image_token_index=WORDS.index("<image>"),
        vision_feature_select_strategy="default",
    )
    processor = transformers.LlavaProcessor(
        image_processor(),
        new_tokenizer(),
        patch_size=8,
        vision_feature_select_strategy="default",
        chat_template=CHAT,
        image_token="<image>",
        num_additional_image_tokens=1,
    )
    return save(transformers.LlavaForConditionalGeneration(config), folder, processor)


def save_qwen(folder):
    """Write a Qwen2-VL, whose images have as many tokens as their sizes ask for."""
    vision = {"depth": 1, "embed_dim": 16, "hidden_size": 16, "num_heads": 2, "mlp_ratio": 1, "patch_size": 8}
    rotation = "rope_scaling" if IS_OLD else "rope_parameters"
    text = {**DECODER, rotation: {"rope_type": "default", "mrope_section": [1, 1, 2]}}
    markers = {f"{name.removesuffix('_pad')}_token_id": WORDS.index(token) for name, token in QWEN_WORDS.items()}
    config = transformers.Qwen2VLConfig(text_config=text, vision_config=vision, **markers)
    sizes = {"patch_size": 8, "size": {"shortest_edge": 256, "longest_edge": 1_024}}
    tokenizer = new_tokenizer()
    if IS_OLD:  # its processor takes no other class
        tokenizer.__class__ = transformers.Qwen2TokenizerFast
    processor = transformers.Qwen2VLProcessor(
        transformers.Qwen2VLImageProcessor(**sizes),
        tokenizer,
        transformers.Qwen2VLVideoProcessor(**sizes),
        chat_template=CHAT.replace(" <image> ", " <|vision_start|> <|image_pad|> <|vision_end|> "),
    )
    return save(transformers.Qwen2VLForConditionalGeneration(config), folder, processor)


# Every kind: what writes it, and whether it takes images and prompts.
KINDS = {
    "blip": (save_captioner, True, False),
    "git": (save_git, True, False),
    "vision-encoder-decoder": (save_vision_encoder_decoder, True, False),
    "image-chat": (save_image_chat, True, True),
    "qwen2-vl": (save_qwen, True, True),
    "t5": (save_encoder_decoder, False, True),
    "gpt2": (save_causal, False, True),
    "chat": (save_chat, False, True),
}


def save_pictures(folder, n):
    """Write n small pictures of noise, and return their folder."""
    folder.mkdir()
    for i in range(n):
        pixels = np.random.default_rng(i).integers(256, size=(16, 16 + i, 3), dtype=np.uint8)
        PIL.Image.fromarray(pixels).save(folder / f"{i}.png")
    return folder


def save_prompts(path, n):
    """Write n prompts of different lengths, and return the path."""
    asked = [
        {"id": f"q{i}", "prompt": " ".join(["what is the dog on ?".split()[k % 6] for k in range(i + 1)])}
        for i in range(n)
    ]
    return write_jsonl(path, asked)
