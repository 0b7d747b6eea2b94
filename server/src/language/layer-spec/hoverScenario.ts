/** What a word of a scenario means: its keys, and the name and options of its framework. */

import { scenarioKeys } from '../../formats/layer-spec/scenarioKeys.ts';
import type { SpecBody } from '../../formats/layer-spec/syntax.ts';
import { type GroupName, groupNames } from '../../formats/scenarioGroups.ts';
import { findFramework } from '../../frameworks/registry.ts';
import { findCluster } from '../../hardware/clusters.ts';
import type { TextSpan } from '../../model/issue.ts';
import { holds, type SpecText } from './specText.ts';

export interface ScenarioWord {
  readonly markdown: string;
  readonly span: TextSpan;
}

export function hoverScenario({ spec, source }: SpecText, offset: number): ScenarioWord | undefined {
  for (const body of [...spec.models, spec]) {
    for (const [key, span] of body.scenarioKeySpans) {
      if (holds(span, offset)) return { markdown: describeKey(key), span };
    }
    for (const [part, span] of body.scenarioSpans) {
      if (!holds(span, offset)) continue;
      if (isGroup(part)) return groupWord(part, source, span, offset);
      const markdown = describePart(body, part);
      if (markdown !== '') return { markdown, span };
    }
  }
  return undefined;
}

const isGroup = (part: string): part is GroupName => Object.hasOwn(groupNames, part);

/** The pair under the pointer: `schedule=zb-v` of `tp=2,schedule=zb-v`. */
function groupWord(
  group: GroupName,
  source: string,
  { start, end }: TextSpan,
  offset: number,
): ScenarioWord | undefined {
  for (const { 0: pair, index } of source
    .slice(start, end)
    .matchAll(/[\w-]+(?:\s*=\s*(?:\[[^\]]*\]|[^,'"}\s]*))?/g)) {
    const span = { start: start + index, end: start + index + pair.length };
    if (!holds(span, offset)) continue;
    const name = pair.split('=')[0]?.trim();
    const [, documentation] =
      Object.entries<string>(groupNames[group]).find(([known]) => known === name) ?? [];
    return documentation === undefined
      ? undefined
      : { markdown: `\`${name}\` of \`${group}\`: ${documentation}.`, span };
  }
  return undefined;
}

function describeKey(key: string): string {
  const known = Object.entries(scenarioKeys).find(([name]) => name === key)?.[1];
  if (known === undefined) return '';
  const choices = typeof known.kind === 'string' ? '' : ` One of ${known.kind.join(', ')}.`;
  return `\`${key}\`: ${known.documentation}${choices}`;
}

function describePart({ scenario }: SpecBody, part: string): string {
  if (part === 'cluster') {
    const title = findCluster(scenario.cluster ?? '')?.title;
    return title === undefined ? '' : `**${title}**`;
  }
  const [, name] = /^framework\.(.+)$/.exec(part) ?? [];
  const framework = name === undefined ? undefined : findFramework(scenario.framework?.name ?? '');
  if (framework === undefined) return '';
  if (name === 'name') return `\`${framework.name}\`: ${framework.documentation}`;
  const option = framework.options.find((candidate) => candidate.name === name);
  return option === undefined
    ? ''
    : `\`${option.name}\` of \`${framework.name}\`, default ${option.default}: ${option.documentation}`;
}
