"""Writes small.pt2, a small network in training with an open batch, and words.pt2, attention written out.

PyTorch 2.13 exported those that are here.

Run it where PyTorch is: python3 test/formats/pt2/writeArchives.py
Stack traces are removed, because they hold paths of the machine.
"""

from pathlib import Path

import torch


class Small(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.drop = torch.nn.Dropout(0.1)
        self.fc = torch.nn.Linear(8, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        x = self.drop(x.mean((2, 3)))
        return self.fc(x).view(x.shape[0], -1)


class Words(torch.nn.Module):
    """Masked attention as products, over words of which 0 is padding."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(100, 16)
        self.merged = torch.nn.Linear(16, 48, bias=False)
        self.drop = torch.nn.Dropout(0.1, inplace=True)

    def forward(self, words):
        query, key, value = self.merged(self.embed(words)).chunk(3, -1)
        scores = torch.bmm(query, key.transpose(1, 2)) / 4
        order = (words != 0).cumsum(1)
        seen = (order.unsqueeze(2) >= order.unsqueeze(1)) & (words != 0).unsqueeze(1)
        return self.drop(torch.bmm(torch.softmax(scores.masked_fill(~seen, -1e4), -1), value))


def write(name, model, inputs, **sizes):
    program = torch.export.export(model, inputs, strict=False, **sizes)
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    torch.export.save(program, Path(__file__).with_name(name))


with torch.device("meta"):
    small, image = Small().train(), torch.randn(4, 3, 16, 16)
    words, tokens = Words().train(), torch.zeros(2, 8, dtype=torch.long)
small.fc.bias.requires_grad_(False)
write("small.pt2", small, (image,), dynamic_shapes=({0: torch.export.Dim("batch", min=2, max=64)},))
write("words.pt2", words, (tokens,))
