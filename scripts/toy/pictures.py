"""Pictures of scenes: Pillow, antialiased, with random positions, sizes and colours."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import PIL.Image
import PIL.ImageDraw

from scripts.toy.scenes import OPPOSITE, Group, Scene, stated_value

# Side of a picture in pixels, and how many times larger it is drawn before it is scaled down.
SIDE = 64
OVERSAMPLING = 2

# Side of a cell of the grid in pixels, and the cells that a shape of each size covers in each direction.
CELL = 16
CELLS = {"small": 1, "large": 2}

# Diameter of a shape as a share of its cells, and by which share it may differ.
DIAMETER = 0.88
DIAMETER_JITTER = 0.08

# Largest distance of a shape from the middle of its cells, in pixels.
PLACE_JITTER = 1.5

# Largest rotation of a shape, in degrees.
ROTATION = 10

# Red, green and blue of the colours, and the largest change of each.
RGB = {
    "red": (220, 40, 40),
    "orange": (240, 140, 20),
    "yellow": (240, 220, 50),
    "green": (40, 160, 60),
    "blue": (40, 80, 220),
    "purple": (150, 50, 180),
    "white": (245, 245, 245),
    "grey": (150, 150, 150),
    "black": (25, 25, 25),
    "brown": (110, 75, 50),
}
RGB_JITTER = 12

# Standard deviation of the noise on every value of every pixel.
NOISE = 4.0


class Place(NamedTuple):
    """Where one shape lies: its upper left cell."""

    # Number of its group.
    group: int
    column: int
    row: int


def draw_picture(rng: np.random.Generator, scene: Scene, places: Sequence[Place] | None = None) -> PIL.Image.Image:
    """Draw a scene as an RGB picture with sides of `SIDE` pixels; places are drawn, too, unless they are given."""
    image = PIL.Image.new("RGB", (SIDE * OVERSAMPLING,) * 2, _shade(rng, stated_value(scene.background)))
    draw = PIL.ImageDraw.Draw(image)
    for cell in draw_places(rng, scene) if places is None else places:
        group = scene.groups[cell.group]
        cells = CELLS[stated_value(group.size)]
        corner = np.array([cell.column, cell.row]) * CELL
        centre = corner + cells * CELL / 2 + rng.uniform(-PLACE_JITTER, PLACE_JITTER, 2)
        diameter = DIAMETER * (1 + DIAMETER_JITTER * rng.uniform(-1, 1)) * CELL * cells
        _draw_shape(rng, draw, group, centre * OVERSAMPLING, diameter / 2 * OVERSAMPLING)
    pixels = np.asarray(image.reduce(OVERSAMPLING)) + NOISE * rng.standard_normal((SIDE, SIDE, 3), np.float32)
    return PIL.Image.fromarray(np.clip(np.rint(pixels), 0, 255).astype(np.uint8))


def draw_places(rng: np.random.Generator, scene: Scene) -> list[Place]:
    """Draw different cells for the shapes of a scene, each group in its part of the picture."""
    places = []
    for i, (group, (column, row, n_columns, n_rows)) in enumerate(zip(scene.groups, _regions(scene), strict=True)):
        cells = CELLS[stated_value(group.size)]
        n_columns, n_rows = n_columns // cells, n_rows // cells
        for chosen in rng.choice(n_columns * n_rows, stated_value(group.count), replace=False).tolist():
            places.append(Place(i, column + chosen % n_columns * cells, row + chosen // n_columns * cells))
    return places


def group_of_cells(scene: Scene, places: Sequence[Place]) -> np.ndarray:
    """Return which group covers each cell, -1 for none: integers, shape (rows, columns)."""
    covered = np.full((SIDE // CELL,) * 2, -1)
    for cell in places:
        cells = CELLS[stated_value(scene.groups[cell.group].size)]
        covered[cell.row : cell.row + cells, cell.column : cell.column + cells] = cell.group
    return covered


def _shade(rng: np.random.Generator, colour: str) -> tuple[int, ...]:
    """One of the shades of a colour."""
    values = np.add(RGB[colour], rng.integers(-RGB_JITTER, RGB_JITTER + 1, 3))
    return tuple(np.clip(values, 0, 255).tolist())


def _regions(scene: Scene) -> list[tuple[int, int, int, int]]:
    """Cells in which each group lies: first column, first row, number of columns, number of rows."""
    side, half = SIDE // CELL, SIDE // CELL // 2
    regions = {
        None: (0, 0, side, side),
        "left": (0, 0, half, side),
        "right": (half, 0, half, side),
        "above": (0, 0, side, half),
        "below": (0, half, side, half),
    }
    opposite = None if scene.relation is None else OPPOSITE[scene.relation]
    return [regions[relation] for relation in (scene.relation, opposite)[: len(scene.groups)]]


def _draw_shape(
    rng: np.random.Generator, draw: PIL.ImageDraw.ImageDraw, group: Group, centre: np.ndarray, radius: float
) -> None:
    colour = _shade(rng, stated_value(group.colour))
    box = [*(centre - radius), *(centre + radius)]
    if group.shape == "circle":
        draw.ellipse(box, fill=colour)
    elif group.shape == "ring":
        draw.ellipse(box, outline=colour, width=round(0.45 * radius))
    else:
        corners = OUTLINES[stated_value(group.shape)]
        turn = np.deg2rad(rng.uniform(-ROTATION, ROTATION))
        rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        draw.polygon([tuple(point) for point in centre + radius * corners @ rotation.T], fill=colour)


def _regular(n_corners: int, radii: tuple[float, ...]) -> np.ndarray:
    """Corners of a polygon whose first corner is on top and whose radii take turns, shape (n_corners, 2)."""
    angles = 2 * np.pi * np.arange(n_corners) / n_corners
    return np.resize(radii, n_corners)[:, None] * np.stack([np.sin(angles), -np.cos(angles)], axis=1)


_CROSS_ARM = np.array([[-0.34, -0.34], [-0.34, -1], [0.34, -1]])
_QUARTER_TURN = np.array([[0, 1], [-1, 0]])

# Corners of the shapes with straight sides, in radii around the centre; y points down.
OUTLINES = {
    "square": 0.88 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]),
    "triangle": np.add(_regular(3, (1.1,)), [0, 0.2]),
    "cross": np.concatenate([_CROSS_ARM @ np.linalg.matrix_power(_QUARTER_TURN, i) for i in range(4)]),
    "star": _regular(10, (1.1, 0.45)),
}
