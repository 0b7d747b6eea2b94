/**
 * What backward launches for views: counted by PyTorch 2.13's profiler on a CPU, `x[:, 0]`, `x[:, 1:]`, `x.chunk(3, -1)` and the
 * like of a float32 tensor: `aten::zeros` and `aten::copy_` for each slice and select, one `aten::cat` for chunk, split and
 * unbind, nothing for a slice of everything.
 */

import { describe, expect, test } from 'vitest';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { planStep } from '../../server/src/estimate/plan/planStep.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import type { Mode } from '../../server/src/model/scenario.ts';

/** Elements that are read and written by each kernel of backward of the operators of a type; `n` hands gradients to `x`. */
function kernels(body: string, type: string, mode: Mode = 'training') {
  const text = `<ir_version: 10, opset_import: ["" : 20]>
g (float[2, 6, 8] x, float[8] w) => (y) { n = LayerNormalization(x, w, w) ${body} }`;
  const { training, scenario, cluster } = estimateModel(
    openModel(byteSourceOfBuffer(Buffer.from(text)), 'views.onnxtxt'),
    [{ cluster: 'dgx-1-v100', gpus: 1, precision: 'fp32', optimizer: 'none', mode }],
  );
  if (training === undefined || scenario === undefined || cluster === undefined) throw new Error(text);
  const { lowered } = planStep(training, scenario, cluster);
  return lowered.operators.flatMap((operator, index) =>
    training.analysis.graph.operators[index]?.type === type
      ? (operator?.backwardData ?? []).map((kernel) => [kernel.launches, kernel.bytes / 4])
      : [],
  );
}

const list = (name: string, ...values: number[]): string =>
  `${name} = Constant<value_ints = [${values.join(', ')}]>()`;

describe('backward of a view', () => {
  test.each([
    [
      'x[:, 0]',
      'i = Constant<value_int = 0>() y = Gather<axis = 1>(n, i)',
      'Gather',
      [
        [1, 96],
        [1, 32],
      ],
    ],
    [
      'x[..., 3]',
      'i = Constant<value_int = 3>() y = Gather<axis = -1>(n, i)',
      'Gather',
      [
        [1, 96],
        [1, 24],
      ],
    ],
    [
      'x[:, 1:]',
      `${list('s', 1)} ${list('e', 6)} ${list('a', 1)} y = Slice(n, s, e, a)`,
      'Slice',
      [
        [1, 96],
        [1, 160],
      ],
    ],
    [
      'x[:, 6:], of nothing',
      `${list('s', 6)} ${list('e', 6)} ${list('a', 1)} r = Slice(n, s, e, a) m = Relu(n) y = Concat<axis = 1>(m, r)`,
      'Slice',
      [[1, 96]],
    ],
    [
      'x[:, ::2]',
      `${list('s', 0)} ${list('e', 6)} ${list('a', 1)} ${list('t', 2)} y = Slice(n, s, e, a, t)`,
      'Slice',
      [
        [1, 96],
        [1, 96],
      ],
    ],
    [
      'x[:, 1:3, :4]',
      `${list('s', 1, 0)} ${list('e', 3, 4)} ${list('a', 1, 2)} y = Slice(n, s, e, a)`,
      'Slice',
      [
        [1, 96],
        [1, 64],
        [1, 32],
        [1, 32],
      ],
    ],
    ['x[:]', `${list('s', 0)} ${list('e', 2)} ${list('a', 0)} y = Slice(n, s, e, a)`, 'Slice', []],
    [
      'x[:, 1:2], of which a comparison is taken',
      `${list('s', 1)} ${list('e', 2)} ${list('a', 1)} r = Slice(n, s, e, a) z = Constant<value_float = 0.0>()
       c = Greater(r, z) y = Where(c, n, z)`,
      'Slice',
      [],
    ],
    ['x.chunk(2, -1)', 'p, q = Split<axis = -1, num_outputs = 2>(n) y = Mul(p, q)', 'Split', [[1, 192]]],
    ['x.view(2, 48)', `${list('s', 2, 48)} y = Reshape(n, s)`, 'Reshape', []],
  ])('%s', (_, body, type, expected) => expect(kernels(body, type)).toEqual(expected));

  test('is nothing in inference', () =>
    expect(
      kernels('i = Constant<value_int = 0>() y = Gather<axis = 1>(n, i)', 'Gather', 'inference'),
    ).toEqual([]));
});
