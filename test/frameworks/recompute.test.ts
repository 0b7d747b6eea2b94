/**
 * What checkpointed blocks keep and what backward computes again, kernel by kernel. PyTorch 2.13 torch/utils/checkpoint.py: `checkpoint`,
 * `set_checkpoint_early_stop` (the second forward ends where its last tensor is saved, which is before that kernel runs) and
 * `SelectiveCheckpointContext` (the results of products are kept, and not computed again).
 */

import { expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import type { Checkpoint, Precision } from '../../server/src/model/scenario.ts';
import {
  elementwise,
  matmul,
  narrowed,
  normalization,
  operatorText,
  widened,
} from '../support/kernelTable.ts';

const text = `inputs:
  x: float32[8, 32]
blocks:
  mlp:
    - ln: LayerNorm(64)
    - up: Linear(64, 256, bias=False)
    - act: GELU()
    - down: Linear(256, 64, bias=False)
    - out: add(down, input)
layers:
  - stem: Linear(32, 64, bias=False)
  - h: mlp() * 2
  - head: Linear(64, 10, bias=False)
`;

/** Of each operator of the second block: what backward launches for what it reads, and what is kept. */
function secondBlock(
  checkpoint: Checkpoint,
  {
    precision = 'fp32',
    options = {},
  }: { precision?: Precision; options?: Readonly<Record<string, string>> } = {},
): readonly string[] {
  const { training, scenario, cluster } = estimateModel(openLayerSpec(text, 'stack.layers.yaml'), [
    {
      ...{ cluster: 'a100-sxm-80gb', gpus: 1, checkpoint, loss: 'none', precision },
      framework: { name: 'pytorch-ddp', options },
    },
  ]);
  if (training === undefined || scenario === undefined || cluster === undefined)
    throw new Error('not costed');
  const { operators } = planStep(training, scenario, cluster).lowered;
  return operators.slice(6, 11).map((lowered, index) => {
    const type = training.analysis.graph.operators[index + 6]?.type;
    if (lowered === undefined) throw new Error(`${type} has no cost`);
    return operatorText(type, lowered)
      .split(' | ')
      .filter((part) => !/^[FW] /.test(part))
      .join(' | ');
  });
}

/** Elements of rows, of wide ones and of a weight. */
const [rows, wide, weight] = [8 * 64, 8 * 256, 64 * 256];
const [parameters, statistics] = [2 * 64, 8 * 8];

const backward = {
  // The residual reads what the normalization does: their gradients are added.
  norm: `${normalization([12 * rows, 'r64'])}, ${elementwise(12 * rows)}`,
  product: matmul(4 * (rows + weight + wide)),
  activation: elementwise([12 * wide, '[gelu-backward]']),
};
const again = {
  norm: normalization([4 * (2 * rows + parameters), 'r64']),
  product: matmul(4 * (rows + weight + wide)),
  activation: elementwise([8 * wide, '[gelu-forward]']),
};

test('without checkpoints every operator keeps what its backward reads', () => {
  expect(secondBlock('none')).toEqual([
    `LayerNormalization fp32 4 | D ${backward.norm} | S h[0].out/Add:4 ${4 * rows}, 6/1/statistics ${statistics}`,
    `Gemm fp32 4 | D ${backward.product} | S h[1].ln/LayerNormalization:4 ${4 * rows}`,
    `Gelu fp32 4 | D ${backward.activation} | S h[1].up/Gemm:4 ${4 * wide}`,
    `Gemm fp32 4 | D ${backward.product} | S h[1].act/Gelu:4 ${4 * wide}`,
    'Add fp32 4',
  ]);
});

test('a block keeps what it was given, and stops where its last product has saved its input', () => {
  expect(secondBlock('block')).toEqual([
    `LayerNormalization fp32 4 | D ${again.norm}, ${backward.norm} | S h[0].out/Add:4 ${4 * rows}`,
    `Gemm fp32 4 | D ${again.product}, ${backward.product}`,
    `Gelu fp32 4 | D ${again.activation}, ${backward.activation}`,
    `Gemm fp32 4 | D ${backward.product}`,
    'Add fp32 4',
  ]);
});

test('selective checkpoints keep the results of products besides, and do not run those again', () => {
  expect(secondBlock('selective')).toEqual([
    `LayerNormalization fp32 4 | D ${again.norm}, ${backward.norm} | S h[0].out/Add:4 ${4 * rows}`,
    `Gemm fp32 4 | D ${backward.product} | S h[1].up/Gemm:4 ${4 * wide}`,
    `Gelu fp32 4 | D ${again.activation}, ${backward.activation}`,
    `Gemm fp32 4 | D ${backward.product} | S h[1].down/Gemm:4 ${4 * rows}`,
    'Add fp32 4',
  ]);
});

/**
 * Of three axes a linear layer is exported as a product and an addition, which is one `addmm`: its result is what is kept, and what was
 * added to. An addition of what is no bias is a kernel of its own, and so the product's result is kept.
 */
test.each<[Checkpoint, readonly string[]]>([
  ['block', ['h[0].out', 'h[1].out', 'x']],
  ['selective', ['h[0].down', 'h[0].out', 'h[0].up', 'h[1].down', 'h[1].out', 'h[1].up', 'x']],
])('layers with a bias, in %s', (checkpoint, expected) => {
  const biased = text.replace('[8, 32]', '[2, 4, 32]').replaceAll(', bias=False', '');
  const { training, scenario, cluster } = estimateModel(openLayerSpec(biased, 'stack.layers.yaml'), [
    { cluster: 'a100-sxm-80gb', gpus: 1, checkpoint, loss: 'none', precision: 'fp32' },
  ]);
  if (training === undefined || scenario === undefined || cluster === undefined)
    throw new Error('not costed');
  const { operators } = planStep(training, scenario, cluster).lowered;
  const keys = new Set(operators.flatMap((operator) => (operator?.saved ?? []).map(({ key }) => key)));
  // The stem keeps `x`, and the head what the last block gives. What the stem gives is what the first block is given.
  const kept = [...keys].filter((key) => !/^(stem|head|\d)/.test(key));
  expect(kept.toSorted()).toEqual(
    expected.flatMap((name) => (name === 'x' ? ['x:4'] : [`${name}/Add:4`])).toSorted(),
  );
});

test('with `use_reentrant=True` a block is run again to its end', () => {
  expect(secondBlock('block', { options: { reentrant: 'true' } }).slice(3)).toEqual([
    `Gemm fp32 4 | D ${again.product}, ${backward.product}`,
    `Add fp32 4 | D ${elementwise(12 * rows)}`,
  ]);
});

test('under autocast what is computed again is cast again, and weights up to where it stops', () => {
  const product = matmul(2 * (rows + weight + wide));
  expect(secondBlock('block', { precision: 'bf16' })).toEqual([
    // The normalization reads what is widened; its gradient and the sum of both are in two bytes.
    `LayerNormalization fp32 4 | D ${widened(rows)}, ${again.norm}, ${narrowed(rows)}, ${normalization([12 * rows, 'r64'])},` +
      ` ${elementwise(6 * rows)} | S h[0].out/Add:2 ${2 * rows}`,
    `Gemm bf16 2 | D ${narrowed(rows, weight)}, ${product}, ${widened(rows)}, ${product}`,
    `Gelu fp32 2 | D ${elementwise([4 * wide, '[gelu-forward]'], [6 * wide, '[gelu-backward]'])}`,
    `Gemm bf16 2 | D ${narrowed(weight)}, ${product}`,
    'Add fp32 2',
  ]);
});

/**
 * The second forward stops where its last tensor is saved: what saves its input has not run by then, what saves its result or something it
 * makes has (PyTorch 2.13, tools/autograd/derivatives.yaml: `self`, `result` or another name in the formula). Kernels that run again, by
 * operator of a block, in which nothing is computed behind the last save but the last row.
 */
test.each<[layers: readonly string[], again: readonly (readonly [type: string, kernels: number])[]]>([
  // `self`
  [
    ['GELU()'],
    [
      ['Gemm', 1],
      ['Gelu', 0],
    ],
  ],
  [
    ['Softplus()'],
    [
      ['Gemm', 1],
      ['Softplus', 0],
    ],
  ],
  [
    ['Linear(64, 64, bias=False)'],
    [
      ['Gemm', 1],
      ['Gemm', 0],
    ],
  ],
  // `result`
  [
    ['Sigmoid()'],
    [
      ['Gemm', 1],
      ['Sigmoid', 1],
    ],
  ],
  [
    ['Tanh()'],
    [
      ['Gemm', 1],
      ['Tanh', 1],
    ],
  ],
  [
    ['ReLU()'],
    [
      ['Gemm', 1],
      ['Relu', 1],
    ],
  ],
  [
    ['softmax(dim=-1)'],
    [
      ['Gemm', 1],
      ['Softmax', 1],
    ],
  ],
  // A mask; a mean and a deviation.
  [
    ['Dropout(0.1)'],
    [
      ['Gemm', 1],
      ['Dropout', 1],
    ],
  ],
  [
    ['LayerNorm(64)'],
    [
      ['Gemm', 1],
      ['LayerNormalization', 1],
    ],
  ],
  // What saves nothing does not run again behind the last save, and does before one.
  [
    ['Tanh()', 'add(y0, input)'],
    [
      ['Gemm', 1],
      ['Tanh', 1],
      ['Add', 0],
    ],
  ],
  [
    ['add(fc, input)', 'GELU()'],
    [
      ['Gemm', 1],
      ['Add', 1],
      ['Gelu', 0],
    ],
  ],
  [
    ['add(fc, input)', 'Tanh()'],
    [
      ['Gemm', 1],
      ['Add', 1],
      ['Tanh', 1],
    ],
  ],
])('a block of a product and %j runs again as far as it saves', (layers, again) => {
  const block = ['fc: Linear(64, 64, bias=False)', ...layers.map((layer, index) => `y${index}: ${layer}`)];
  const source = `inputs: { x: 'float32[8, 64]' }
blocks:
  part:
${block.map((line) => `    - ${line}\n`).join('')}layers:
  - stem: Linear(64, 64, bias=False)
  - h: part() recompute
  - head: Linear(64, 10, bias=False)
`;
  const backwards = (checkpoint?: Checkpoint): readonly (readonly [string | undefined, number])[] => {
    const { training, scenario, cluster, issues } = estimateModel(openLayerSpec(source, 'm.layers.yaml'), [
      {
        cluster: 'a100-sxm-80gb',
        gpus: 1,
        loss: 'none',
        precision: 'fp32',
        ...(checkpoint && { checkpoint }),
      },
    ]);
    if (training === undefined || scenario === undefined || cluster === undefined)
      throw new Error(JSON.stringify(issues));
    return planStep(training, scenario, cluster).lowered.operators.map((operator, index) => [
      training.analysis.graph.operators[index]?.type,
      operator?.backwardData.length ?? 0,
    ]);
  };
  const [whole, kept] = [backwards(), backwards('none')];
  const first = 1;
  const own = whole.slice(first, first + block.length);
  expect(own.map(([type, kernels], index) => [type, kernels - (kept[first + index]?.[1] ?? 0)])).toEqual(
    again,
  );
});
