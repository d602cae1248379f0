"""A small GPT that learns to write, character by character.

    python examples/gpt_small.py                             a text is grown from a grammar on the spot
    python examples/gpt_small.py --data book.txt --steps 5000
    python examples/gpt_small.py --gpus 2                    the first blocks on one GPU, the others on the next
    python examples/gpt_small.py --size 124m --batch 8 --context 512 --bfloat16       the shape of GPT-2 small

A block adds to the stream x what attention and a perceptron make of it:

    x = x + attention(norm(x))        every character looks at those before it
    x = x + perceptron(norm(x))

Without cards the GPUs are virtual: CPU threads that follow the rules of GPUs. A block computes where its weights are;
gradients and AdamW's moments follow, and so do copies of the stream between the GPUs.
"""

import argparse
import random
import time
from collections import Counter
from pathlib import Path

import numpy as np

import situs as tf

SIZES = {  # layers, heads, width, context, characters (0: as many as the text has), learning rate
    "tiny": (2, 4, 64, 64, 0, 0.01),
    "small": (6, 6, 384, 256, 0, 0.001),
    "124m": (12, 12, 768, 1024, 50257, 0.0006),
}
GRAMMAR = {
    "sentence": ["the thing verb the thing.", "a thing verb, and the thing verb a thing.", "where is the thing?"],
    "thing": ["noun", "noun", "adjective noun", "noun of the noun", "noun that verb the noun"],
    "noun": ["cat", "river", "king", "moon", "garden", "old clock", "stone", "fox"],
    "verb": ["sees", "follows", "finds", "loves", "remembers", "leaves"],
    "adjective": ["red", "small", "silent", "golden", "hungry"],
}


# The data.


def grow(word, choose):
    """A word of the grammar, replaced by what it stands for until nothing is left to replace."""
    stem = word.rstrip(".,?")
    if stem not in GRAMMAR:
        return word
    return " ".join(grow(part, choose) for part in choose(GRAMMAR[stem]).split(" ")) + word[len(stem) :]


def load(path):
    """The text of a file, or one that is grown."""
    if path:
        return Path(path).read_text(encoding="utf-8")
    choose = random.Random(0).choice
    return "\n".join(grow("sentence", choose) for _ in range(2000))


def windows(codes, context, batch):
    """Batches of stretches of the text, each one character longer than what the model sees."""
    starts = tf.data.Dataset.range(len(codes) - context).shuffle(100_000, seed=0).repeat()
    stretches = starts.map(lambda start: tf.slice(codes, [start], [context + 1]))
    return stretches.batch(batch, drop_remainder=True).prefetch(2)


# The model.


