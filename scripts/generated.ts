/** The generated files and their text, each from the one place that is its source of truth. */

import { z } from 'zod';
import { layerSpecSchema } from '../server/src/analysis/layer-spec/layerSpecSchema.ts';
import { reportSchema } from '../server/src/estimate/report/report.ts';
import { clusterFile } from '../server/src/hardware/profileSchema.ts';
import { findingThresholds, isThresholdName } from '../server/src/model/findingThresholds.ts';
import { issueCodes } from '../server/src/model/issueCodes.ts';
import { layersPage } from './layersPage.ts';
import { operatorsPage } from './operatorsPage.ts';

/** Path from the root of the project, and the text it must have. */
export function generatedFiles(): readonly (readonly [path: string, text: string])[] {
  return [
    ['docs/issues.md', issuesPage()],
    ['docs/layers.md', layersPage()],
    ['docs/operators.md', operatorsPage()],
    ['syntaxes/cluster-profile.schema.json', `${JSON.stringify(z.toJSONSchema(clusterFile), null, 2)}\n`],
    ['syntaxes/layer-spec.schema.json', `${JSON.stringify(layerSpecSchema(), null, 2)}\n`],
    ['syntaxes/report.schema.json', `${JSON.stringify(z.toJSONSchema(reportSchema), null, 2)}\n`],
  ];
}

function issuesPage(): string {
  const entries = Object.entries(issueCodes).map(
    ([code, { title, explanation }]) => `## ${code}\n\n**${title}.** ${explanation}${thresholdNote(code)}\n`,
  );
  return `# Issues and findings\n\nWhat Layercost reports about a model or a step. Generated from \`server/src/model/issueCodes.ts\`.\n\n${entries.join('\n')}`;
}

/** How far something must go before it is a finding, and where a person says so. */
function thresholdNote(code: string): string {
  const name = code.replace('findings/', '');
  if (!isThresholdName(name)) return '';
  const { default: usual, documentation } = findingThresholds[name];
  return `\n\nReported from ${usual * 100} %: the ${documentation}. Set it with \`--threshold ${name}=SHARE\`, \`thresholds: ${name}=SHARE\` in the \`scenario\` of a layer spec, or the setting \`layercost.findings.thresholds\`.`;
}
