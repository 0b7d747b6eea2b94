/** The shape of what flows into the line at the cursor, as it was last costed. */

import { type Dimension, unknownDimension } from '../../../model/dimension.ts';
import { rowAtLine } from '../../modelView.ts';
import { positionAt } from '../../textLines.ts';
import { inputsAt, layersAt } from '../visibleNames.ts';
import { dimensionValuesAt, type ProposalSite } from './proposalSite.ts';

/** Shape of the output of the layer above, or of the first input of the model. */
export function inputShape(site: ProposalSite): readonly Dimension[] | undefined {
  const { document, context } = site;
  const { spec, text } = document;
  const above = layersAt(spec, context).findLast(({ span }) => span.start < context.lineStart);
  if (above !== undefined) return shapeOfLine(site, positionAt(text, above.span.start).line);
  const [input] = inputsAt(spec, context);
  if (context.block !== undefined || input === undefined) return undefined;
  const values = dimensionValuesAt(site);
  return input.dimensions.map((size) => {
    if (size.kind === 'number') return size.value;
    const value = size.kind === 'name' ? values.get(size.name) : undefined;
    return value ?? unknownDimension('the spec gives it no value');
  });
}

/** The size that a parameter such as `in_features` must have: channels are the second axis, features the last. */
export function followedSize(site: ProposalSite, name: string): number | undefined {
  const shape = inputShape(site);
  const size = /channels|^num_features$/.test(name) ? shape?.[1] : shape?.at(-1);
  return typeof size === 'number' && size > 0 ? size : undefined;
}

/** Shape of what a line gives. */
export function shapeOfLine({ view }: ProposalSite, line: number): readonly Dimension[] | undefined {
  return view && (rowAtLine(view, line)?.layers.at(-1)?.output.shape ?? undefined);
}
