"""A captioner and a painter with random weights, saved as transformers and diffusers save theirs."""

import json

from tests.large_packages import diffusers, torch, transformers

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] [DEC] a the red blue green thing field table on number".split()


def save_captioner(folder):
    """Write a BLIP of a few thousand weights, and return its folder."""
    torch.manual_seed(0)
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    special = {"bos_token_id": 2, "eos_token_id": 3, "sep_token_id": 3, "pad_token_id": 0}
    text = {"vocab_size": len(WORDS), "encoder_hidden_size": 16, "projection_dim": 8, **special}
    vision = {"image_size": 32, "patch_size": 16}
    config = transformers.BlipConfig(text_config=small | text, vision_config=small | vision, projection_dim=8)
    transformers.BlipForConditionalGeneration(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"))
    images = transformers.BlipImageProcessor(size={"height": 32, "width": 32})
    transformers.BlipProcessor(images, tokenizer).save_pretrained(folder)
    return folder


def save_painter(folder):
    """Write a Stable Diffusion that draws squares of 16 pixels, and return its folder."""
    torch.manual_seed(0)
    characters = [chr(c) for c in range(97, 123)]
    tokens = [*characters, *(c + "</w>" for c in characters), "<|startoftext|>", "<|endoftext|>"]
    words = folder / "words"
    words.mkdir(parents=True)
    (words / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
    (words / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = transformers.CLIPTokenizer(str(words / "vocab.json"), str(words / "merges.txt"), model_max_length=20)
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    ends = {"bos_token_id": len(tokens) - 2, "eos_token_id": len(tokens) - 1}
    text = transformers.CLIPTextConfig(vocab_size=len(tokens), max_position_embeddings=20, **small, **ends)
    unet = diffusers.UNet2DConditionModel(
        sample_size=8,
        block_out_channels=(8, 16),
        layers_per_block=1,
        cross_attention_dim=16,
        attention_head_dim=2,
        norm_num_groups=2,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )
    vae = diffusers.AutoencoderKL(
        block_out_channels=(8, 8),
        norm_num_groups=2,
        latent_channels=4,
        layers_per_block=1,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )
    pipeline = diffusers.StableDiffusionPipeline(
        vae=vae,
        text_encoder=transformers.CLIPTextModel(text),
        tokenizer=tokenizer,
        unet=unet,
        scheduler=diffusers.DDIMScheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipeline.save_pretrained(folder / "pipeline")
    return folder / "pipeline"
