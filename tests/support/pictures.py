"""What the texts of a picture say, and a prediction to draw."""

import functools

import numpy

import smemkit


def list_texts(ax, kind):
    """What the labels of a kind say: "end" of a line, "value" of a bar, "source" of the data."""
    return [text.get_text() for text in ax.texts if text.get_gid() == kind]


def point_of(ax):
    """The picture's sentence in one line."""
    return " ".join(ax.get_title(loc="left").split())


@functools.cache
def predict_copy():
    """A Prediction of a small call."""
    a = numpy.ones((64, 64), dtype="float32")
    return smemkit.predict(smemkit.transpose, a, variant="copy", device="t4")
