/** Sets an option of the framework that a layer spec's scenario asks for, in the form in which it is written there. */

import { printFramework } from '../../../formats/frameworkText.ts';
import type { SpecBody } from '../../../formats/layer-spec/syntax.ts';
import type { FrameworkChoice } from '../../../model/scenario.ts';
import type { TextEdit } from '../../textEdit.ts';
import type { SpecText } from '../specText.ts';
import { scenarioEdit } from './scenarioEdit.ts';

/** `framework` is what holds now; where the text does not say it, it is written with the option. */
export function frameworkEdit(
  document: SpecText,
  framework: FrameworkChoice,
  option: string,
  value: string,
  model: string | undefined,
): TextEdit {
  const { spec, source } = document;
  const bodies: readonly SpecBody[] = [...spec.models.filter(({ name }) => name.text === model), spec];
  const spans = bodies.find(({ scenarioSpans }) => scenarioSpans.has('framework'))?.scenarioSpans;
  const written = spans?.get('framework');
  const name = spans?.get('framework.name');
  const isMap =
    written !== undefined && name !== undefined && /:\s*$/.test(source.slice(written.start, name.start));
  if (!isMap) {
    const text = printFramework({ ...framework, options: { ...framework.options, [option]: value } });
    return scenarioEdit(document, 'framework', `"${text}"`, model);
  }
  const entry = `${option}: ${value}`;
  const known = spans?.get(`framework.${option}`);
  if (known !== undefined) return { span: known, text: entry };
  if (source[written.start] === '{') {
    return { span: { start: name.end, end: name.end }, text: `, ${entry}` };
  }
  // Below the name, whatever comment stands behind it.
  const lineStart = source.lastIndexOf('\n', name.start) + 1;
  const lineEnd = source.indexOf('\n', name.end);
  const end = lineEnd < 0 ? source.length : lineEnd - (source[lineEnd - 1] === '\r' ? 1 : 0);
  const indent = /^\s*/.exec(source.slice(lineStart))?.[0] ?? '';
  return { span: { start: end, end }, text: `\n${indent}${entry}` };
}
