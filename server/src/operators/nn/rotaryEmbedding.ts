/** Rotary position embedding: pairs of elements of queries or keys turned by an angle that grows with position. */

import type { OperatorDefinition } from '../definition.ts';
import { rotaryMap } from '../dimensions/sequences.ts';
import { contribDomain, define } from '../vocabulary/define.ts';
import { elementwiseCost, inferLikeInput, readsNothing } from '../vocabulary/elementwise.ts';
import { data, detached, noRule } from '../vocabulary/facts.ts';
import { savedInput } from '../vocabulary/work.ts';

/** ONNX Runtime has the positions as input 1, before the tables of cosines and sines. */
const versions = [
  {
    domain: '',
    since: 23,
    source: 'ONNX Operators, RotaryEmbedding-23',
    inputs: [data('X'), detached('cos_cache'), detached('sin_cache'), detached('position_ids')],
    runner: { rule: 'RotaryEmbedding' },
    tables: [1, 2],
  },
  {
    domain: contribDomain,
    since: 1,
    source: 'ONNX Runtime contrib operators, RotaryEmbedding-1',
    inputs: [data('input'), detached('position_ids'), detached('cos_cache'), detached('sin_cache')],
    runner: noRule.onnxRuntime,
    tables: [2, 3],
  },
];

export const rotaryEmbeddings: readonly OperatorDefinition[] = versions.map(
  ({ domain, since, source, inputs, runner, tables }) =>
    define({
      type: 'RotaryEmbedding',
      domain,
      since,
      documentation: `pairs of elements rotated by their position (${source})`,
      inputs,
      pytorch: { layer: 'RotaryEmbedding', autocast: 'widest' },
      runner,
      infer: (context) => inferLikeInput(context),
      dimensions: (context) => rotaryMap(context, domain === '' ? 3 : 1, domain === '' ? [1, 2] : [2, 3]),
      cost: (context) => {
        // A layer spec may leave the tables out: angles then follow from the positions alone.
        const reads = tables.filter((index) => context.input(index) !== undefined).map(savedInput);
        return elementwiseCost(context, 3, (index) =>
          index === 0 ? { ...readsNothing(3), reads } : undefined,
        );
      },
    }),
);
