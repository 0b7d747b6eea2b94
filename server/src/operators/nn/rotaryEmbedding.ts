/** Rotary position embedding: pairs of elements of queries or keys turned by an angle that grows with position. */

import type { OperatorDefinition } from '../definition.ts';
import { rotaryMap } from '../dimensions/sequences.ts';
import { define } from '../vocabulary/define.ts';
import { elementwiseCost, inferLikeInput, readsNothing } from '../vocabulary/elementwise.ts';
import { savedInput } from '../vocabulary/work.ts';

/** ONNX Runtime has the positions as input 1, before the tables of cosines and sines. */
const versions = [
  ['', 23, 'ONNX Operators, RotaryEmbedding-23', [1, 2]],
  ['com.microsoft', 1, 'ONNX Runtime contrib operators, RotaryEmbedding-1', [2, 3]],
] as const;

export const rotaryEmbeddings: readonly OperatorDefinition[] = versions.map(
  ([domain, since, source, tables]) =>
    define({
      type: 'RotaryEmbedding',
      domain,
      since,
      documentation: `pairs of elements rotated by their position (${source})`,
      infer: (context) => inferLikeInput(context),
      dimensions: (context) => rotaryMap(context, domain === '' ? 3 : 1, domain === '' ? [1, 2] : [2, 3]),
      cost: (context) =>
        elementwiseCost(context, 3, (index) =>
          index === 0 ? { ...readsNothing(3), reads: tables.map(savedInput) } : undefined,
        ),
    }),
);
