/** What products hide of collectives, by hand for one product and one collective. */

import { expect, test } from 'vitest';
import { kernelSlowdown } from '../../../server/src/communication/kernelSlowdown.ts';
import { estimateModel } from '../../../server/src/estimate/estimateModel.ts';
import { besideProducts } from '../../../server/src/estimate/parallel/besideProducts.ts';
import type { TimedCollective } from '../../../server/src/estimate/parallel/collectiveTimes.ts';
import { planStep } from '../../../server/src/estimate/plan/planStep.ts';
import type { PieceByPiece } from '../../../server/src/frameworks/layoutRules.ts';
import { kernelTime } from '../../../server/src/hardware/kernelTime.ts';
import { bytes, seconds } from '../../../server/src/model/units.ts';
import { openGraph } from '../../support/savedActivations.ts';

const opened = openGraph('samples/tinyllama.layers.yaml');
const { training, scenario, cluster } = estimateModel(opened, [
  { cluster: 'dgx-h100', gpus: 1, batch: 8, precision: 'bf16', dimensions: { seq: 2048 } },
]);
if (training === undefined || scenario === undefined || cluster === undefined) throw new Error('not costed');
const plan = planStep(training, scenario, cluster);
const product = plan.lowered.operators.findIndex((each) =>
  each?.forward.some((kernel) => kernel.class === 'matmul' && kernel.matmuls !== undefined),
);
/** Of the product alone, without casts of its weight. */
const whole = (plan.lowered.operators[product]?.forward ?? [])
  .filter((kernel) => kernel.class === 'matmul')
  .reduce((total, kernel) => total + kernelTime(cluster.gpu, kernel).time, 0);

const collective = (time: number): TimedCollective => ({
  axis: 'tensor',
  operator: product,
  pass: 'forward',
  collective: 'reduce-scatter',
  elements: 1,
  bytes: bytes(1),
  time: seconds(time),
  low: seconds(time),
  high: seconds(time),
  whole: seconds(time),
  description: 'ring',
});

const exposed = (time: number, scattered: PieceByPiece): number => {
  const overlap = { gathered: { multiprocessors: 0 }, scattered };
  const [own] = besideProducts([collective(time)], plan, cluster.gpu, 8, overlap);
  return own?.time ?? Number.NaN;
};

/** Four pieces: three of the collective wait for what is longer than three pieces of the product, and the last is exposed. */
test('a short collective shows its last piece, and a long one what products do not hide', () => {
  const pieces: PieceByPiece = { pieces: 4, multiprocessors: 0 };
  const none = exposed(0, pieces);
  // Pieces of fewer rows take no less than the product.
  expect(none).toBeGreaterThanOrEqual(0);
  expect(exposed(whole / 10, pieces) - none).toBeCloseTo(whole / 40, 12);
  const cut = whole + none;
  expect(exposed(10 * whole, pieces)).toBeCloseTo(10 * whole - (3 * cut) / 4 + none, 9);
});

/** Copies that take 33 of 132 multiprocessors slow the product down by a quarter of what they are hidden for. */
test('copies take multiprocessors from the products beside them', () => {
  const time = whole / 10;
  const [free, busy] = [0, cluster.gpu.multiprocessors.value / 4].map((multiprocessors) =>
    exposed(time, { multiprocessors }),
  );
  expect((busy ?? 0) - (free ?? 0)).toBeCloseTo(time / 4, 12);
});

/** Compiled, products are the same calls of libraries, and stay parted by what they are the gradient of. */
test('compiled gradients of weights are apart from those of what was read', () => {
  const compiled = planStep(
    training,
    { ...scenario, framework: { name: 'pytorch-ddp', options: { compile: 'true' } } },
    cluster,
  );
  const products = (
    { lowered }: Pick<typeof plan, 'lowered'>,
    pass: 'backwardData' | 'backwardWeight',
  ): readonly number[] =>
    lowered.operators.map((each) => each?.[pass].filter(({ class: kind }) => kind === 'matmul').length ?? 0);
  for (const pass of ['backwardData', 'backwardWeight'] as const) {
    expect(products(plan, pass)).toContain(1);
    expect(products(compiled, pass)).toEqual(products(plan, pass));
  }
});

/** The gradient of what a product read is added up beside the gradient of its weight: what is hidden costs a share of its time. */
test('an all-reduce of backward hides behind the gradient of a weight, which it slows', () => {
  const { operators, values } = plan.training.analysis.graph;
  const read = operators[product]?.inputs.find((name) => values.get(name)?.role === 'activation') ?? '';
  // Queries, keys and values read the same: their gradients are added up once.
  const readers = values.get(read)?.consumers ?? [];
  expect(readers).toHaveLength(3);
  const gradient = readers
    .flatMap((index) => plan.lowered.operators[index]?.backwardWeight ?? [])
    .filter((kernel) => kernel.class === 'matmul')
    .reduce((total, kernel) => total + kernelTime(cluster.gpu, kernel).time, 0);
  const added = (time: number): Pick<TimedCollective, 'time' | 'low' | 'high'> => {
    const own: TimedCollective = { ...collective(time), pass: 'backward', collective: 'all-reduce' };
    const [after] = besideProducts([own], plan, cluster.gpu, 8, { bulk: 'nccl' });
    return after ?? own;
  };
  const { middle, low, high } = kernelSlowdown;
  const short = gradient / 2;
  expect(added(short).time).toBeCloseTo(middle * short, 12);
  expect([added(short).low, added(short).high]).toEqual([low * short, high * short]);
  expect(added(3 * gradient).time).toBeCloseTo((2 + middle) * gradient, 12);
});

test('without pieces, what forward needs waits', () => {
  const waiting = collective(whole);
  const [after] = besideProducts([waiting], plan, cluster.gpu, 8, { bulk: 'nccl' });
  expect(after).toEqual(waiting);
});
