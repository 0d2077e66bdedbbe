"""A sentence-transformers model with random weights, small enough to be made for a test."""

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast

WORDS = "a and beach cat dog dogs long on run sofa the two very about caption".split()


def save_tiny_model(folder):
    """Write one BERT layer of 16 dimensions with mean pooling into `folder`; return it."""
    parts = folder.parent / f"{folder.name}-parts"
    parts.mkdir(parents=True)
    (parts / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    BertTokenizerFast(vocab_file=str(parts / "vocab.txt")).save_pretrained(parts)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=5 + len(WORDS), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    BertModel(config).save_pretrained(parts, safe_serialization=True)
    SentenceTransformer(modules=[Transformer(str(parts)), Pooling(16)], device="cpu").save_pretrained(str(folder))
    return folder
