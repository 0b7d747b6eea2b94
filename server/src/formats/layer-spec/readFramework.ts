/** The `framework` of a scenario: `pytorch-ddp,bucket-mb=50`, or `{ name: pytorch-ddp, bucket-mb: 50 }`. */

import type { TextSpan } from '../../model/issue.ts';
import type { FrameworkChoice } from '../../model/scenario.ts';
import { readFrameworkText } from '../frameworkText.ts';
import { scalarValue, type YamlMap, type YamlScalar } from './yamlTree.ts';

export interface ReadScenarioFramework {
  readonly choice: FrameworkChoice | undefined;
  /** Places by `framework.name` and `framework.OPTION`; an option with its value. */
  readonly spans: ReadonlyMap<string, TextSpan>;
}

type Report = (message: string, span: TextSpan) => void;

/** What is right counts, whatever else is reported. */
export const readScenarioFramework = (node: YamlScalar | YamlMap, report: Report): ReadScenarioFramework =>
  node.kind === 'map' ? readMap(node, report) : readText(node, report);

function readText(node: YamlScalar, report: Report): ReadScenarioFramework {
  const { choice, name, options, problems } = readFrameworkText(node.text);
  const { start, end } = node.content;
  // With escapes or over several lines, what is written is not what it says.
  const isPlain = node.text.length === end - start;
  const placed = (span: TextSpan): TextSpan =>
    isPlain && span.end > span.start ? { start: start + span.start, end: start + span.end } : node.span;
  for (const { message, span } of problems) report(`\`framework\`: ${message}`, placed(span));
  const spans = new Map([['framework.name', placed(name)]]);
  for (const [option, span] of options) spans.set(`framework.${option}`, placed(span));
  return { choice, spans };
}

function readMap({ entries, span }: YamlMap, report: Report): ReadScenarioFramework {
  let name: string | undefined;
  const options: [string, string][] = [];
  const spans = new Map<string, TextSpan>();
  for (const { key, value } of entries) {
    if (value?.kind === 'unreadable') continue;
    const content = value?.kind === 'scalar' ? scalarValue(value) : undefined;
    const isName = key.text === 'name';
    if (value?.kind !== 'scalar' || content === null || content === '') {
      const example = isName ? 'name: pytorch-ddp' : `${key.text}: VALUE`;
      report(`\`${key.text}\` takes one word or number: write \`${example}\``, value?.span ?? key.span);
      continue;
    }
    if (isName) name = value.text.trim();
    else options.push([key.text, value.text.trim()]);
    const place = isName ? value.span : { start: key.span.start, end: value.span.end };
    spans.set(`framework.${key.text}`, place);
  }
  if (name === undefined) {
    const example = '`framework: { name: pytorch-ddp, bucket-mb: 50 }`';
    if (!entries.some(({ key }) => key.text === 'name')) {
      report(`\`framework\` needs a \`name\`, beside its options: ${example}`, span);
    }
    return { choice: undefined, spans };
  }
  return { choice: { name, options: Object.fromEntries(options) }, spans };
}
