/** `findings/trained-adapters`: low-rank pairs are trained, and the weights beside them too. */

import { findLowRankPairs } from '../../analysis/findLowRankPairs.ts';
import { freezeParameters } from '../../analysis/freezeParameters.ts';
import type { ModelAnalysis } from '../../analysis/modelAnalysis.ts';
import { formatCount } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import type { EstimatedStep } from './estimatedStep.ts';

export function trainedAdapters({ plan }: EstimatedStep): readonly Finding[] {
  const { analysis } = plan.training;
  if (plan.scenario.mode !== 'training' || analysis.parameters.length < 3) return [];
  // The blocks that were left out are like those that were kept.
  const pairs = findLowRankPairs(analysis.folded?.analysis ?? analysis);
  const trained = new Set(analysis.parameters.map(({ name }) => name));
  const [first] = pairs.filter(({ down, up, beside }) =>
    [down, up, beside].every((name) => trained.has(name)),
  );
  if (first === undefined) return [];
  const freeze = patternsFor(analysis, [first.down, first.up]);
  if (freeze === undefined) return [];
  const total = elementsOf(analysis);
  const left = elementsOf(freezeParameters(analysis, freeze).analysis);
  return [
    {
      code: 'findings/trained-adapters',
      severity: 'information',
      layer: '',
      message: `Low-rank pairs such as \`${first.down}\` and \`${first.up}\` (rank ${first.rank}) are trained, and \`${first.beside}\` beside them too; LoRA trains the pairs alone`,
      fix: `Freeze the rest (\`freeze: '${freeze.join(', ')}'\`), if so: ${formatCount(left)} of ${formatCount(total)} parameters are then trained`,
      change: { kind: 'freeze', patterns: freeze },
    },
  ];
}

const elementsOf = ({ parameters }: ModelAnalysis): number =>
  parameters.reduce((total, { elements }) => total + elements, 0);

/** All but the pairs, told by the layers that hold them. */
function patternsFor(analysis: ModelAnalysis, names: readonly string[]): readonly string[] | undefined {
  const layers = names.flatMap((name) => layerOf(analysis, name) ?? []);
  if (layers.length < names.length) return undefined;
  const shared = layers.every((layer) => /lora/i.test(layer)) ? ['lora'] : layers;
  return ['*', ...new Set(shared.map((layer) => `!*${layer}*`))];
}

/** The last word of the module that a parameter is in: `lora_a` of `blocks.0.lora_a.weight`. */
function layerOf({ graph, parameters }: ModelAnalysis, name: string): string | undefined {
  const source = graph.values.get(name)?.literal?.origin?.foldedFrom?.[0];
  const [first] = parameters.find((parameter) => parameter.name === name)?.operators ?? [];
  const scope = first === undefined ? undefined : graph.operators[first]?.scope.at(-1);
  const path = source ?? (/^\w+::/.test(name) ? scope : name) ?? '';
  return path
    .split(/[./]/)
    .filter((word) => !['weight', 'default', ''].includes(word))
    .at(-1);
}
