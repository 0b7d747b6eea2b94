"""Writes small.pt2: a small network in training, with an open batch, exported by PyTorch 2.13.

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


with torch.device("meta"):
    model = Small().train()
    image = torch.randn(4, 3, 16, 16)
model.fc.bias.requires_grad_(False)
batch = torch.export.Dim("batch", min=2, max=64)
program = torch.export.export(model, (image,), dynamic_shapes=({0: batch},), strict=False)
for node in program.graph.nodes:
    node.meta.pop("stack_trace", None)
torch.export.save(program, Path(__file__).with_name("small.pt2"))
