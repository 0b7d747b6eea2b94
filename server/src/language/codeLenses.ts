/** The totals of each model of the text above its first line, and the scenario they hold for. */

import { computeOfStep } from '../estimate/computeOfStep.ts';
import { hasAllParameters } from '../estimate/leftOut.ts';
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

export const codeLenses = (view: ModelView): readonly CodeLens[] => viewsOf(view).flatMap(lensesOf);

function lensesOf(view: ModelView): readonly CodeLens[] {
  const { cost, costed } = view.estimate;
  const { analysis } = view.estimate.opened;
  if (cost === undefined || analysis === undefined) return [];
  const parameters = analysis.parameters.reduce((total, { elements }) => total + elements, 0);
  const { totals } = cost;
  const bound = (text: string): string => atLeast(text, totals.exact);
  const training = cost.scenario.mode === 'training';
  const { measurements } = view;
  const measured = measurements?.step;
  const total = [
    view.estimate.opened.name,
    `${atLeast(formatShortCount(parameters), hasAllParameters(view.estimate.opened.format, totals))} parameters`,
    `${bound(formatFlops(totals.flops.forward))} forward${training ? `, ${bound(formatFlops(totals.flops.backward))} backward` : ''}`,
    `${cost.decoding === undefined ? 'step' : 'token'} ${atLeast(formatTime(totals.time.step), totals.time.exact)}`,
    ...(cost.decoding === undefined ? [] : [decodingText(cost.decoding)]),
    ...(measured === undefined || measurements === undefined
      ? []
      : [measuredText(measured, measurements, view.costOfDevice && computeOfStep(view.costOfDevice))]),
    memoryText(gpuMemory(cost)),
    ...(view.staleBenchmark === undefined ? [] : [`benchmark is stale: ${view.staleBenchmark}`]),
    ...(totals.time.exact ? [] : ['at least']),
    ...(view.stale ? ['from before the line that cannot be read'] : []),
  ].join(' · ');
  // Sums of nothing would read like a model that costs nothing.
  const title = costed ? total : `${view.estimate.opened.name} · cost unknown`;
  const unset = unsetDimensions(view);
  const { part } = view;
  const place = { line: part?.firstLine ?? 0, ...(part === undefined ? {} : { model: part.name }) };
  return [
    { ...place, title, action: 'show-report' },
    { ...place, title: describeScenario(cost), action: 'choose-cluster' },
    ...(unset.length === 0
      ? []
      : [{ ...place, title: `Set dimensions: ${unset.join(', ')}`, action: 'set-dimensions' as const }]),
  ];
}

/** `after 4,000 tokens, 500 MiB of cache, prefill 12.3 ms`. */
const decodingText = ({ past, cache, prefill }: NonNullable<StepCost['decoding']>): string =>
  `after ${formatCount(past)} tokens, ${formatBytes(cache)} of cache, prefill ${formatTime(prefill.time)}`;

/** `dgx-a100 · 8 GPUs · tp2 · dp4 · batch 32 · bf16 · pytorch-ddp`; on one GPU, and in inference, no framework sends gradients. */
function describeScenario(cost: StepCost): string {
  const { scenario } = cost;
  const layout = layoutText(cost);
  return [
    scenario.cluster,
    `${scenario.gpus} GPU${scenario.gpus === 1 ? '' : 's'}`,
    ...(layout === '' ? [] : [layout]),
    `batch ${scenario.accumulate === undefined ? '' : `${scenario.accumulate} × `}${scenario.batchPerGpu}`,
    scenario.precision,
    ...(scenario.gpus > 1 && scenario.mode === 'training' ? [scenario.framework.name] : []),
  ].join(' · ');
}
