/**
 * The totals of each model of the text above its first line, and the scenario they hold for:
 *
 *     step 49.2 ms · 4.51 GiB of 79.2 GiB | dgx-h100 · 64 GPUs · batch 1 · bf16 | 124 M parameters · 875 GFLOP
 *
 * What matters most comes first: beside a report, a window of 1,280 pixels shows some 65 characters and cuts off the rest.
 * FLOPs and time are of forward and backward together, as in hints. All lenses of a line have at most 120 characters, which such a
 * window shows beside the explorer and the minimap. What matters less is left to the report.
 */

import { computeOfStep } from '../estimate/computeOfStep.ts';
import { hasAllParameters } from '../estimate/leftOut.ts';
import { defaultFramework } from '../frameworks/registry.ts';
import { counted } from '../model/counted.ts';
import {
  atLeast,
  formatBytes,
  formatCount,
  formatFlops,
  formatShortCount,
  formatTime,
} from '../model/format.ts';
import { gpuMemory, memoryText } from '../model/gpuMemory.ts';
import type { StepCost } from '../model/stepCost.ts';
import { totalElements } from '../model/totalElements.ts';
import { add } from '../model/units.ts';
import { unsetDimensions } from './dimensionChoices.ts';
import { layoutText } from './layoutOfLine.ts';
import { measuredText } from './lineCost.ts';
import { type ModelView, viewsOf } from './modelView.ts';

export interface CodeLens {
  readonly line: number;
  readonly title: string;
  readonly action: 'show-report' | 'choose-cluster' | 'set-dimensions' | 'list-fixes';
  /** The model it is about, where the text holds several. */
  readonly model?: string;
}

/** In characters, with the bars between lenses. */
export const longestLenses = 120;

/** `others` stand on the first line, before what is said of the size of models. */
export function codeLenses(view: ModelView, others: readonly CodeLens[] = []): readonly CodeLens[] {
  const lenses = viewsOf(view).map((each) => lensesOf(each, others));
  return [...lenses.flatMap(({ step }) => step), ...others, ...lenses.flatMap(({ size }) => size)];
}

/** `step` is what a step costs and where; `size` what the model is by itself. */
interface ModelLenses {
  readonly step: readonly CodeLens[];
  readonly size: readonly CodeLens[];
}

function lensesOf(view: ModelView, others: readonly CodeLens[]): ModelLenses {
  const { cost, costed } = view.estimate;
  const { analysis } = view.estimate.opened;
  if (cost === undefined || analysis === undefined) return { step: [], size: [] };
  const parameters = totalElements(analysis.parameters);
  const { totals } = cost;
  const { measurements, part } = view;
  const measured = measurements?.step;
  // One model is named by its file.
  const named: readonly Part[] = part === undefined ? [] : [{ text: part.name, rank: 0 }];
  const flops = add(totals.flops.forward, totals.flops.backward);
  const said: readonly Part[] = [
    ...named,
    {
      text: `${cost.decoding === undefined ? 'step' : 'token'} ${atLeast(formatTime(totals.time.step), totals.time.exact)}`,
      rank: 0,
    },
    ...(cost.decoding === undefined ? [] : [{ text: decodingText(cost.decoding), rank: 1 }]),
    ...(measured === undefined || measurements === undefined
      ? []
      : [
          {
            text: measuredText(measured, measurements, view.costOfDevice && computeOfStep(view.costOfDevice)),
            rank: 0,
          },
        ]),
    // Who has measured knows what fits.
    { text: memoryText(gpuMemory(cost)), rank: measured === undefined || cost.fits !== 'yes' ? 0 : 1 },
    ...(view.staleBenchmark === undefined
      ? []
      : [{ text: `benchmark is stale: ${view.staleBenchmark}`, rank: 0 }]),
    ...(totals.time.exact ? [] : [{ text: 'at least', rank: 4 }]),
    ...(view.stale ? [{ text: 'from before the line that cannot be read', rank: 0 }] : []),
  ];
  // Sums of nothing would read like a model that costs nothing.
  const total = costed ? said : [...named, { text: 'cost unknown', rank: 0 }];
  const size: readonly Part[] = costed
    ? [
        {
          text: `${atLeast(formatShortCount(parameters), hasAllParameters(view.estimate.opened.format, totals))} parameters`,
          rank: 2,
        },
        { text: atLeast(formatFlops(flops), totals.exact), rank: 3 },
      ]
    : [];
  const scenario = partsOfScenario(cost);
  const unset = unsetDimensions(view);
  const further = [...(unset.length === 0 ? [] : [unsetText(unset)]), ...others.map(({ title }) => title)];
  const taken = further.reduce((sum, { length }) => sum + length + bar.length, 0);
  const last = lastRank([total, scenario, size], longestLenses - taken);
  const place = { line: part?.firstLine ?? 0, ...(part === undefined ? {} : { model: part.name }) };
  const lens = (parts: readonly Part[], action: CodeLens['action']): readonly CodeLens[] => {
    const title = textUpTo(parts, last);
    return title === '' ? [] : [{ ...place, title, action }];
  };
  return {
    step: [
      ...lens(total, 'show-report'),
      ...lens(scenario, 'choose-cluster'),
      ...(unset.length === 0
        ? []
        : [{ ...place, title: unsetText(unset), action: 'set-dimensions' as const }]),
    ],
    size: lens(size, 'show-report'),
  };
}

