/** When memory is taken for what: the moments that the peak is the largest of, at their times. */

import type { MemoryMoment } from '../../charts/memoryChart.ts';
import { floatAt, intAt } from '../../model/at.ts';
import type { StepTimeline } from '../../schedule/stepTimeline.ts';
import { layerOfOperators } from '../layerOf.ts';
import { momentsOf } from '../memory/memoryOf.ts';
import { runtimeReserve } from '../memory/reservedMemory.ts';
import type { StepPlan } from '../plan/stepPlan.ts';
import { startOfLastPass } from './stepLanes.ts';

/** Of the last pass: each moment begins when the operator before it ends. */
export function memoryOverStep(plan: StepPlan, timeline: StepTimeline): readonly MemoryMoment[] {
  const { layers } = plan.training.analysis;
  const layerOf = layerOfOperators(plan.training);
  const operators = timeline.forwardEnds.length;
  let time = startOfLastPass(plan, timeline);
  return momentsOf(plan).map(({ phase, operator, ...sizes }): MemoryMoment => {
    const layer = operator === undefined ? undefined : layers[intAt(layerOf, operator)]?.name;
    const moment = {
      time,
      where: layer === undefined ? phase : `${phase} at ${layer}`,
      runtime: runtimeReserve,
      parameters: sizes.parameters,
      state: sizes.optimizerState,
      buffers: sizes.communicationBuffers,
      gradients: sizes.gradients,
      activations: sizes.activations,
      workspace: sizes.workspace,
    };
    if (operator !== undefined && operator < operators) {
      const end =
        phase === 'forward'
          ? floatAt(timeline.forwardEnds, operator)
          : floatAt(timeline.backwardEnds, operators - 1 - operator);
      time = Math.max(time, end);
    }
    return moment;
  });
}
