"""A made world: scenes of coloured shapes, their pictures and captions."""