class GPT:
    """Embeddings, blocks spread over devices, and a norm; the embeddings also read the result."""

    def __init__(self, layers, heads, width, context, characters, devices, dtype):
        self.heads, self.context, self.dtype = heads, context, dtype
        self.variables = []
        self.homes = [devices[number * len(devices) // layers] for number in range(layers)]
        with tf.device(devices[0]):
            self.embedding = self.variable("embedding", [characters, width], 0.02)
            self.positions = self.variable("positions", [context, width], 0.02)
        self.blocks = []
        for home in self.homes:
            with tf.device(home):
                self.blocks.append(self.make_block(width, deviation=0.02 / (2 * layers) ** 0.5))
        with tf.device(devices[-1]):
            self.norm = self.make_norm("norm", width)

    def variable(self, name, shape, deviation=0.0, mean=0.0):
        """A variable of the model, kept in float32 whatever the model computes in."""
        made = tf.Variable(tf.random.normal(shape, mean, deviation), name=name)
        self.variables.append(made)
        return made

    def make_linear(self, name, inputs, outputs, deviation=0.02):
        """A matrix and a bias."""
        return self.variable(name, [inputs, outputs], deviation), self.variable(f"{name}_bias", [outputs])

    def make_norm(self, name, width):
        """The scale and the offset of a layer norm."""
        return self.variable(f"{name}_scale", [width], mean=1.0), self.variable(f"{name}_offset", [width])

    def make_block(self, width, deviation):
        """The variables of a block; what adds to the stream begins small, because many blocks add to it."""
        return {
            "norm_1": self.make_norm("norm_1", width),
            "parts": self.make_linear("parts", width, 3 * width),
            "mixed": self.make_linear("mixed", width, width, deviation),
            "norm_2": self.make_norm("norm_2", width),
            "wide": self.make_linear("wide", width, 4 * width),
            "narrow": self.make_linear("narrow", 4 * width, width, deviation),
        }

    def __call__(self, codes):
        """For every position the scores of all characters to come next."""
        length = tf.shape(codes)[1]
        with tf.device(self.homes[0]):
            x = tf.cast(tf.gather(self.embedding, codes) + self.positions[:length], self.dtype)
        for home, block in zip(self.homes, self.blocks, strict=True):
            with tf.device(home):
                x += self.attention(self.normalized(x, block["norm_1"]), block)
                hidden = tf.nn.gelu(self.linear(self.normalized(x, block["norm_2"]), block["wide"]), approximate=True)
                x += self.linear(hidden, block["narrow"])
        with tf.device(self.homes[-1]):
            x = self.normalized(x, self.norm)
        with tf.device(self.homes[0]):
            return tf.cast(tf.matmul(x, tf.cast(self.embedding, self.dtype), transpose_b=True), tf.float32)

    def attention(self, x, block):
        """Each head mixes, for every position, the values of the positions up to it."""
        batch, length, width, each = tf.shape(x)[0], tf.shape(x)[1], x.shape[-1], x.shape[-1] // self.heads
        parts = tf.reshape(self.linear(x, block["parts"]), [batch, length, 3, self.heads, each])
        queries, keys, values = tf.unstack(parts, axis=2)  # batch, position, head, each
        mixed = tf.nn.dot_product_attention(queries, keys, values, is_causal=True)
        return self.linear(tf.reshape(mixed, [batch, length, width]), block["mixed"])

    def normalized(self, x, norm):
        """A layer norm over the last axis."""
        scale, offset = (tf.cast(variable, self.dtype) for variable in norm)
        return tf.nn.layer_norm(x, scale, offset, epsilon=1e-5)

    def linear(self, x, weights):
        """A matrix product and a bias, computed in the dtype of the model."""
        matrix, bias = (tf.cast(variable, self.dtype) for variable in weights)
        return tf.matmul(x, matrix) + bias


# Training and writing.


def train(model, batches, steps, rate):
    """AdamW, whose rate grows for a tenth of the steps and falls to nothing as a cosine does."""
    warmup = max(1, steps // 10)
    schedule = tf.optimizers.schedules.CosineDecay(0.0, steps - warmup, warmup_target=rate, warmup_steps=warmup)
    optimizer = tf.optimizers.AdamW(schedule, weight_decay=0.1, beta_2=0.95)
    optimizer.exclude_from_weight_decay([v for v in model.variables if len(v.shape) < 2])

    @tf.function
    def step(codes):
        with tf.GradientTape() as tape:
            scores = model(codes[:, :-1])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(codes[:, 1:], scores))
        gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, model.variables), 1.0)
        optimizer.apply_gradients(zip(gradients, model.variables, strict=True))
        return loss, norm

    done, start = 0, time.perf_counter()
    for number, codes in enumerate(batches.take(steps), start=1):
        loss, norm = step(codes)
        if number in (1, steps) or number % 50 == 0:
            print(f"step {number}: loss {float(loss):.3f}, gradient {float(norm):.2f}", end=", ")  # waits for the GPU
            taken = (time.perf_counter() - start) / (number - done)
            print(f"{1000 * taken:.1f} ms a step")
            done, start = number, time.perf_counter()


def write(model, codes, length):
    """Goes on from some characters, one after the other, each drawn by its score."""

    @tf.function(input_signature=[tf.TensorSpec([1, None], tf.int64)])
    def following(codes):
        return tf.random.categorical(model(codes)[:, -1] / 0.7, 1)

    codes = tf.constant([codes], tf.int64)
    for _ in range(length):
        codes = tf.concat([codes, following(codes[:, -model.context :])], axis=1)
    return codes.numpy()[0]


def use_gpus(count):
    """The names of so many GPUs: cards, or virtual ones where there are none. The CPU, for no GPUs."""
    if cards := tf.config.list_physical_devices("GPU"):
        tf.config.set_visible_devices(cards[:count], "GPU")
    else:
        tf.config.set_virtual_gpus(count)
    return [gpu.name for gpu in tf.config.list_logical_devices("GPU")] or ["/cpu:0"]


def main():
    """Trains on a text and writes another."""
    parser = argparse.ArgumentParser(description="A GPT of characters.")
    parser.add_argument("--gpus", type=int, default=1, help="virtual where there are no cards; 0 for the CPU")
    parser.add_argument("--data", help="a text to learn from")
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--context", type=int, help="how many characters the model sees")
    parser.add_argument("--bfloat16", action="store_true", help="compute in bfloat16, keep variables in float32")
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--batch", type=int, default=16)
    args = parser.parse_args()

    devices = use_gpus(args.gpus)
    tf.random.set_seed(0)
    text = load(args.data)
    alphabet = sorted(set(text))
    codes = np.array([alphabet.index(character) for character in text])
    layers, heads, width, context, characters, rate = SIZES[args.size]
    context = args.context or context
    if len(text) <= context:
        raise SystemExit(f"The text has {len(text)} characters: too few for a model that sees {context} at once.")
    dtype = tf.bfloat16 if args.bfloat16 else tf.float32
    model = GPT(layers, heads, width, context, characters or len(alphabet), devices, dtype)
    print(f"{sum(np.prod(v.shape) for v in model.variables) / 1e6:.2f} million parameters, {len(text)} characters")
    train(model, windows(codes, context, args.batch), args.steps, rate)
    print("ops ran on", dict(Counter(assignment.device.short_name for assignment in tf.explain())))
    print("".join(alphabet[code] for code in write(model, codes[:16], 200) if code < len(alphabet)))


if __name__ == "__main__":
    main()
