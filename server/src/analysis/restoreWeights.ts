/** Stored weights as the program has them, where an exporter has stored one as two, several as one, or what it looked up. */

import type { StoredGraph } from './expandFunctions.ts';
import { joinFurtherCalls } from './joinFurtherCalls.ts';
import { joinRecurrentWeights } from './joinRecurrentWeights.ts';
import { joinTiedWeights } from './joinTiedWeights.ts';
import { restoreTables } from './restoreTables.ts';
import { splitMergedParts } from './splitMergedParts.ts';
import { splitMergedViews } from './splitMergedViews.ts';
import { splitMergedWeights } from './splitMergedWeights.ts';

/** The graph with a weight for each parameter of the program; the same objects where nothing is to be done. */
export const restoreWeights = (stored: StoredGraph): StoredGraph =>
  restoreTables(
    joinTiedWeights(
      joinFurtherCalls(splitMergedWeights(splitMergedParts(splitMergedViews(joinRecurrentWeights(stored))))),
    ),
  );
