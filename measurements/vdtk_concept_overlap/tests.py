"""Cases for the widget of evaluate: rows, and what they give."""

SYSTEM = [["a dog runs on the sand", "a dog plays"], ["a man cooks", "a man eats a pancake"]]
PEOPLE = [["a dog by the sea", "a brown dog runs"], ["a man at the stove", "a man cooks"]]

test_cases = [{"data": SYSTEM, "result": {"things_exact": 0.5}}, {"data": PEOPLE, "result": {"things_exact": 0.5}}]
