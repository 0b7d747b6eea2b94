/**
 * `findings/slow-network`: the links between nodes carry less than gradients need to hide behind backward.
 *
 * What is sent between nodes has from the first gradient to the end of backward, and a threshold more: the bandwidth
 * it needs is the present one times (transfer time) / (that window − start-up costs).
 */

import { deviceNoun } from '../../model/deviceNoun.ts';
import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatBandwidth, formatTime } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { bytesPerSecond, seconds } from '../../model/units.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function slowNetwork({ plan, timeline }: EstimatedStep): readonly Finding[] {
  const { network } = plan.cluster;
  const allowed = thresholdOf(plan.scenario.thresholds, 'exposed-communication') * timeline.step;
  if (network === undefined || plan.placement.nodes < 2 || timeline.exposedTime < allowed) return [];
  let transfer = 0;
  let startup = 0;
  let whole = 0;
  for (const { times, perStep } of plan.traffic.routes) {
    for (const stage of times) {
      whole += perStep * stage.time;
      startup += perStep * stage.startup;
      if (stage.bound === 'network') transfer += perStep * (stage.time - stage.startup);
    }
  }
  const [first] = timeline.messages;
  if (first === undefined || transfer < whole / 2) return [];
  const window = timeline.forwardTime + timeline.backwardTime - first.start + allowed - startup;
  if (window <= 0) return [];
  const has = network.nodeBandwidth.value;
  const needs = bytesPerSecond((has * transfer) / window);
  if (needs <= has) return [];
  return [
    {
      code: 'findings/slow-network',
      severity: 'warning',
      layer: '',
      message: `The network between nodes is too slow to hide the gradients. In ${formatTime(seconds(window))} of backward they need ${formatBandwidth(needs)} per node, and ${network.title} carries ${formatBandwidth(has)}`,
      fix: `Choose a cluster with a faster network, or fewer nodes${deviceNoun(plan.cluster.gpu) === 'GPU' ? ' with more GPUs each' : ''}`,
    },
  ];
}
