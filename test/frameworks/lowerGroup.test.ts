/**
 * What one kernel for several operators keeps and moves, by what its composite says of the call. PyTorch 2.13
 * tools/autograd/derivatives.yaml: backward needs all that comes in, what the call reads by its role, its result, both, neither, or places
 * in the input (`Kept` in server/src/composites/composite.ts).
 */

import { describe, expect, test } from 'vitest';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import type { Composite } from '../../server/src/composites/composite.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import type { FusedGroup } from '../../server/src/frameworks/pytorch/fusedGroups.ts';
import { lowerGroup } from '../../server/src/frameworks/pytorch/lowerGroup.ts';
import { bytes } from '../../server/src/model/units.ts';

/** `h` has a gradient, `x` has none; `w` is trained. All are [4, 8] but for the trained vector. */
const text = `inputs: { x: 'float32[4, 8]' }
layers:
  - h: Linear(8, 8, bias=False)
  - w: Parameter(8)
  - scaled: mul(h, w)
  - out: add(scaled, x)
`;
const environment = { layout: 'channels-first', mixed: false, attention: 'newest' } as const;

function lowered(
  kind: FusedGroup['kind'],
  composite: Partial<Composite> | undefined,
  { inputs = ['h', 'w', 'x'], bytesPerElement = 4, mode = 'training' as 'training' | 'inference' } = {},
) {
  const { training } = estimateModel(openLayerSpec(text, 'group.layers.yaml'), [
    { cluster: 'a100-sxm-80gb', gpus: 1, precision: 'fp32', loss: 'none' },
  ]);
  if (training === undefined) throw new Error('not costed');
  const { operators, values } = training.analysis.graph;
  const nameOf = (short: string): string =>
    [...values.keys()].find((name) => name === short || name.startsWith(`${short}/`)) ?? short;
  const members = operators.filter(({ type }) => type === 'Mul' || type === 'Add').map(({ index }) => index);
  const shared = { operators: members, inputs: inputs.map(nameOf), outputs: [nameOf('out')] };
  const roles = Object.fromEntries(
    Object.entries(composite?.roles ?? {}).map(([role, name]) => [role, nameOf(name)]),
  );
  const known: Composite | undefined = composite && {
    ...{ kind: 'recorded-call', name: 'call', launchedAs: 'one' },
    ...composite,
    ...shared,
    roles,
  };
  const group: FusedGroup = { kind, ...shared, ...(known && { composite: known }) };
  const type = { dtype: 'fp32', bytesPerElement, mixed: bytesPerElement === 2 } as const;
  const keep = (key: string) => [{ key: key.split('/')[0] ?? '', bytes: bytes(1), weightCopy: false }];
  return lowerGroup(training, group, type, keep, mode, environment);
}

const keptBy = (...given: Parameters<typeof lowered>): readonly string[] =>
  lowered(...given).saved.map(({ key }) => key);

