/** Sets a key of a layer spec's own scenario. */

import type { SpecBody } from '../../../formats/layer-spec/syntax.ts';
import type { TextEdit } from '../../textEdit.ts';
import type { SpecText } from '../specText.ts';

/**
 * The value is replaced where the key is written, else the key is added, else a scenario is. What `model` says itself
 * goes before what all models of the text share.
 */
export function scenarioEdit(
  { spec, source }: SpecText,
  key: string,
  value: string,
  model: string | undefined,
): TextEdit {
  const bodies: readonly SpecBody[] = [...spec.models.filter(({ name }) => name.text === model), spec];
  for (const body of bodies) {
    const written = body.scenarioSpans.get(key);
    if (written !== undefined) return { span: written, text: value };
  }
  const hasScenario = (body: SpecBody): boolean => body.sections.some((each) => each.key.text === 'scenario');
  const body = bodies.find(hasScenario) ?? spec;
  const section = body.sections.find((each) => each.key.text === 'scenario');
  if (section === undefined) {
    const gap = source === '' || source.endsWith('\n') ? '' : '\n';
    return {
      span: { start: source.length, end: source.length },
      text: `${gap}\nscenario: { ${key}: ${value} }\n`,
    };
  }
  const isFlow = /^\s*:\s*\{/.test(source.slice(section.key.span.end));
  const closing = isFlow ? source.lastIndexOf('}', section.span.end) : -1;
  if (closing > section.key.span.end) {
    const inside = source.slice(source.indexOf('{', section.key.span.end) + 1, closing);
    const at = closing - (/\s*$/.exec(inside)?.[0].length ?? 0);
    return {
      span: { start: at, end: closing },
      text: `${inside.trim() === '' ? ' ' : ', '}${key}: ${value} `,
    };
  }
  const [first] = [...body.scenarioKeySpans.values()];
  const lineStart = first === undefined ? -1 : source.lastIndexOf('\n', first.start) + 1;
  const indent = lineStart < 0 ? '  ' : (/^\s*/.exec(source.slice(lineStart))?.[0] ?? '  ');
  const { end } = section.span;
  return { span: { start: end, end }, text: `\n${indent}${key}: ${value}` };
}