/** What an editor draws between two lenses. */
const bar = ' | ';

/** A piece of a lens; where all do not fit, those of the highest rank go first, of all lenses. */
interface Part {
  readonly text: string;
  readonly rank: number;
}

const textUpTo = (parts: readonly Part[], last: number): string =>
  parts.flatMap(({ text, rank }) => (rank > last ? [] : [text])).join(' · ');

function lastRank(lenses: readonly (readonly Part[])[], most: number): number {
  const length = (last: number): number =>
    lenses
      .map((parts) => textUpTo(parts, last))
      .filter((text) => text !== '')
      .join(bar).length;
  let last = Math.max(...lenses.flatMap((parts) => parts.map(({ rank }) => rank)));
  while (last > 0 && length(last) > most) last -= 1;
  return last;
}

/** Two names say which axes are meant; the command asks for all. */
const unsetText = (unset: readonly string[]): string =>
  `Set dimensions: ${unset.slice(0, 2).join(', ')}${unset.length > 2 ? ` and ${unset.length - 2} more` : ''}`;

/** `after 4,000 tokens, 500 MiB of cache, prefill 12.3 ms`. */
const decodingText = ({ past, cache, prefill }: NonNullable<StepCost['decoding']>): string =>
  `after ${formatCount(past)} tokens, ${formatBytes(cache)} of cache, prefill ${formatTime(prefill.time)}`;

/** `dgx-a100 · 8 GPUs · tp2 · dp4 · batch 32 · bf16 · pytorch-ddp`; on one GPU, and in inference, no framework sends gradients. */
function partsOfScenario(cost: StepCost): readonly Part[] {
  const { scenario } = cost;
  const layout = layoutText(cost);
  return [
    { text: scenario.cluster, rank: 0 },
    { text: counted(scenario.gpus, cost.device), rank: 0 },
    ...(layout === '' ? [] : [{ text: layout, rank: 0 }]),
    {
      text: `batch ${scenario.accumulate === undefined ? '' : `${scenario.accumulate} × `}${scenario.batchPerGpu}`,
      rank: 0,
    },
    { text: scenario.precision, rank: 0 },
    ...(scenario.gpus > 1 && scenario.mode === 'training'
      ? [{ text: scenario.framework.name, rank: scenario.framework.name === defaultFramework.name ? 4 : 1 }]
      : []),
  ];
}
