"""The authors' notebook, as a Keras user would write it today. Run in an environment of its own."""

import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from serve import serve

THREADS = 2
BATCH = 128


def network() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((28, 56, 1)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(256, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(100, activation="relu"),
            layers.Dense(1),
        ]
    )
    model.compile(loss="mse", optimizer=keras.optimizers.Adadelta(1.0, rho=0.95, epsilon=1e-8))
    return model


class Notebook:
    """What the notebook holds in memory: all pictures of a fold as one array."""

    def __init__(self, data: str) -> None:
        arrays = np.load(data)
        self.digits, self.labels = arrays["images"], arrays["labels"]
        self.model = network()
        self.pictures = np.zeros((0, 28, 56, 1), np.float32)
        self.answers = np.zeros(0, np.float32)
        self.order = np.zeros(0, np.intp)  # rows as they come in training, all pairs mixed
        self.trained = 0  # rows so far

    def draw(self, samples: int) -> float:
        """Algorithm 1 as a loop over 90 pairs and their samples; returns its seconds."""
        pictures, answers = [], []
        started = time.perf_counter()
        for pair in range(90):
            left, right = divmod(pair, 10)
            left_images = self.digits[self.labels == left]
            right_images = self.digits[self.labels == right]
            for _ in range(samples):
                one = left_images[np.random.randint(len(left_images))]
                other = right_images[np.random.randint(len(right_images))]
                pictures.append(np.hstack((one, other)))
                answers.append(left + right)
        seconds = time.perf_counter() - started
        self.pictures = np.asarray(pictures, np.float32).reshape(-1, 28, 56, 1)
        self.pictures /= 255
        self.answers = np.asarray(answers, np.float32)
        self.order = np.random.default_rng(0).permutation(len(pictures))
        return seconds

    def train(self, steps: int) -> float:
        """Samples a second of training."""
        rows = self.order[self.trained :][: steps * BATCH]
        self.trained += len(rows)
        pictures, answers = self.pictures[rows], self.answers[rows]
        started = time.perf_counter()
        self.model.fit(pictures, answers, batch_size=BATCH, epochs=1, verbose=0)
        return len(rows) / (time.perf_counter() - started)

    def predict(self, count: int) -> float:
        """Seconds a sample, one call each."""
        started = time.perf_counter()
        for row in range(count):
            self.model.predict(self.pictures[row : row + 1], verbose=0)
        return (time.perf_counter() - started) / count


def main() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    notebook = Notebook(sys.argv[1])
    versions = {"keras": keras.__version__, "tensorflow": tf.__version__}
    serve(notebook, versions)


if __name__ == "__main__":
    main()
