/** A layer that nothing reads goes, or becomes an output. */

import type { SpecBody } from '../../../formats/layer-spec/syntax.ts';
import { gainOf } from '../../fix.ts';
import { applyEdits, type TextEdit } from '../../textEdit.ts';
import { linesOf } from '../specLines.ts';
import { bodiesOf, type SpecText } from '../specText.ts';
import type { Change, Wrong } from './wrong.ts';

export function unreadFixes(wrong: Wrong): readonly Change[] {
  const { document, diagnostic, span, view, recost } = wrong;
  if (diagnostic.code !== 'spec/unread-layer') return [];
  const { source } = document;
  const name = nameAt(wrong);
  const removal: readonly TextEdit[] = [{ span: linesOf(source, span), text: '' }];
  const gain = gainOf(view.estimate.cost, recost(applyEdits(source, removal)).cost);
  const asOutput = outputEdit(document, span.start, name);
  return [
    { title: gain === '' ? `Remove \`${name}\`` : `Remove \`${name}\`: ${gain}`, edits: removal },
    ...(asOutput === undefined ? [] : [{ title: `Make \`${name}\` an output`, edits: [asOutput] }]),
  ];
}

const nameAt = ({ document, span }: Wrong): string =>
  document.source.slice(span.start, span.end).split(':')[0]?.trim() ?? '';

/** Adds the name to \`outputs\`, or an \`outputs\` after the layers; only for layers outside of blocks. */
function outputEdit({ spec, source }: SpecText, start: number, name: string): TextEdit | undefined {
  const body = bodiesOf(spec)
    .map((each): SpecBody => each.body)
    .find(({ layers }) => layers.some((layer) => layer.span.start === start));
  if (body === undefined) return undefined;
  const section = body.sections.find(({ key }) => key.text === 'outputs');
  if (section !== undefined) {
    const last = body.outputs.at(-1);
    const isList = last !== undefined && source.slice(section.key.span.end, last.span.start).includes('[');
    const end = last?.span.end ?? 0;
    return isList ? { span: { start: end, end }, text: `, ${name}` } : undefined;
  }
  const layers = body.sections.find(({ key }) => key.text === 'layers');
  const last = body.layers.at(-1);
  if (layers === undefined || last === undefined) return undefined;
  const { end } = linesOf(source, last.span);
  const lineStart = source.lastIndexOf('\n', layers.key.span.start - 1) + 1;
  const indent = source.slice(lineStart, layers.key.span.start);
  const gap = source.endsWith('\n') || end < source.length ? '' : '\n';
  return {
    span: { start: end, end },
    text: `${gap}${indent}outputs: [${last.name.text}, ${name}]\n`,
  };
}
