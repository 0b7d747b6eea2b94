/** What nothing reads can go; what is named twice gets a name of its own. */

import type { TextSpan } from '../../../model/issue.ts';
import { renameLayerSpec } from '../renameLayerSpec.ts';
import { linesOf } from '../specLines.ts';
import { namesOfSpec } from '../specNames.ts';
import { blocksOf, bodiesOf, holds, type SpecText } from '../specText.ts';
import type { Change, Wrong } from './wrong.ts';

export function removalFixes({ document, diagnostic, span }: Wrong): readonly Change[] {
  if (diagnostic.message.includes('contains itself')) {
    return [{ title: 'Take the line out', edits: [{ span: linesOf(document.source, span), text: '' }] }];
  }
  if (diagnostic.code === 'spec/unused') return unused(document, span);
  return diagnostic.code === 'spec/duplicate-name' ? duplicate(document, span) : [];
}

function unused(document: SpecText, { start }: TextSpan): readonly Change[] {
  const { spec, source } = document;
  const block = blocksOf(spec).find(({ name }) => name.span.start === start);
  if (block !== undefined) {
    const whole = linesOf(source, block.span);
    const alone = bodiesOf(spec).find(({ body }) => body.blocks.length === 1 && body.blocks[0] === block);
    const section = alone?.body.sections.find(({ key }) => key.text === 'blocks');
    const span = section === undefined ? whole : linesOf(source, section.span);
    return [{ title: `Remove block \`${block.name.text}\``, edits: [{ span, text: '' }] }];
  }
  for (const { body } of bodiesOf(spec)) {
    const index = body.dims.findIndex(({ name }) => name.span.start === start);
    const dim = body.dims[index];
    if (dim === undefined) continue;
    const title = `Remove dim \`${dim.name.text}\``;
    const line = linesOf(source, { start, end: dim.value?.span.end ?? dim.name.span.end });
    const isAlone = /^\s*[^\s{]+\s*:[^{}]*$/.test(source.slice(line.start, line.end).trimEnd());
    if (isAlone && source.slice(line.start, start).trim() === '')
      return [{ title, edits: [{ span: line, text: '' }] }];
    const next = body.dims[index + 1];
    const before = body.dims[index - 1];
    const end = dim.value?.span.end ?? dim.name.span.end;
    const beforeEnd = before?.value?.span.end ?? before?.name.span.end;
    const span =
      next !== undefined
        ? { start, end: next.name.span.start }
        : beforeEnd === undefined
          ? undefined
          : { start: beforeEnd, end };
    return span === undefined ? [] : [{ title, edits: [{ span, text: '' }] }];
  }
  return [];
}

/** What comes after a name that is used again means the newer one, and follows it. */
function duplicate(document: SpecText, { start }: TextSpan): readonly Change[] {
  const names = namesOfSpec(document);
  const name = names.find(({ definitions }) => definitions.some((span) => holds(span, start)));
  if (name?.kind !== 'layer') return [];
  const taken = new Set(names.map(({ text }) => text));
  let number = 2;
  while (taken.has(`${name.text}_${number}`)) number += 1;
  const fresh = `${name.text}_${number}`;
  const outcome = renameLayerSpec(document, start, fresh);
  return outcome.kind === 'done' ? [{ title: `Rename to \`${fresh}\``, edits: outcome.result }] : [];
}
