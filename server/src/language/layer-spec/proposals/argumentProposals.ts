/** Arguments of a call: tensors, values, sizes, and the names of those that are not given yet. */

import type { ParameterDefinition } from '../../../lowering/layer-spec/layerDefinition.ts';
import type { Completion } from '../../completion.ts';
import { type Callable, type CallableParameter, findCallable } from '../callable.ts';
import type { OpenCall } from '../cursorPlace.ts';
import { parameterOf } from '../parameterAt.ts';
import { dimensionProposals } from './dimensionProposals.ts';
import { followedSize } from './inputShape.ts';
import { type ProposalSite, proposal } from './proposalSite.ts';
import { outputProposals, tensorProposals, weightProposals } from './tensorProposals.ts';

export function argumentProposals(site: ProposalSite, open: OpenCall): readonly Completion[] {
  const { document, context } = site;
  const callable = findCallable(document, open.callee);
  const parameter = callable === undefined ? undefined : parameterOf(callable, open);
  const before = document.source.slice(0, context.span.start);
  const owner = /([\p{L}_][\p{L}\p{N}_]*)\.$/u.exec(before)?.[1];
  if (owner !== undefined) {
    return parameter?.type === 'layer' ? weightProposals(site, owner) : outputProposals(site, owner);
  }
  const tensors = takesTensor(callable, open) ? tensorProposals(site, open.positional) : [];
  const layers = parameter?.type === 'layer' ? tensorProposals(site, []) : [];
  const values = parameter === undefined ? [] : valueProposals(site, parameter, open.nested);
  const takesNumber = parameter === undefined || numberTypes.has(parameter.type);
  const numbers = takesNumber ? dimensionProposals(site, parameter) : [];
  const takesKeyword = open.keyword === undefined && !open.nested && callable !== undefined;
  const keywords = takesKeyword ? keywordProposals(site, callable, open) : [];
  // A size that is still to be written comes first; where all that must be given is given, names of options do.
  const isRequired = parameter !== undefined && parameter.default === undefined;
  return isRequired || open.keyword !== undefined
    ? [...tensors, ...layers, ...values, ...numbers, ...keywords]
    : [...tensors, ...layers, ...keywords, ...values, ...numbers];
}

const numberTypes: ReadonlySet<ParameterDefinition['type']> = new Set([
  'integer',
  'number',
  'integers',
  'padding',
  'dimension',
  'dimensions',
  'any',
] as const);

function takesTensor(callable: Callable | undefined, { keyword, keywords, positional }: OpenCall): boolean {
  if (callable === undefined || keyword !== undefined) return false;
  return (
    callable.kind === 'operator' ||
    positional.length < callable.tensors.length ||
    (callable.takesMoreTensors && keywords.length === 0)
  );
}

function keywordProposals(site: ProposalSite, callable: Callable, open: OpenCall): readonly Completion[] {
  const filled = new Set(open.keywords);
  const positional = open.positional.length - callable.tensors.length;
  return callable.parameters
    .filter(({ name, rest }, index) => !filled.has(name) && !rest && index >= positional)
    .map((parameter) => {
      const label = `${parameter.name}=`;
      return {
        ...proposal(site, label, 'argument', detailOf(parameter), parameter.documentation),
        insert: site.context.after.startsWith('=') ? parameter.name : label,
      };
    });
}

function detailOf({ type, default: value, follows }: CallableParameter): string {
  const kind = type === 'any' ? '' : type;
  if (follows) return `${kind}, follows from the input`;
  return value === undefined ? `${kind}, required`.replace(/^, /, '') : `${kind} = ${value}`.trim();
}

/** The size that the input has, and words; in a tuple (`isNested`) neither. */
function valueProposals(
  site: ProposalSite,
  parameter: CallableParameter,
  isNested: boolean,
): readonly Completion[] {
  if (isNested) return [];
  const { document, context } = site;
  const isQuoted = document.source.slice(0, context.span.start).endsWith("'");
  const about = `${parameter.name}: ${parameter.documentation}`;
  const actual = parameter.follows ? followedSize(site, parameter.name) : undefined;
  return [
    ...(actual === undefined ? [] : [proposal(site, String(actual), 'value', 'size of the input', about)]),
    ...wordsOf(parameter).map((word) => ({
      ...proposal(site, word, 'value', word === parameter.default ? 'default' : '', about),
      insert: isQuoted ? word.replaceAll("'", '') : word,
    })),
  ];
}

function wordsOf({ type, choices, default: usual }: CallableParameter): readonly string[] {
  if (type === 'boolean') return usual === 'True' ? ['False', 'True'] : ['True', 'False'];
  if (type === 'padding') return ["'same'", "'valid'"];
  if (choices.length > 0) return choices.map((choice) => `'${choice}'`);
  return usual === 'None' ? ['None'] : [];
}
