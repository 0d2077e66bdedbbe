"""CLIP features, PAC-S and RefPAC-S with open_clip's own network, tokenizer and preprocessing, in float64."""

from tests.clip_checkpoints import SEEDED, new_network
from tests.large_packages import open_clip, torch
from tests.oracles.emscore_loop import cosine

# PAC-S: words before a caption, and the factor (Sarto et al., 2023).
PROMPT = "A photo depicts "
FACTOR = 2.0


class Encoders:
    """open_clip's CLIP in float64, with its own tokenizer and preprocessing."""

    def __init__(self, weights, shape=SEEDED):
        self.network = new_network(shape).double().eval()
        self.network.load_state_dict(weights)
        self.tokenizer = open_clip.SimpleTokenizer()
        self.preprocess = open_clip.image_transform(
            shape["vision_cfg"]["image_size"],
            is_train=False,
            mean=open_clip.OPENAI_DATASET_MEAN,
            std=open_clip.OPENAI_DATASET_STD,
        )

    def image(self, picture):
        """Features of a picture."""
        with torch.inference_mode():
            return self.network.encode_image(self.preprocess(picture)[None].double())[0].tolist()

    def text(self, caption):
        """Features of a text."""
        with torch.inference_mode():
            return self.network.encode_text(self.tokenizer(caption))[0].tolist()

    def ids(self, caption):
        """Token numbers with the start and the end, which is the largest."""
        ids = self.tokenizer(caption)[0].tolist()
        return ids[: ids.index(max(ids)) + 1]

    def tokens(self, caption):
        """Features of every token."""
        network = self.network
        with torch.inference_mode():
            states = network.token_embedding(self.tokenizer(caption)) + network.positional_embedding
            states = network.transformer(states, attn_mask=network.attn_mask)
            features = (network.ln_final(states) @ network.text_projection)[0].tolist()
        return features[: len(self.ids(caption))]


def pac_scores(encoders, picture, caption, references):
    """PAC-S and RefPAC-S of one caption."""
    features = encoders.text(PROMPT + caption)
    pac_s = FACTOR * max(cosine(features, encoders.image(picture)), 0.0)
    closest = max(0.0, *(cosine(features, encoders.text(PROMPT + text)) for text in references))
    return pac_s, 2 * pac_s * closest / (pac_s + closest) if pac_s and closest else 0.0
