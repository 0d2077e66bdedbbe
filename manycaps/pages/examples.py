"""Inputs of the example buttons of the pages: captions of five images, and a picture."""

import PIL.Image
import PIL.ImageDraw

# Five images, twelve captions each, one half for a system that varies and one for people: as the boxes take them.
_VARIED = """\
a wet dog shakes itself dry at the edge of a lake
drops of water fly off a brown dog
a brown and white dog shakes off water on the pebbles
a spaniel gets dry after swimming in the lake
close view of a dog throwing water from its fur
the dog has just come out of the lake

a man in an apron repairs a bicycle in his workshop
a bicycle on a repair stand and a man with a spanner
the mechanic is tightening a bolt on a bike
tools hang on the wall behind a man who mends a bike
an elderly man mends a bicycle in a garage full of tools
a man with gray hair bends over a bicycle wheel

people shopping for fresh produce at a street market
a lady in a green coat buys tomatoes
the woman in the green coat is looking at the vegetables
a customer fills her basket at the vegetable stand
fruit and vegetables are piled high on a market stand
a seller weighs tomatoes for a woman

boys play football on a dusty field at sunset
the boy in the yellow shirt is about to shoot
two boys fight for the ball on a sandy field
four boys run across a dirt pitch
a group of children chase a ball
a boy in yellow dribbles past his friends

a red train pulls into a snowy station
a few people are about to board a red train in winter
passengers with suitcases wait on a platform covered in snow
a train stops at a small station in the mountains
a red locomotive on snow covered rails
travelers in winter coats at a railway station"""
_PEOPLE = """\
a dog with floppy ears on a stony shore
the wet dog is shaking on the shore of a lake
a spaniel shaking water from its coat
water sprays everywhere as the dog shakes
a brown dog stands in shallow water and shakes its fur
a soaked dog beside the lake after a swim

a bike repairman at work among his tools
a red bicycle being repaired in a small workshop
a man wearing an apron checks the chain of a bicycle
a mechanic turns the pedal of an upside down bike
somebody works on the chain of a red bicycle
an old man is fixing the wheel of a bicycle

a woman picks out tomatoes at an outdoor market
a market stall with tomatoes, peppers and lettuce
a woman holds a tomato and talks to the seller
a woman shops for vegetables under a striped awning
a shopper with a basket chooses vegetables from a stall
a busy farmers market on a sunny morning

a soccer match between young boys on bare ground
a barefoot boy kicks a soccer ball
some kids kick a football around as the sun goes down
dust rises around the children as they run after the ball
children playing a game of football without shoes
kids are playing soccer in the evening light

snow falls on people standing beside the tracks
a train arrives while it is snowing
the platform is white with snow and a train is coming
people wait for their train on a cold winter day
a woman with a suitcase watches the train come in
a passenger train stands at the snowy platform"""

# The first caption of every image as often as there were captions, and every image's captions at the image before it.
_ROWS = [row.split("\n") for row in _VARIED.split("\n\n")]
_REPEATED = "\n\n".join("\n".join(row[:1] * len(row)) for row in _ROWS)
_SHIFTED = "\n\n".join("\n".join(row) for row in [*_ROWS[1:], _ROWS[0]])

# What the candidates of an example are, and both boxes. A test asks every distribution module whether it agrees.
EXAMPLE_CAPTIONS = {
    "Varied captions": (_VARIED, _PEOPLE),
    "One caption repeated": (_REPEATED, _PEOPLE),
    "Captions of another image": (_SHIFTED, _PEOPLE),
}


def example_picture() -> PIL.Image.Image:
    """A red square and a blue circle on white, to fill in as an example.

    >>> example_picture().size
    (320, 240)
    """
    picture = PIL.Image.new("RGB", (320, 240), "white")
    pen = PIL.ImageDraw.Draw(picture)
    pen.rectangle((40, 70, 140, 170), fill=(200, 30, 30))
    pen.ellipse((180, 70, 280, 170), fill=(30, 60, 200))
    return picture
