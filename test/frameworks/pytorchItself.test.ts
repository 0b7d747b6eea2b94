/** What PyTorch's own reducer and FSDP do with small models; `golden/writeReducerAndFsdp.py` runs them on CPU with Gloo. */

import { expect, test } from 'vitest';
import type { Message, ProfiledStep, SyncPoint } from '../../server/src/frameworks/exchange.ts';
import type { Gradient } from '../../server/src/frameworks/gradient.ts';
import { resolveFramework } from '../../server/src/frameworks/registry.ts';
import { bytes, seconds } from '../../server/src/model/units.ts';
import golden from './golden/reducerAndFsdp.json';

const untimed: ProfiledStep = {
  backwardEnds: () => new Float64Array(),
  backwardLaunches: () => new Float64Array(),
  batchPerGpu: () => 1,
  timeOf: () => seconds(0),
};

function messagesOf(
  name: string,
  options: Record<string, string>,
  gradients: readonly Gradient[],
  operators: number,
): readonly Message[] {
  const { behaviour, issues } = resolveFramework({ name, options });
  expect(issues).toEqual([]);
  const group = { gpus: 2, nodes: 1, gpusPerNode: 2, operators, precision: 'fp32' } as const;
  return behaviour.exchange(gradients, group, untimed).messages;
}

const mib = (size: number | undefined): string => String((size ?? 0) / 2 ** 20);

test.each(golden.reducer)('reducer: $elements in buckets of $limits', ({ elements, limits, buckets }) => {
  const gradients = elements.map(
    (count, index): Gradient => ({
      parameter: `p${index}`,
      index,
      elements: count,
      bytes: bytes(4 * count),
      readyAfter: index,
      usedFrom: elements.length - 1 - index,
    }),
  );
  const limit = { 'first-bucket-mb': mib(limits[0]), 'bucket-mb': mib(limits[1]) };
  // A hook narrows what a bucket sends, not what it holds.
  for (const [type, width] of [
    ['fp32', 4],
    ['bf16', 2],
  ] as const) {
    const sent = messagesOf('pytorch-ddp', { ...limit, 'gradient-dtype': type }, gradients, elements.length);
    expect(sent.map((message) => message.gradients.map(({ index }) => index))).toEqual(buckets);
    expect(sent.map((message) => message.bytes)).toEqual(
      buckets.map((bucket) => bucket.reduce((total, index) => total + width * (elements[index] ?? 0), 0)),
    );
  }
});

/** The model of the script: six layers of 64 weights and 8 biases, of which the middle ones are blocks. */
const layers = ['embed', 'h.0.inner', 'h.1.inner', 'h.2.inner', 'h.3.inner', 'head'];
const gradients = layers
  .flatMap((layer, position) =>
    [64, 8].map(
      (elements, part): Gradient => ({
        parameter: `${layer}.${part === 0 ? 'weight' : 'bias'}`,
        index: 2 * position + part,
        elements,
        bytes: bytes(4 * elements),
        readyAfter: layers.length - 1 - position,
        usedFrom: position,
      }),
    ),
  )
  .toReversed();

const place = (point: SyncPoint): number =>
  ['start', 'forward', 'backward', 'update'].indexOf(point.pass) * 100 +
  ('position' in point ? point.position : 0);

test.each(golden.fsdp)('FSDP: $strategy, $prefetch', ({ strategy, prefetch, calls }) => {
  const options = {
    sharding: strategy === 'FULL_SHARD' ? 'full' : 'shard-grad-op',
    'backward-prefetch': prefetch?.replace('BACKWARD_', '').toLowerCase() ?? 'none',
  };
  const issued = messagesOf('pytorch-fsdp', options, gradients, layers.length).toSorted(
    (a, b) => place(a.after) - place(b.after),
  );
  const sent = issued.map(({ stages, bytes: size }) => [
    stages.map(({ operation }) => (operation.kind === 'collective' ? operation.collective : '')).join(),
    size / 4,
  ]);
  expect(sent).toEqual(calls);
});
