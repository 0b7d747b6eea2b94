/** Where the size of a layer is written: as a dim, or as a number in its arguments. */

import { selectModel } from '../../../formats/layer-spec/selectModel.ts';
import type { Expression } from '../../../formats/layer-spec/syntax.ts';
import type { Diagnostic } from '../../diagnostics.ts';
import type { TextEdit } from '../../textEdit.ts';
import { positionAt } from '../../textLines.ts';
import { dimensionValues } from '../dimensionValues.ts';
import { calledLayers, type SpecText } from '../specText.ts';

export interface SizeChange {
  /** `vocab 50304`, or `50304`. */
  readonly what: string;
  readonly edits: readonly TextEdit[];
}

/** Makes the size `from` of the layer that a diagnostic is about `to`; `undefined` where it is not written as one number. */
export function sizeEdits(
  document: SpecText,
  { range, model }: Pick<Diagnostic, 'range' | 'model'>,
  from: number,
  to: number,
): SizeChange | undefined {
  const { spec, text } = document;
  const placed = calledLayers(spec).find(
    ({ layer }) => positionAt(text, layer.span.start).line === range.start.line,
  );
  const values = dimensionValues(spec, {}, model);
  for (const { value } of placed?.call.arguments ?? []) {
    for (const part of partsOf(value)) {
      if (part.kind === 'number' && part.value === from) {
        return { what: String(to), edits: [{ span: part.span, text: String(to) }] };
      }
      if (part.kind !== 'name' || values.get(part.name) !== from) continue;
      const dim = (selectModel(spec, model) ?? spec).dims.find(({ name }) => name.text === part.name);
      if (dim?.value?.kind !== 'number') continue;
      return { what: `${part.name} ${to}`, edits: [{ span: dim.value.span, text: String(to) }] };
    }
  }
  return undefined;
}

const partsOf = (value: Expression): readonly Expression[] =>
  value.kind === 'tuple' ? value.items.flatMap(partsOf) : [value];
