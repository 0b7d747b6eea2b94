/** What a measured step is taken for, and whether a GPU can be that fast. */

import { formatTime } from '../model/format.ts';
import type { Layer } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import { knownPart } from '../model/knownPart.ts';
import type { LayerMeasurements } from '../model/measurement.ts';
import type { Scenario } from '../model/scenario.ts';
import type { StepCost } from '../model/stepCost.ts';
import { seconds } from '../model/units.ts';

/** It is of one GPU by itself, one pass and the update: a person may have measured a step of more. */
export function measuredStepIssues({ measuredStep, gpus, accumulate = 1 }: Scenario): readonly Issue[] {
  if (measuredStep === undefined || (gpus === 1 && accumulate === 1)) return [];
  const adds = [
    ...(accumulate > 1 ? [`${accumulate - 1} more ${accumulate === 2 ? 'pass' : 'passes'}`] : []),
    ...(gpus > 1 ? ['what of communication is exposed'] : []),
  ];
  return [
    {
      code: 'scenario/measured-step',
      severity: 'information',
      message: `The measured ${formatTime(measuredStep)} are taken as one pass and the update on one GPU without communication. The step adds ${adds.join(' and ')}`,
      scenarioKey: 'measuredStep',
    },
  ];
}

/** Layers that were measured may take no longer than the step they are part of. */
export function measuredLayerIssues(
  { measuredStep, mode }: Scenario,
  layers: readonly Layer[],
  measurements: LayerMeasurements | undefined,
): readonly Issue[] {
  const step = measurements?.step ?? measuredStep;
  if (step === undefined || measurements === undefined) return [];
  const times = layers.flatMap(({ name }) => {
    const measured = measurements.layers.get(name);
    return [measured?.forward, mode === 'training' ? measured?.backward : undefined];
  });
  const all = seconds(times.reduce<number>((total, time) => total + knownPart(time), 0));
  if (all <= step * (1 + 1e-9)) return [];
  return [
    {
      code: 'scenario/measured-step',
      // Layers that were run one by one may add up to more than the step of the same run.
      severity: measurements.step === undefined ? 'warning' : 'information',
      message: `The measured layers take ${formatTime(all)}, more than the measured step of ${formatTime(step)}: other layers and the update are costed as 0`,
      scenarioKey: 'measuredStep',
    },
  ];
}

/** A step that is shorter than its matrix products at the peak of the GPU. */
export function impossibleStepIssues({ scenario, totals }: StepCost): readonly Issue[] {
  const { measuredStep, accumulate = 1 } = scenario;
  const { mfu, time } = totals;
  if (measuredStep === undefined || mfu === null || time.step === null) return [];
  const atPeak = (mfu * time.step) / (scenario.mode === 'training' ? accumulate : 1);
  if (measuredStep >= atPeak) return [];
  return [
    {
      code: 'scenario/measured-step',
      severity: 'warning',
      message: `A measured step of ${formatTime(measuredStep)} is shorter than its matrix multiplications take at the peak of the GPU, ${formatTime(seconds(atPeak))}; give the seconds of one step with this batch, precision and GPU`,
      scenarioKey: 'measuredStep',
    },
  ];
}
