/** `findings/trained-adapters`: low-rank pairs or parts that are called adapters are trained, and the weights beside them too. */

import { findLowRankPairs } from '../../analysis/findLowRankPairs.ts';
import { freezeParameters } from '../../analysis/freezeParameters.ts';
import type { ModelAnalysis, Parameter } from '../../analysis/modelAnalysis.ts';
import { formatCount } from '../../model/format.ts';
import type { Finding } from '../../model/stepCost.ts';
import { totalElements } from '../../model/totalElements.ts';
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
  if (first === undefined) return namedAdapters(analysis);
  const freeze = patternsFor(analysis, [first.down, first.up]);
  if (freeze === undefined) return [];
  return [
    trainedBeside(
      analysis,
      `Low-rank pairs such as \`${first.down}\` and \`${first.up}\` (rank ${first.rank}) are trained, and \`${first.beside}\` beside them too; LoRA trains the pairs alone`,
      freeze,
    ),
  ];
}

/** Parts with a name of what is added to a network that is not trained (Houlsby et al., arXiv 1902.00751; Lester et al., 2104.08691). */
function namedAdapters(analysis: ModelAnalysis): readonly Finding[] {
  const named = analysis.parameters.flatMap((parameter) => {
    const word = pathOf(analysis, parameter)
      .split(/[./]/)
      .find((each) => adapterName.test(each));
    return word === undefined ? [] : [{ ...parameter, word }];
  });
  const [first] = named;
  const own = totalElements(named);
  if (first === undefined || 2 * own > totalElements(analysis.parameters)) return [];
  const freeze = ['*', ...new Set(named.map(({ word }) => `!*${word}*`))];
  return [
    trainedBeside(
      analysis,
      `\`${first.name}\` is trained, and all other parameters too; parts with this name are mostly trained alone`,
      freeze,
    ),
  ];
}

/** `adapter`, `adapters`, `soft_prompt`, `prompt_embeddings`, `prefix_encoder`. */
const adapterName =
  /^((\w+_)?adapters?(_\w+)?|soft_?prompts?|prompt_(encoder|embeddings?|tokens?)|prefix(_(encoder|tokens|embeddings?))?)$/i;

function trainedBeside(analysis: ModelAnalysis, message: string, freeze: readonly string[]): Finding {
  const total = totalElements(analysis.parameters);
  const left = totalElements(freezeParameters(analysis, freeze).analysis.parameters);
  return {
    code: 'findings/trained-adapters',
    severity: 'information',
    layer: '',
    message,
    fix: `Freeze the rest (\`freeze: '${freeze.join(', ')}'\`), if so: ${formatCount(left)} of ${formatCount(total)} parameters are then trained`,
    change: { kind: 'freeze', patterns: freeze },
  };
}

/** All but the pairs, told by the layers that hold them. */
function patternsFor(analysis: ModelAnalysis, names: readonly string[]): readonly string[] | undefined {
  const layers = names.flatMap((name) => layerOf(analysis, name) ?? []);
  if (layers.length < names.length) return undefined;
  const shared = layers.every((layer) => /lora/i.test(layer)) ? ['lora'] : layers;
  return ['*', ...new Set(shared.map((layer) => `!*${layer}*`))];
}

/** The last word of the module that a parameter is in: `lora_a` of `blocks.0.lora_a.weight`. */
function layerOf(analysis: ModelAnalysis, name: string): string | undefined {
  const parameter = analysis.parameters.find((each) => each.name === name);
  return pathOf(analysis, parameter ?? { name, operators: [] })
    .split(/[./]/)
    .filter((word) => !['weight', 'default', ''].includes(word))
    .at(-1);
}

/** Where the program has a parameter, whose name an exporter may have replaced. What repeats blocks is a spec, and has its own. */
function pathOf(
  { graph, folded }: ModelAnalysis,
  { name, operators }: Pick<Parameter, 'name' | 'operators'>,
): string {
  if (folded !== undefined) return name;
  const source = graph.values.get(name)?.literal?.origin?.foldedFrom?.[0];
  const [first] = operators;
  const scope = first === undefined ? undefined : graph.operators[first]?.scope.at(-1);
  return source ?? (/^\w+::/.test(name) ? scope : name) ?? '';
}
