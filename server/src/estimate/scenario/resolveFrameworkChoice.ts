/** The framework, and the precision that people train in with it where nobody says another. */

import { hasOption, resolveFramework } from '../../frameworks/registry.ts';
import type { ClusterProfile } from '../../hardware/clusterProfile.ts';
import { halfPrecision } from '../../hardware/computePath.ts';
import type { Issue } from '../../model/issue.ts';
import type { FrameworkChoice, Mode, Precision, ScenarioRequest } from '../../model/scenario.ts';
import { frameworkOf } from '../parallel/resolveParallel.ts';
import { first, type Report } from './scenarioReport.ts';

export interface ResolvedFramework {
  readonly framework: FrameworkChoice;
  readonly precision: Precision;
  /** It runs in one process. */
  readonly oneNode: boolean;
  readonly issues: readonly Issue[];
}

export function resolveFrameworkChoice(
  requests: readonly ScenarioRequest[],
  mode: Mode,
  { gpu }: ClusterProfile,
): ResolvedFramework {
  const asked = frameworkOf(requests);
  const usual = resolveFramework(asked).trainsIn === 'half' ? halfPrecision(gpu) : undefined;
  const precision = first(requests, 'precision') ?? usual ?? 'fp32';
  const framework = mode === 'inference' ? withInferenceWeights(asked, precision) : asked;
  const { oneNode, issues } = resolveFramework(framework);
  return { framework, precision, oneNode: oneNode === true, issues };
}

export function reportSeveralNodes({ name }: FrameworkChoice, nodes: number, report: Report): void {
  if (nodes === 1) return;
  const message = `\`${name}\` runs in one process, so on one node, not on ${nodes}; use one node, or \`pytorch-ddp\``;
  report('error', 'scenario/invalid', message, 'framework');
}

/** A model is loaded for inference in the precision that it runs in, not cast from fp32 in each pass. */
function withInferenceWeights(framework: FrameworkChoice, precision: Precision): FrameworkChoice {
  const { name, options } = framework;
  const isWide = precision === 'fp32' || precision === 'tf32';
  if (isWide || options.weights !== undefined || !hasOption(name, 'weights')) return framework;
  return { ...framework, options: { ...options, weights: 'half' } };
}
