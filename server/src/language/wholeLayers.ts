/** Layers of a file whose operators stand on several lines of a text, so that each line has a part of them. */

import type { ModelEstimate } from '../estimate/estimateModel.ts';
import type { LayerRow } from './modelView.ts';

/** The layer of the file that each layer of a text is of or a part of, by name. `text` has the same operators. */
export function wholeLayers(file: ModelEstimate, text: ModelEstimate): ReadonlyMap<string, string> {
  const ofOperator = new Map(
    (file.opened.analysis?.layers ?? []).flatMap(({ name, operators }) =>
      operators.map((operator) => [operator, name] as const),
    ),
  );
  return new Map(
    (text.opened.analysis?.layers ?? []).flatMap(({ name, operators: [first] }) => {
      const whole = first === undefined ? undefined : ofOperator.get(first);
      return whole === undefined ? [] : [[name, whole] as const];
    }),
  );
}

/** The layers of a line as reports name and count them: each once, however many parts of it stand there. */
export const layerNames = ({ wholes, layers }: LayerRow): readonly string[] =>
  wholes ?? layers.map(({ name }) => name);
