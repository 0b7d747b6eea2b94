/** The generated files and their text, each from the one place that is its source of truth. */

import { z } from 'zod';
import { checkFileSchema } from '../server/src/check/checkFileSchema.ts';
import { reportSchema } from '../server/src/estimate/report/report.ts';
import { customOperators } from '../server/src/formats/custom-operators/customOperatorsSchema.ts';
import { frameworkFile } from '../server/src/formats/framework/frameworkSchema.ts';
import { clusterFile } from '../server/src/hardware/profileSchema.ts';
import { layerSpecSchema } from '../server/src/lowering/layer-spec/layerSpecSchema.ts';
import { findingThresholds, isThresholdName } from '../server/src/model/findingThresholds.ts';
import { issueCodes } from '../server/src/model/issueCodes.ts';
import { frameworksPage } from './frameworksPage.ts';
import { layersPage } from './layersPage.ts';
import { operatorsPage } from './operatorsPage.ts';

/** Path from the root of the project, and the text it must have. */
export function generatedFiles(): readonly (readonly [path: string, text: string])[] {
  return [
    ['docs/frameworks.md', frameworksPage()],
    ['docs/issues.md', issuesPage()],
    ['docs/layers.md', layersPage()],
    ['docs/operators.md', operatorsPage()],
    [
      'syntaxes/check.schema.json',
      `${JSON.stringify(z.toJSONSchema(checkFileSchema, { io: 'input' }), null, 2)}\n`,
    ],
    ['syntaxes/cluster-profile.schema.json', `${JSON.stringify(z.toJSONSchema(clusterFile), null, 2)}\n`],
    [
      'syntaxes/custom-operators.schema.json',
      `${JSON.stringify(z.toJSONSchema(customOperators, { io: 'input' }), null, 2)}\n`,
    ],
    [
      'syntaxes/framework.schema.json',
      `${JSON.stringify(z.toJSONSchema(frameworkFile, { io: 'input' }), null, 2)}\n`,
    ],
    ['syntaxes/layer-spec.schema.json', `${JSON.stringify(layerSpecSchema(), null, 2)}\n`],
    ['syntaxes/report.schema.json', `${JSON.stringify(z.toJSONSchema(reportSchema), null, 2)}\n`],
  ];
}

function issuesPage(): string {
  const entries = Object.entries(issueCodes).map(
    ([code, { title, explanation }]) => `## ${code}\n\n**${title}.** ${explanation}${furtherReading(code)}\n`,
  );
  return `# Issues and findings\n\nWhat Layercost reports about a model or a step. Generated from \`server/src/model/issueCodes.ts\`.\n\n${entries.join('\n')}`;
}

/** The page of a finding, and from where on it is reported. */
function furtherReading(code: string): string {
  if (!code.startsWith('findings/')) return '';
  const name = code.replace('findings/', '');
  const page = `[More](findings/${name}.md), with an example and what to change.`;
  if (!isThresholdName(name)) return ` ${page}`;
  const { default: usual, documentation } = findingThresholds[name];
  return ` ${page}\n\nReported from ${usual * 100} %: the ${documentation}. Set it with \`--threshold ${name}=SHARE\`, \`thresholds: ${name}=SHARE\` in the \`scenario\` of a layer spec, or the setting \`layercost.findings.thresholds\`.`;
}
