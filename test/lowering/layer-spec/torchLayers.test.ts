/**
 * Layers are PyTorch's: their signatures, and what calls of them come to. What PyTorch says is in
 * `golden/torchLayers.json`; `golden/writeTorchLayers.py` beside it wrote that.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findLayer, layerDefinitions } from '../../../server/src/lowering/layer-spec/layerDefinitions.ts';
import { unsupportedLayers } from '../../../server/src/lowering/layer-spec/unsupportedLayers.ts';
import { costOfSpec, specOf } from './costOfSpec.ts';

const value = z.union([z.number(), z.boolean(), z.string(), z.null(), z.array(z.number())]);
const golden = z
  .object({
    source: z.literal('torch 2.13.0'),
    signatures: z.record(z.string(), z.array(z.tuple([z.string()]).rest(value))),
    rows: z.array(
      z.object({
        call: z.string(),
        inputs: z.record(z.string(), z.string()),
        shape: z.array(z.number()),
        parameters: z.number(),
        forward: z.number(),
        backward: z.tuple([z.number(), z.number()]),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, 'golden/torchLayers.json'), 'utf8')));

type Row = (typeof golden.rows)[number];

const nameOf = (call: string): string => call.slice(0, call.indexOf('('));

/** Einsum is a matrix product here and element-wise work in PyTorch's Bilinear, which its counter does not count. */
const notCountedByTorch = new Set(['Bilinear']);
/** One kernel that computes the scores again in backward; the counter knows only the written-out form. */
const fusedHere = new Set(['scaled_dot_product_attention']);

it('has two rows or more of every layer that PyTorch has', () => {
  const ours = [
    'AttentionMask',
    'Parameter',
    'Buffer',
    'MixtureOfExperts',
    'RotaryPositionalEmbeddings',
    'StochasticDepth',
    'gated_delta_rule',
    'selective_scan',
    'state_space_scan',
  ];
  for (const { name } of layerDefinitions) {
    const count = golden.rows.filter(({ call }) => nameOf(call) === name).length;
    expect([name, count >= 2]).toEqual([name, !ours.includes(name)]);
  }
  expect(golden.rows.length).toBeGreaterThan(600);
});

const rows = golden.rows.map((row): [string, Row] => [
  `${row.call} of ${Object.values(row.inputs).join(', ')}`,
  row,
]);

it.each(rows)('%s', (_, row) => {
  const cost = costOfSpec(specOf(row.inputs, row.call));
  expect(cost.problems).toEqual([]);
  expect([cost.shape, cost.parameters]).toEqual([row.shape.join('×'), row.parameters]);
  if (notCountedByTorch.has(nameOf(row.call))) return;
  expectNear(cost.flops.forward, row.forward);
  if (!fusedHere.has(nameOf(row.call))) expectNear(cost.flops.backward, weightFlops(row));
});

it.each(rows.filter(([, { backward }]) => backward[1] > 0))('%s, with gradients of inputs', (_, row) => {
  if (notCountedByTorch.has(nameOf(row.call)) || fusedHere.has(nameOf(row.call))) return;
  const cost = costOfSpec(specOfTrained(row));
  expect(cost.problems).toEqual([]);
  expectNear(cost.flops.backward, row.backward[1] - row.backward[0] + weightFlops(row));
});

/**
 * FLOPs of the gradients of weights. Of a convolution in groups, the counter takes the gradient of the weight for one
 * without groups (`conv_backward_flop` of torch/utils/flop_counter.py); there are as many as forward has.
 */
function weightFlops({ call, backward }: Row): number {
  const groups = Number(/groups=(\d+)/.exec(call)?.[1] ?? 1);
  return nameOf(call).includes('Conv') ? backward[0] / groups : backward[0];
}

/** The same call of trained tensors. */
function specOfTrained({ inputs, call }: Row): string {
  const entries = Object.entries(inputs);
  const kept = entries.filter(([, type]) => !type.startsWith('float32'));
  const trained = entries.filter(([, type]) => type.startsWith('float32'));
  const layers = trained.map(
    ([name, type]) => `  - ${name}: Parameter(${type.slice('float32['.length, -1)})\n`,
  );
  const declared = [...kept, ['data', 'float32[1]']].map(([name, type]) => `  ${name}: ${type}\n`);
  return `inputs:\n${declared.join('')}layers:\n${layers.join('')}  - result: ${call}\n`;
}

function expectNear(actual: number, expected: number): void {
  expect(Math.abs(actual - expected) / Math.max(1, expected), `${actual} for ${expected}`).toBeLessThan(
    0.001,
  );
}

describe('signatures', () => {
  /** Where a tensor lives and what it is made of; arguments that PyTorch has deprecated, or keeps to itself. */
  const leftOut = /^(device|dtype|size_average|reduce|min_value|max_value|_.*)$/;
  const different: Readonly<Record<string, string>> = {
    // One exception, so that the layer that most models have reads [batch, sequence, size] as every other.
    'MultiheadAttention.batch_first': 'True',
  };
  const named = Object.entries(golden.signatures).filter(([name]) => findLayer(name) !== undefined);

  it.each(named)(
    '%s has the parameters of PyTorch, in their order, with their defaults',
    (name, signature) => {
      const expected = signature
        .filter(([parameter]) => !leftOut.test(parameter))
        .map(([parameter, ...standard]) => {
          const text = standard.length === 0 ? 'required' : python(standard[0] ?? null);
          return `${parameter}: ${different[`${name}.${parameter}`] ?? text}`;
        });
      const actual = (findLayer(name)?.parameters ?? [])
        .filter((parameter) => !parameter.beyond)
        .map((parameter) => {
          const { name: parameterName, default: standard } = parameter;
          return `${parameterName}: ${standard === undefined ? 'required' : python(standard)}`;
        });
      expect(actual).toEqual(expected);
    },
  );

  it('knows every class of torch.nn, or says what to write instead', () => {
    const bases = ['Container', 'Module', 'NLLLoss2d', 'RNNCellBase'];
    const unknown = Object.keys(golden.signatures).filter(
      (name) => findLayer(name) === undefined && !unsupportedLayers.has(name),
    );
    expect(unknown).toEqual(bases);
  });
});

const python = (given: unknown): string =>
  given === null ? 'None' : given === true ? 'True' : given === false ? 'False' : JSON.stringify(given);
