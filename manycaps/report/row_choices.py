"""Which rows `manycaps rows` shows, and by which metrics: names alone, without packages."""

# Metrics of a caption against others, and what they are called.
METRICS = {"bleu_4": "BLEU-4", "rouge_l": "ROUGE-L", "meteor": "METEOR (NLTK)", "cider_d": "CIDEr-D"}

# How rows are chosen, and what the page says of them.
CHOICES = {
    "random": "chosen at random",
    "first": "the first of the file",
    "varied": "whose captions are farthest from their mean",
    "alike": "whose captions are nearest to their mean",
    "best": "with the highest mean score",
    "worst": "with the lowest mean score",
}
