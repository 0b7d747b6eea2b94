/** What a layout of GPUs that share a copy means for the layers of one line: the part of a GPU, collectives, stages. */

import { itemAt } from '../model/at.ts';
import { formatTime } from '../model/format.ts';
import { memoizeOfObject } from '../model/memoize.ts';
import type {
  LayerCollective,
  LayerSharding,
  ParallelCost,
  StepCost,
  TensorSharding,
} from '../model/stepCost.ts';
import { type Seconds, seconds } from '../model/units.ts';
import { lineCost } from './lineCost.ts';
import type { LayerRow } from './modelView.ts';

/** `tp8 · pp4 · dp16`: degrees above 1, and the copies; '' where each GPU has a copy. */
export function layoutText({ scenario: { parallel }, parallel: cost }: StepCost): string {
  if (parallel === undefined || cost === undefined) return '';
  const { tensor, context, expert, pipeline } = parallel;
  const degrees = { tp: tensor, cp: context, ep: expert, pp: pipeline };
  const above = Object.entries(degrees).filter(([, degree]) => degree > 1);
  return [...above, ['dp', cost.replicas] as const].map((each) => each.join('')).join(' · ');
}

/** GPUs of tensor parallelism that the line's products with weights are divided by; 1 where one of them is whole. */
export function dividedBy(row: LayerRow, { scenario, parallel }: StepCost): number {
  const degree = scenario.parallel?.tensor ?? 1;
  if (parallel === undefined || degree === 1) return 1;
  const { flops, parameters } = lineCost(row);
  const isProduct = flops.forward > 0 && parameters > 0;
  const whole = wholeIn(parallel);
  return isProduct && !row.layers.some(({ name }) => whole.has(name)) ? degree : 1;
}

const wholeIn = memoizeOfObject(
  ({ whole }: ParallelCost): ReadonlySet<string> => new Set(whole.map(({ layer }) => layer)),
);

export interface LineCollectives {
  readonly kind: string;
  /** For a micro-batch, in all layers of the line. */
  readonly count: number;
  readonly time: Seconds;
}

/** By kind, the one that takes longest first. */
export function collectivesOfLine(row: LayerRow, { parallel }: StepCost): readonly LineCollectives[] {
  if (parallel === undefined) return [];
  const exchanged = exchangedIn(parallel);
  const kinds = new Map<string, LineCollectives>();
  for (const { collective: kind, count, time } of row.layers.flatMap(
    ({ name }) => exchanged.get(name) ?? [],
  )) {
    const before = kinds.get(kind) ?? { kind, count: 0, time: seconds(0) };
    kinds.set(kind, { kind, count: before.count + count, time: seconds(before.time + time) });
  }
  return [...kinds.values()].sort((one, other) => other.time - one.time);
}

/** By layer: every line of a text asks. */
const exchangedIn = memoizeOfObject(({ collectives }: ParallelCost) => {
  const found = new Map<string, LayerCollective[]>();
  for (const each of collectives) {
    const others = found.get(each.layer);
    if (others === undefined) found.set(each.layer, [each]);
    else others.push(each);
  }
  return found;
});

/** As NCCL's users shorten them. */
export const shortNames: Readonly<Record<string, string>> = {
  'all-reduce': 'AR',
  'all-gather': 'AG',
  'reduce-scatter': 'RS',
  'all-to-all': 'A2A',
};

/** `all-reduce × 2, 0.21 ms`: each kind, for a micro-batch. */
export const collectivesText = (collectives: readonly LineCollectives[]): string =>
  collectives.map(({ kind, count, time }) => `${kind} × ${count}, ${formatTime(time)}`).join(' · ');

/**
 * `reads [4, 256, 1024] · weight [4096/4, 1024] · gives [4, 256, 4096/4]`: tensors of the first layer of the line, with the
 * GPUs that each dimension is divided over; '' where each GPU has the whole of them.
 */
export function shardingOfLine(row: LayerRow, { parallel }: StepCost): string {
  const [first] = row.layers;
  const sharding =
    first === undefined || parallel === undefined ? undefined : shardedIn(parallel).get(first.name);
  if (sharding === undefined) return '';
  const { reads, holds, gives } = sharding;
  const divided = holds.filter(({ ways }) => ways.some((way) => way > 1));
  const shown = divided.slice(0, mostWeights);
  return [
    ...(reads.length === 0 ? [] : [`reads ${reads.map(shapeText).join(', ')}`]),
    ...shown.map((weight) => `${weight.name.split(/[./]/).at(-1)} ${shapeText(weight)}`),
    ...(divided.length > shown.length ? [`${divided.length - shown.length} more weights`] : []),
    ...(gives.length === 0 ? [] : [`gives ${gives.map(shapeText).join(', ')}`]),
  ].join(' · ');
}

const mostWeights = 2;

const shapeText = ({ dimensions, ways }: TensorSharding): string =>
  `[${dimensions.map((size, axis) => (itemAt(ways, axis) === 1 ? String(size) : `${size}/${itemAt(ways, axis)}`)).join(', ')}]`;

const shardedIn = memoizeOfObject(
  ({ shardings }: ParallelCost): ReadonlyMap<string, LayerSharding> =>
    new Map(shardings.map((each) => [each.layer, each])),
);

/** `2 of 4`, `1 to 3 of 4`: the stages of a pipeline that hold layers of the line; '' where there is no pipeline. */
export function stagesOfLine(row: LayerRow, cost: StepCost): string {
  const stages = cost.parallel?.stages ?? [];
  if (stages.length < 2) return '';
  const stageOf = stagesIn(cost);
  const held = row.layers.flatMap(({ name }) => stageOf.get(name) ?? []);
  if (held.length === 0) return '';
  const [first, last] = [Math.min(...held), Math.max(...held)];
  return `${first + 1}${first === last ? '' : ` to ${last + 1}`} of ${stages.length}`;
}

/** Stages follow one another in the order of layers: a layer is in the last that has begun. */
const stagesIn = memoizeOfObject(({ layers, parallel }: StepCost): ReadonlyMap<string, number> => {
  const begins = new Map((parallel?.stages ?? []).map(({ first }, index) => [first, index]));
  let stage = 0;
  return new Map(
    layers.map(({ name }) => {
      stage = begins.get(name) ?? stage;
      return [name, stage];
    }),
  );
});
