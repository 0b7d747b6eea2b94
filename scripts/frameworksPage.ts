/** `docs/frameworks.md`: every behaviour with what it overlaps, its options and its sources. */

import type { FrameworkEntry } from '../server/src/frameworks/frameworkEntry.ts';
import { frameworks } from '../server/src/frameworks/registry.ts';

export function frameworksPage(): string {
  return `# Frameworks

What a framework sends, when, and what waits for it. Choose one with \`--framework NAME[,option=value…]\`, \`framework:\` in the
\`scenario\` of a layer spec, or the setting \`layercost.framework\`. Generated from \`server/src/frameworks/\`.

| name | what it is |
| --- | --- |
${frameworks.map(({ name, documentation }) => `| [\`${name}\`](#${name}) | ${documentation} |`).join('\n')}

${frameworks.map(sectionOf).join('\n')}`;
}

const sectionOf = ({ name, documentation, overlaps, sources, options, oneNode }: FrameworkEntry): string =>
  `## ${name}

${documentation}.${oneNode ? ' One node only.' : ''}

Overlap: ${overlaps}.

| option | default | values |
| --- | --- | --- |
${options.map((option) => `| \`${option.name}\` | \`${option.default}\` | ${option.documentation} |`).join('\n')}

Sources: ${sources.join('; ')}.
`;
