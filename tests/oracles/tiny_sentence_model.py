"""A sentence-transformers model with random weights, small enough to be made for a test."""

from tests.large_packages import OnFirstUse, sentence_transformers, torch, transformers

models = OnFirstUse("sentence_transformers.models")

WORDS = "a and beach cat dog dogs long on run sofa the two very about caption cats".split()


def save_tiny_model(folder, seed=0, most_pieces=None, words=WORDS):
    """Write one BERT layer of 16 dimensions with mean pooling into `folder`; return it. It reads 512 word pieces."""
    parts = folder.parent / f"{folder.name}-parts"
    parts.mkdir(parents=True)
    (parts / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    transformers.BertTokenizerFast.from_pretrained(parts).save_pretrained(parts)
    torch.manual_seed(seed)
    config = transformers.BertConfig(
        vocab_size=5 + len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    transformers.BertModel(config).save_pretrained(parts, safe_serialization=True)
    layers = [models.Transformer(str(parts), max_seq_length=most_pieces), models.Pooling(16)]
    sentence_transformers.SentenceTransformer(modules=layers, device="cpu").save_pretrained(str(folder))
    return folder
