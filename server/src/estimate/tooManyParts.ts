/** Gradients cut into more messages than any job sends: each is laid on the timeline, so that they are refused. */

import type { TrainingGraph } from '../analysis/modelAnalysis.ts';
import { resolveFramework } from '../frameworks/registry.ts';
import type { Issue } from '../model/issue.ts';
import type { Scenario } from '../model/scenario.ts';

/** A model of 5 billion parameters, more than train on a GPU without sharding, is 4,900 parts of BytePS. */
const mostParts = 100_000;

export function partIssues({ analysis }: TrainingGraph, scenario: Scenario): readonly Issue[] {
  const { behaviour } = resolveFramework(scenario.framework);
  const { partBytes } = behaviour;
  if (partBytes === undefined || scenario.gpus === 1 || scenario.mode !== 'training') return [];
  const bytesPerElement = behaviour.weightBytesPerElement?.(scenario.precision) ?? 4;
  let parts = 0;
  for (const { elements } of analysis.parameters)
    parts += Math.ceil((elements * bytesPerElement) / partBytes);
  if (parts <= mostParts) return [];
  return [
    {
      code: 'scenario/invalid',
      severity: 'error',
      message: `\`${behaviour.name}\` cuts gradients into ${parts.toLocaleString('en-US')} parts of at most ${partBytes.toLocaleString('en-US')} bytes, more than ${mostParts.toLocaleString('en-US')}; use larger parts, or a framework that shards the model`,
      scenarioKey: 'framework',
    },
  ];
}
