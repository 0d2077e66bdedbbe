"""The maths of the modules, and what they have in common: one file a topic, its subject first in the name."""
