/** `findings/oversubscribed-network`: the job spans more nodes than one switch holds, and waits for its uplinks. */

import { thresholdOf } from '../../model/findingThresholds.ts';
import { formatBandwidth, formatPercent } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { bytesPerSecond } from '../../model/units.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function oversubscribedNetwork({ plan, timeline }: EstimatedStep): readonly Finding[] {
  const { network } = plan.cluster;
  const { oversubscription } = network ?? {};
  const { nodes } = plan.placement;
  if (network === undefined || oversubscription === undefined) return [];
  const ratio = oversubscription.ratio.value;
  const perSwitch = oversubscription.nodesPerSwitch.value;
  if (ratio <= 1 || nodes <= perSwitch) return [];
  if (timeline.exposedTime < thresholdOf(plan.scenario.thresholds, 'exposed-communication') * timeline.step) {
    return [];
  }
  const left = bytesPerSecond(network.nodeBandwidth.value / ratio);
  return [
    {
      code: 'findings/oversubscribed-network',
      severity: 'warning',
      layer: '',
      message: `${nodes} nodes exceed the ${perSwitch} of one switch, whose uplinks carry 1/${ratio} of their traffic: ${formatBandwidth(left)} of ${formatBandwidth(network.nodeBandwidth.value)} remain per node, and ${formatPercent(timeline.exposedTime / timeline.step)} of the step waits for gradients`,
      fix: `Keep the job below one switch: at most ${perSwitch} nodes, placed together`,
    },
  ];
}
