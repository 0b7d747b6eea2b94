/** Casts that do nothing in a graph exported in fp32, and what they do under autocast. */

import { describe, expect, test } from 'vitest';
import { openModel, openOnnxText } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { ScenarioRequest } from '../../server/src/model/scenario.ts';

/** Bytes per element by operator, as `Type bytesPerElement`. */
function elementBytes(
  nodes: readonly string[],
  request: ScenarioRequest = { precision: 'fp16' },
): readonly string[] {
  const text = `<ir_version: 10, opset_import: ["" : 21]>\ng (float[N, 64] x, float[64, 64] w) => (float[N, 64] y)\n<float[64] s = {${Array.from({ length: 64 }, () => 1).join(', ')}}> {\n${nodes.join('\n')}\n}\n`;
  return bytesOf(openOnnxText(text, 'casts.onnxtxt'), request);
}

function bytesOf(opened: ReturnType<typeof openModel>, request: ScenarioRequest): readonly string[] {
  const { training, scenario, cluster } = estimateModel(opened, [request]);
  if (training === undefined || scenario === undefined || cluster === undefined) throw new Error('no plan');
  const { lowered } = planStep(training, scenario, cluster);
  return training.analysis.graph.operators.map(
    ({ type }, index) => `${type} ${lowered.operators[index]?.bytesPerElement}`,
  );
}

const matmul = '["/fc/MatMul"] a = MatMul (x, w)';

describe('under autocast', () => {
  test('what is cast first is widened, what comes of it goes back to its type', () => {
    const norm = [
      matmul,
      '["/norm/Cast"] b = Cast <to = 1> (a)',
      '["/norm/Mul"] c = Mul (b, b)',
      '["/norm/Cast_1"] d = Cast <to = 1> (c)',
      '["/norm/Mul_1"] y = Mul (d, a)',
    ];
    expect(elementBytes(norm)).toEqual(['MatMul 2', 'Cast 4', 'Mul 4', 'Cast 2', 'Mul 2']);
  });

  test('what was wide before goes back to that', () => {
    const norm = [
      matmul,
      '["/softplus/Softplus"] p = Softplus (a)',
      '["/norm/Cast"] b = Cast <to = 1> (p)',
      '["/norm/Mul"] c = Mul (b, b)',
      '["/norm/Cast_1"] y = Cast <to = 1> (c)',
    ];
    expect(elementBytes(norm)).toEqual(['MatMul 2', 'Softplus 4', 'Cast 4', 'Mul 4', 'Cast 4']);
  });

  test('another module begins anew', () => {
    const two = [matmul, '["/one/Cast"] b = Cast <to = 1> (a)', '["/two/Cast"] y = Cast <to = 1> (b)'];
    expect(elementBytes(two)).toEqual(['MatMul 2', 'Cast 4', 'Cast 4']);
  });

  /** By their layers: the first norm reads bf16 and goes back to it, and its weight widens what the second one reads. */
  test('another module of a layer spec, which has no scopes, begins anew', () => {
    const layers = ['fc: Linear(64)', 'one: RMSNorm(64, fused=False)', 'two: RMSNorm(64, fused=False)'];
    const text = `inputs: { x: 'float32[4, 64]' }\nlayers:\n${layers.map((layer) => `  - ${layer}\n`).join('')}`;
    const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(text)), 'norms.layers.yaml');
    expect(bytesOf(opened, { precision: 'bf16' }).filter((line) => line.startsWith('Cast'))).toEqual([
      'Cast 4',
      'Cast 2',
      'Cast 4',
      'Cast 4',
    ]);
  });

  // `c = a * a.float()` is wide (PyTorch promotes), `c.to(a.dtype)` half, whichever of the two was widened.
  test.each([
    ['first', 'Mul (b, a)'],
    ['second', 'Mul (a, b)'],
  ])('what is widened may be read %s, and through others', (_, product) => {
    const norm = [
      matmul,
      '["/norm/Cast"] b = Cast <to = 1> (a)',
      `["/norm/Mul"] c = ${product}`,
      '["/norm/Sqrt"] d = Sqrt (c)',
      '["/norm/Cast_1"] y = Cast <to = 1> (d)',
    ];
    expect(elementBytes(norm)).toEqual(['MatMul 2', 'Cast 4', 'Mul 4', 'Sqrt 4', 'Cast 2']);
  });

  test('what another module computed of it was not cast first in this one', () => {
    const two = [
      matmul,
      '["/norm/Cast"] b = Cast <to = 1> (a)',
      '["/other/Mul"] c = Mul (b, b)',
      '["/norm/Cast_1"] y = Cast <to = 1> (c)',
    ];
    expect(elementBytes(two)).toEqual(['MatMul 2', 'Cast 4', 'Mul 4', 'Cast 4']);
  });

  test('two tensors that are widened each go back to their own type', () => {
    const both = [
      matmul,
      '["/softplus/Softplus"] p = Softplus (a)',
      '["/norm/Cast"] b = Cast <to = 1> (a)',
      '["/norm/Cast_1"] c = Cast <to = 1> (p)',
      '["/norm/Sqrt"] d = Sqrt (b)',
      '["/norm/Sqrt_1"] e = Sqrt (c)',
      '["/norm/Cast_2"] f = Cast <to = 1> (d)',
      '["/norm/Cast_3"] g = Cast <to = 1> (e)',
      '["/out/Add"] y = Add (f, g)',
    ];
    expect(elementBytes(both)).toEqual([
      ...['MatMul 2', 'Softplus 4', 'Cast 4', 'Cast 4', 'Sqrt 4', 'Sqrt 4', 'Cast 2', 'Cast 4', 'Add 4'],
    ]);
  });

  test('numbers are cast as they say, and what comes of them is cast first', () => {
    const counted = [
      matmul,
      '["/norm/Cast"] b = Cast <to = 1> (a)',
      '["/norm/Cast_1"] c = Cast <to = 7> (b)',
      '["/norm/Cast_2"] d = Cast <to = 1> (c)',
      '["/norm/Mul"] y = Mul (d, b)',
    ];
    expect(elementBytes(counted).slice(-2)).toEqual(['Cast 4', 'Mul 4']);
  });

  test('a weight takes the type of what it meets', () => {
    const scaled = [matmul, '["/scale/Cast"] t = Cast <to = 1> (s)', '["/scale/Mul"] y = Mul (a, t)'];
    expect(elementBytes(scaled).slice(-1)).toEqual(['Mul 2']);
    const plain = [matmul, '["/scale/Mul"] y = Mul (a, s)'];
    expect(elementBytes(plain)).toEqual(['MatMul 2', 'Mul 4']);
  });
});

test('in fp32 they do nothing', () => {
  const cast = [matmul, '["/norm/Cast"] y = Cast <to = 1> (a)'];
  expect(elementBytes(cast, { precision: 'fp32' })).toEqual(['MatMul 4', 'Cast 4']);
});
