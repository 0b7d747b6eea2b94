/** Keys of a layer spec, or of a model below `models`. */

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: tab stops are written so.

import type { specKeys } from '../../../formats/layer-spec/specKeys.ts';
import type { Completion } from '../../completion.ts';
import { bodiesAt } from '../visibleNames.ts';
import { type ProposalSite, proposal } from './proposalSite.ts';

type SpecKey = (typeof specKeys)[number];

/** Those of `known` that are not written yet. */
export function keyProposals(site: ProposalSite, known: readonly SpecKey[]): readonly Completion[] {
  const [body] = bodiesAt(site.document.spec, site.context);
  const present = new Set(body?.sections.map(({ key }) => key.text));
  return known
    .filter((key) => !present.has(key))
    .map((key): Completion => {
      const proposed = proposal(site, key, 'key', '', keyDocumentation[key]);
      return { ...proposed, insert: `${key}:${keyValues[key]}`, snippet: true, asksForProposals: true };
    });
}

/** What a person goes on with. */
const keyValues: Readonly<Record<SpecKey, string>> = {
  name: ' $0',
  include: ' $0',
  models: '\n  ${1:small}:\n    $0',
  dims: ' { ${1:batch}: ${2:8} }$0',
  inputs: '\n  ${1:x}: $0',
  blocks: '\n  ${1:block}:\n    - ${2:fc}: $0',
  layers: '\n  - ${1:fc}: $0',
  outputs: ' [$0]',
  scenario: ' { $0 }',
};

const keyDocumentation: Readonly<Record<SpecKey, string>> = {
  name: 'Name of the model.',
  include: 'Files whose blocks can be called here, as paths relative to this file.',
  models: 'Several models in one file: each a name, and the keys in which it differs from the top level.',
  dims: 'Named sizes, such as `d: 768`; a value may be an expression over other names.',
  inputs: 'Inputs of the model: a name, an element type and a shape, such as `int64[batch, seq]`.',
  blocks: 'Lists of layers to use more than once.',
  layers: 'The layers in order, each one call.',
  outputs: 'Layers whose outputs the model returns; default: the last one.',
  scenario: 'Scenario of the training; overrides the settings.',
};
