"""Which module is meant by the name of a metric that is no module, as people write it."""

from collections.abc import Mapping

# What people call a metric that is part of a module, and what to take for it: names without capitals and signs.
_COCO = "coco_caption has it beside the other numbers of COCO's evaluation"
MEANT: Mapping[str, str] = {
    "bleu": f"Take bleu_rouge; {_COCO}.",
    "cider": f"Take trm_cider for cider_d and sets of captions; {_COCO}.",
    "clipscore": 'Take pac_score with variant="clip-vit-b-32" and weight=2.5.',
    "cococaption": "Take coco_caption.",
    "cocoevalcap": "Take coco_caption, or manycaps.coco for the classes.",
    "mauve": "Take mmd_bert or fid_bert with pooled=True: sets of captions as a whole.",
    "meteor": f"Take meteor15, the METEOR of captioning papers; {_COCO}; trm_meteor has NLTK's.",
    "ptb": "Take manycaps.functional.ptb_tokenize, or manycaps.coco.PTBTokenizer.",
    "pycocoevalcap": "Take coco_caption, or manycaps.coco for the classes.",
    "rouge": f"Take bleu_rouge; {_COCO}.",
    "selfbleu": "Take set_diversity.",
    "selfcider": "Take set_diversity.",
    "spice": "It is not in this collection: run pycocoevalcap's, which needs Java.",
}

# Endings of names that say no more.
_VARIANTS = ("tokenizer", "tokenize", "scorer", "score", "d", "l", "1", "2", "3", "4", "15")


def advice_for(name: str) -> str:
    """Say which module is meant by a name that none has.

    >>> advice_for("CIDEr-D") == advice_for("cider"), advice_for("trm_metor")
    (True, 'Check the spelling.')
    """
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    for ending in ("", *_VARIANTS):
        if plain.endswith(ending) and (advice := MEANT.get(plain.removesuffix(ending))):
            return advice
    return "Check the spelling."
