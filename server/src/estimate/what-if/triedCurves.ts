/** Scaling curves of the scenario that is written and of those that were tried, told apart by what differs. */

import { mostCurves } from '../../charts/scalingChart.ts';
import { memoizeOfObject } from '../../model/memoize.ts';
import type { ScenarioChange } from '../../model/scenarioChange.ts';
import type { Steps } from '../../model/steps.ts';
import type { ModelEstimate } from '../estimateModel.ts';
import { scaleEstimate } from '../scaling/scaleEstimate.ts';
import type { Scaling } from '../scaling/scaleJob.ts';
import type { ScalingCurve } from '../scaling/scalingOverlay.ts';
import { valuesOf, valueTexts } from './scenarioValues.ts';
import { tryScenario } from './tryScenario.ts';
import { whatIfChoices } from './whatIfChoices.ts';

/**
 * The curve of `written` first, then those of `changes` of it, of which the last is always among them. A change of the
 * number of GPUs alone is another point of the same curve. Curves of another kind than the last (weak, strong) are left out.
 */
export function* triedCurves(
  written: ModelEstimate,
  changes: readonly ScenarioChange[],
): Steps<readonly ScalingCurve[]> {
  const estimates = new Map<string, ModelEstimate>();
  for (const change of [{}, ...changes.toReversed()]) {
    const estimate = tryScenario(written, change);
    if (estimate?.costed !== true) continue;
    const key = keyOf(estimate);
    if (!estimates.has(key)) estimates.set(key, estimate);
  }
  const [first, ...newest] = estimates;
  if (first === undefined) return [];
  const curves: ScalingCurve[] = [];
  for (const [key, estimate] of [first, ...newest.slice(0, mostCurves - 1).toReversed()]) {
    const scaling = knownScalings(written).get(key) ?? (yield* scaleEstimate(estimate));
    if (scaling === undefined) continue;
    knownScalings(written).set(key, scaling);
    curves.push({ values: curveValues(estimate), scaling });
  }
  const shown = estimates.get(keyOf(tryScenario(written, changes.at(-1) ?? {}) ?? written)) ?? first[1];
  const { isStrong } = knownScalings(written).get(keyOf(shown)) ?? {};
  return namedByDifference(curves.filter(({ scaling }) => scaling.isStrong === isStrong));
}

const keyOf = (estimate: ModelEstimate): string => JSON.stringify(curveValues(estimate));

/** What was scaled already, by the values of its scenario. */
const knownScalings = memoizeOfObject((_: ModelEstimate) => new Map<string, Scaling>());

/** What makes one curve another. */
function curveValues(estimate: ModelEstimate): Readonly<Record<string, string>> {
  const { gpus: _, ...values } = valuesOf(whatIfChoices(estimate));
  return values;
}

function namedByDifference(curves: readonly ScalingCurve[]): readonly ScalingCurve[] {
  const keys = [...new Set(curves.flatMap(({ values }) => Object.keys(values)))];
  const differing = keys.filter((key) => new Set(curves.map(({ values }) => values[key])).size > 1);
  return curves.map(({ values, scaling }) => ({
    values: Object.fromEntries(
      differing.flatMap((key) =>
        values[key] === undefined ? [] : [[key, valueTexts[key]?.(values[key]) ?? values[key]]],
      ),
    ),
    scaling,
  }));
}
