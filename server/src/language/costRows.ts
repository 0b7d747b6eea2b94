/** What each line costs, for marks and for going to the dearest: a line that calls a block is left out, its layers are not. */

import { lineCost } from './lineCost.ts';
import { type ModelView, viewsOf } from './modelView.ts';
import { layerNames } from './wholeLayers.ts';

export interface CostRow {
  /** The model it is of, where the text holds several. */
  readonly model?: string;
  readonly name: string;
  readonly type: string;
  /** How many layers stand on the line. */
  readonly layers: number;
  readonly line: number;
  /** Seconds forward and backward. */
  readonly time: number;
  /** Bytes of saved activations, gradients and optimizer state. */
  readonly memory: number;
  /** Seconds of communication that nothing hides; `null` where that is unknown. */
  readonly exposed: number | null;
}

/** In order of lines; a line of unknown cost is not there. */
export const costRows = (view: ModelView): readonly CostRow[] =>
  viewsOf(view)
    .flatMap((each) =>
      each.rows.flatMap((row): readonly CostRow[] => {
        if (row.group) return [];
        const cost = lineCost(row);
        if (cost.unknown) return [];
        return [
          {
            ...(each.part === undefined ? {} : { model: each.part.name }),
            name: row.name,
            type: row.layers[0]?.type ?? '',
            layers: layerNames(row).length,
            line: row.line,
            time: cost.time.forward + cost.time.backward,
            memory: cost.saved + cost.gradient + cost.optimizerState,
            exposed: cost.time.exposed,
          },
        ];
      }),
    )
    .sort((left, right) => left.line - right.line);
