"""Training steps in eager PyTorch, as people write them; on the card if there is one."""

import numpy as np
import torch
from memory_torch import layers
from models import GPT_RATE, HEADS, LAYERS, RATE, WIDTH, batch, gpt_batch, gpt_weights, labels
from torch import nn
from torch.nn import functional
from training_loop import FIRST, main

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def classifier(model):
    """A step of a network of layers, by gradient descent."""

    def make():
        data = batch(model)
        module = layers(model, False)
        x = torch.from_numpy(np.ascontiguousarray(data.transpose(0, 3, 1, 2)) if data.ndim == 4 else data).to(DEVICE)
        if data.ndim == 4:
            module, x = module.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
        y = torch.from_numpy(labels()).to(DEVICE)
        optimizer = torch.optim.SGD(module.parameters(), RATE)

        def step():
            optimizer.zero_grad()
            loss = functional.cross_entropy(module(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    return make


def by_hand(make):
    """A step captured as a CUDA graph, as PyTorch's documentation does it."""

    def captured():
        step = make()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            losses = [step().item() for _ in range(FIRST)]
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            loss = step()

        def replay():
            if losses:
                return losses.pop(0)
            graph.replay()
            return loss

        return replay

    return captured


def tape():
    """100 small ops recorded, and their gradient."""
    x = torch.full((8,), 0.5, requires_grad=True, device="cpu")

    def step():
        h = x
        for _ in range(50):
            h = h * x + x
        total = h.sum()
        total.backward()
        x.grad = None
        return total.detach()

    return step


class Gpt(nn.Module):
    """GPT-2; `fused` attention is one call, else it is written out."""

    def __init__(self, fused):
        super().__init__()
        self.fused = fused
        made = {name: torch.from_numpy(value).to(DEVICE, torch.bfloat16) for name, value in gpt_weights().items()}
        self.names = list(made)
        self.weights = nn.ParameterList([nn.Parameter(value) for value in made.values()])

    def forward(self, tokens):
        """What may come next, before the softmax."""
        w = dict(zip(self.names, self.weights, strict=True))
        h = functional.embedding(tokens, w["wte"]) + w["wpe"][: tokens.shape[1]]
        for layer in range(LAYERS):
            h = h + self._attention(w, f"{layer}/", self._norm(w, f"{layer}/before attention", h))
            h = h + self._mlp(w, f"{layer}/", self._norm(w, f"{layer}/before mlp", h))
        return self._norm(w, "last", h) @ w["wte"].T

    def _norm(self, w, name, h):
        return functional.layer_norm(h, (WIDTH,), w[f"{name}/scale"], w[f"{name}/shift"])

    def _dense(self, w, name, h):
        return functional.linear(h, w[name].T, w[f"{name}/bias"])

    def _mlp(self, w, at, h):
        return self._dense(w, at + "down", functional.gelu(self._dense(w, at + "up", h), approximate="tanh"))

    def _attention(self, w, at, h):
        size, length, _ = h.shape
        q, k, v = (
            part.view(size, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in self._dense(w, at + "qkv", h).chunk(3, -1)
        )
        if self.fused:
            made = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (WIDTH // HEADS) ** -0.5
            ahead = torch.ones(length, length, dtype=torch.bool, device=h.device).triu(1)
            made = functional.softmax(scores.masked_fill(ahead, float("-inf")), -1) @ v
        return self._dense(w, at + "out", made.transpose(1, 2).reshape(size, length, WIDTH))


def gpt(fused):
    """A step of the GPT, by AdamW."""

    def make():
        module = Gpt(fused)
        tokens, following = (torch.from_numpy(part).to(DEVICE) for part in gpt_batch())
        optimizer = torch.optim.AdamW(module.parameters(), GPT_RATE, weight_decay=0.1, fused=True)

        def step():
            optimizer.zero_grad()
            logits = module(tokens)
            loss = functional.cross_entropy(logits.flatten(0, 1).float(), following.flatten())
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    return make


def bytes_held():
    """The most that tensors held, in a step like any other."""
    return torch.cuda.max_memory_allocated() if DEVICE == "cuda" else None


if __name__ == "__main__":
    models = {"mlp": classifier("mlp"), "cnn": classifier("cnn"), "gpt": gpt(False), "gpt, attention fused": gpt(True)}
    models |= {f"{model}, CUDA graph": by_hand(classifier(model)) for model in ("mlp", "cnn")}
    main(models | {"tape": tape}, memory=bytes_held)
