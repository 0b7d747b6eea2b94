/** Stored weights as the program has them, where an exporter has stored one as two, or several as one. */

import type { StoredGraph } from './expandFunctions.ts';
import { joinTiedWeights } from './joinTiedWeights.ts';
import { splitMergedWeights } from './splitMergedWeights.ts';

/** The graph with a weight for each parameter of the program; the same objects where nothing is to be done. */
export const restoreWeights = (stored: StoredGraph): StoredGraph =>
  joinTiedWeights(splitMergedWeights(stored));