describe('keeps', () => {
  test.each<[string, Partial<Composite>, readonly string[]]>([
    ['what carries gradients', {}, ['h', 'w']],
    ['all that comes in', { keeps: 'inputs' }, ['h', 'w', 'x']],
    ['what it reads by its role', { keeps: 'input', roles: { input: 'x' } }, ['x']],
    ['its result', { keeps: 'result' }, ['out']],
    ['both', { keeps: 'both' }, ['h', 'w', 'x', 'out']],
    ['nothing', { keeps: 'nothing' }, []],
  ])('%s', (_, composite, expected) => expect(keptBy('elementwise', composite)).toEqual(expected));

  test('places of maxima are whole numbers of 8 bytes', () => {
    const { saved } = lowered('elementwise', { keeps: 'positions' });
    expect(saved.map(({ bytes: size }) => Number(size))).toEqual([8 * 32]);
  });

  test('a cell keeps the state that it gives besides, and its gates', () => {
    const cell = {
      kind: 'recurrent-cell',
      name: 'LSTMCell',
      roles: { result: 'out', next: 'scaled' },
    } as const;
    const { saved } = lowered('elementwise', cell);
    expect(saved.map(({ key }) => key)).toEqual(['h', 'w', 'x', 'scaled', saved.at(-1)?.key]);
    // Four gates of a cell of LSTM; GRU keeps five (aten/src/ATen/native/cuda/RNN.cu, `_thnn_fused_lstm_cell`, `_thnn_fused_gru_cell`).
    expect(saved.at(-1)?.bytes).toBe(4 * 32 * 4);
    const gru = lowered('elementwise', { kind: 'recurrent-cell', name: 'GRUCell', roles: { result: 'out' } });
    expect(gru.saved.map(({ key }) => key).slice(0, -1)).toEqual(['h', 'w', 'x']);
    expect(gru.saved.at(-1)?.bytes).toBe(5 * 32 * 4);
  });

  /** `native_layer_norm_backward` takes the input for the gradient of the scale. Mean and deviation in fp32 are 8 bytes of each row. */
  test('a normalization keeps what came in, whether that has a gradient or not, and two numbers of each row', () => {
    const norm = (inputs: readonly string[], roles: Composite['roles'] = {}, bytesPerElement = 4) =>
      lowered(
        'normalization',
        { kind: 'layer-norm', roles },
        { inputs: [...inputs], bytesPerElement },
      ).saved.map(({ key, bytes: size }) => (key.startsWith('2') ? Number(size) : key));
    expect(norm(['x', 'w'])).toEqual(['x', 'w', 8 * 4]);
    expect(norm(['h', 'w'])).toEqual(['h', 'w', 8 * 4]);
    expect(norm(['w', 'x'], { input: 'x' })).toEqual(['x', 'w', 8 * 4]);
    expect(norm(['h', 'w'], {}, 2)).toEqual(['h', 'w', 8 * 4]);
    const root = lowered('normalization', { kind: 'rms-norm' }, { inputs: ['h', 'w'] });
    expect(root.saved.at(-1)?.bytes).toBe(4 * 4);
  });

  test.each([
    ['in inference', { mode: 'inference' as const }],
    ['where nothing that comes in has a gradient', { inputs: ['x'] }],
  ])('nothing %s, and has no backward', (_, more) => {
    const { saved, forward, backwardData } = lowered('elementwise', { keeps: 'both' }, more);
    expect([saved, forward.length, backwardData]).toEqual([[], 1, []]);
  });
});

describe('moves', () => {
  const moved = (...given: Parameters<typeof lowered>) => {
    const { forward, backwardData } = lowered(...given);
    return [forward, backwardData].map((kernels) =>
      kernels.map(({ bytes: size, launches }) => [Number(size), launches]),
    );
  };
  // A tensor of 32 numbers and a vector of 8.
  test.each([4, 2])('what comes in and goes out, with %i bytes a number', (b) => {
    // Backward reads what came in and the gradient, and writes one for each that carries it.
    const [forward, backward] = [b * (32 + 8 + 32 + 32), b * (32 + 8 + 32 + 32 + 32 + 8)];
    expect(moved('elementwise', {}, { bytesPerElement: b })).toEqual([[[forward, 1]], [[backward, 1]]]);
  });

  test('of a call of several kernels, as many tensors like the result as it says', () => {
    const kernels = { forward: { launches: 3, tensors: 5 }, backward: { launches: 2, tensors: 4 } };
    expect(moved('elementwise', { kernels })).toEqual([[[5 * 4 * 32, 3]], [[4 * 4 * 32, 2]]]);
  });

  test('what backward makes again is as large as what comes in', () => {
    expect(lowered('elementwise', { makesAgain: true }).backwardTemporary).toBe(4 * (32 + 8 + 32));
    expect(lowered('elementwise', {}).backwardTemporary).toBeUndefined();
    expect(
      lowered('elementwise', { makesAgain: true }, { mode: 'inference' }).backwardTemporary,
    ).toBeUndefined();
  });

  test('a normalization goes row by row, other calls have no rows', () => {
    const rowsOf = (kind: FusedGroup['kind']) => lowered(kind, {}).forward.map(({ rowLength }) => rowLength);
    expect([rowsOf('normalization'), rowsOf('elementwise')]).toEqual([[8], [undefined]]);
  });
});
