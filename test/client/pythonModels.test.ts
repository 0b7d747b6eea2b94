/** Models of a Python text are found by its lines, whatever state the text is in. */

import { describe, expect, it } from 'vitest';
import { definitionAt, modelClasses } from '../../client/src/pythonModels.ts';

const script = `import torch
from torch import nn


@dataclass
class Config:
    width: int = 64


class Block(nn.Module):
    def forward(self, x):
        return x


class Net(torch.nn.Module, Mixin):
    def __init__(self):
        self.block = Block()

    def forward(self, x):

        return self.block(x)


def make_net():
    return Net()


if __name__ == "__main__":
    net = make_net()
`;

it('classes that derive from a module, at the left margin', () => {
  expect(modelClasses(script)).toEqual([
    { line: 9, name: 'Block' },
    { line: 14, name: 'Net' },
  ]);
});

it.each([
  ['class A(nn.Module):', ['A']],
  ['class A(L.LightningModule):', ['A']],
  ['class A(PreTrainedModel):', ['A']],
  ['class A(LlamaForCausalLM):', ['A']],
  ['class A(nn.Module', []],
  ['class A(ModuleList2):', []],
  ['class A:', []],
  ['    class A(nn.Module):', []],
  ['# class A(nn.Module):', []],
])('%j', (text, names) => {
  expect(modelClasses(text).map(({ name }) => name)).toEqual(names);
});

describe('what is at a line', () => {
  const lineOf = (text: string): number => script.split('\n').findIndex((line) => line.includes(text));
  it.each([
    ['class Net', 'Net'],
    ['self.block = Block()', 'Net'],
    ['return self.block(x)', 'Net'],
    ['return x', 'Block'],
    ['return Net()', 'make_net'],
    ['@dataclass', 'Config'],
    ['import torch', undefined],
    ['net = make_net()', undefined],
  ])('%s', (text, name) => {
    expect(definitionAt(script, lineOf(text))).toBe(name);
  });
});
