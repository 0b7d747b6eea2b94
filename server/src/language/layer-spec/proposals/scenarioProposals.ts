/** Keys and values of a scenario. */

import { scenarioKeys } from '../../../formats/layer-spec/scenarioKeys.ts';
import { type GroupName, groupChoices, groupNames } from '../../../formats/scenarioGroups.ts';
import { builtInClusters } from '../../../hardware/clusters.ts';
import { findingThresholds } from '../../../model/findingThresholds.ts';
import type { Completion } from '../../completion.ts';
import { bodiesAt } from '../visibleNames.ts';
import { frameworkPartProposals, settingProposal } from './frameworkProposals.ts';
import { type ProposalSite, proposal } from './proposalSite.ts';

export function scenarioKeyProposals(site: ProposalSite): readonly Completion[] {
  const [body] = bodiesAt(site.document.spec, site.context);
  return Object.entries(scenarioKeys)
    .filter(([key]) => !body?.scenarioSpans.has(key))
    .map(([key, { documentation }]) => ({
      ...proposal(site, key, 'key', '', documentation),
      insert: `${key}: `,
    }));
}

/** `value` is what is written of it before the cursor. */
export function scenarioValueProposals(
  site: ProposalSite,
  key: string,
  value: string,
): readonly Completion[] {
  if (key === 'cluster') return clusterProposals(site);
  if (key === 'framework') return frameworkPartProposals(site, value);
  if (key === 'thresholds') return thresholdProposals(site, value);
  if (isGroup(key)) return groupProposals(site, key, value);
  const known = Object.entries(scenarioKeys).find(([name]) => name === key)?.[1];
  return known === undefined || typeof known.kind === 'string'
    ? []
    : known.kind.map((choice) => proposal(site, choice, 'value', '', known.documentation));
}

const clusterProposals = (site: ProposalSite): readonly Completion[] =>
  builtInClusters.map(({ name, title, gpu, gpusPerNode }) => {
    const isGpu = name === gpu.name;
    const about = isGpu ? 'A single GPU.' : `${gpusPerNode.value} × ${gpu.title} per node.`;
    return proposal(site, name, 'value', title, about);
  });

const isGroup = (key: string): key is GroupName => Object.hasOwn(groupNames, key);

/** Names of a group that are not set yet, such as `tp=`; behind the sign the words that a name takes. */
function groupProposals(site: ProposalSite, group: GroupName, value: string): readonly Completion[] {
  const parts = value.replace(/^['"]/, '').split(',');
  const [started = '', ...values] = parts.at(-1)?.split('=') ?? [];
  const names = Object.entries<string>(groupNames[group]);
  if (values.length > 0) {
    const { words, such = [] } = groupChoices[group][started.trim()] ?? { words: [] };
    const documentation = names.find(([name]) => name === started.trim())?.[1] ?? '';
    return (words === 'any' ? such : words).map((word) => proposal(site, word, 'value', '', documentation));
  }
  const given = new Set(parts.slice(0, -1).map((part) => part.split('=')[0]?.trim()));
  return names
    .filter(([name]) => !given.has(name))
    .map(([name, documentation]) => ({
      ...proposal(site, name, 'argument', '', documentation),
      insert: `${name}=`,
    }));
}

/** Names of thresholds that are not set yet: `exposed-communication=0.1,low-efficiency=0.5`. */
function thresholdProposals(site: ProposalSite, value: string): readonly Completion[] {
  const parts = value.replace(/^['"]/, '').split(',');
  if (parts.at(-1)?.includes('=')) return [];
  const given = new Set(parts.map((part) => part.split('=')[0]?.trim()));
  return Object.entries(findingThresholds)
    .filter(([name]) => !given.has(name))
    .map(([name, threshold]) => settingProposal(site, { name, ...threshold }));
}
