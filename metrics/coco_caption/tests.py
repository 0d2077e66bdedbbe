"""Cases for the widget of evaluate: rows, and what they give."""

SYSTEM = [["a dog runs on the sand", "a dog plays"], ["a man cooks", "a man eats a pancake"]]
PEOPLE = [["a dog by the sea", "a brown dog runs"], ["a man at the stove", "a man cooks"]]

test_cases = [
    {"predictions": SYSTEM, "references": PEOPLE, "result": {"Bleu_1": 0.6471, "ROUGE_L": 0.6758}},
    {"predictions": PEOPLE, "references": PEOPLE, "result": {"Bleu_1": 1.0, "ROUGE_L": 1.0}},
]
