/** The framework of a scenario and its options, in one word (`pytorch-ddp,bucket-mb=50`) or as a mapping. */

import type { FrameworkOption } from '../../../frameworks/options.ts';
import { findFramework, frameworks } from '../../../frameworks/registry.ts';
import type { Completion } from '../../completion.ts';
import type { FrameworkMapping } from '../scenarioContext.ts';
import { type ProposalSite, proposal } from './proposalSite.ts';

/** The name of a framework, then its options; `value` is what is written before the cursor. */
export function frameworkPartProposals(site: ProposalSite, value: string): readonly Completion[] {
  const parts = value.replace(/^['"]/, '').split(',');
  if (parts.length === 1) return nameProposals(site);
  const options = findFramework(parts[0] ?? '')?.options ?? [];
  const [started = '', ...values] = parts.at(-1)?.split('=') ?? [];
  if (values.length > 0) return optionValueProposals(site, options, started.trim());
  const given = new Set(parts.slice(1, -1).map((part) => part.split('=')[0]?.trim()));
  return options.filter(({ name }) => !given.has(name)).map((option) => settingProposal(site, option));
}

/** Keys of a framework as a mapping: its name, then its options. */
export function frameworkKeyProposals(
  site: ProposalSite,
  { framework, written }: FrameworkMapping,
): readonly Completion[] {
  const about = 'Name of a built-in framework, or a file that describes your own.';
  const options = findFramework(framework)?.options ?? [];
  return [proposal(site, 'name', 'key', '', about), ...options.map((option) => settingProposal(site, option))]
    .filter(({ label }) => !written.includes(label) || label === site.context.word)
    .map((key) => ({ ...key, insert: `${key.label}: ` }));
}

/** What may stand behind a key of the mapping. */
export function frameworkValueProposals(
  site: ProposalSite,
  key: string,
  framework: string,
): readonly Completion[] {
  if (key === 'name') return nameProposals(site);
  return optionValueProposals(site, findFramework(framework)?.options ?? [], key);
}

/** `bucket-mb=`, whose value follows. */
export const settingProposal = (
  site: ProposalSite,
  {
    name,
    default: usual,
    documentation,
  }: { readonly name: string; readonly default: string | number; readonly documentation: string },
): Completion => ({
  ...proposal(site, name, 'argument', `default ${usual}`, documentation),
  insert: `${name}=`,
});

const nameProposals = (site: ProposalSite): readonly Completion[] =>
  frameworks.map(({ name, documentation }) => proposal(site, name, 'value', '', documentation));

/** The usual value of an option, then the others where they can be listed. */
function optionValueProposals(
  site: ProposalSite,
  options: readonly FrameworkOption[],
  name: string,
): readonly Completion[] {
  const option = options.find((candidate) => candidate.name === name);
  if (option === undefined) return [];
  const { default: usual, documentation, expects } = option;
  const others = (expects.choices ?? []).filter((choice) => choice !== usual);
  return [
    proposal(site, usual, 'value', 'default', documentation),
    ...others.map((choice) => proposal(site, choice, 'value', '', documentation)),
  ];
}
