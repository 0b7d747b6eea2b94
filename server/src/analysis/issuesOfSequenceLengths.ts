/** What is said where recurrent layers are given the lengths of their sequences, which only a step knows. */

import { formatCount } from '../model/format.ts';
import type { Graph } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import { definitionOf } from '../operators/registry.ts';

/** PyTorch computes no padding of packed sequences; the file has the padded tensor, and all its steps are costed. */
export function issuesOfSequenceLengths({ operators, values }: Graph): readonly Issue[] {
  const given = operators.flatMap((operator) => {
    const at = definitionOf(operator)?.inputs.findIndex(({ name }) => name === 'sequence_lens') ?? -1;
    const lengths = operator.inputs[at];
    if (operator.type === 'ReverseSequence' || lengths === undefined || lengths === '') return [];
    // Stored lengths are those of every step: where all are of the longest, nothing is padded.
    const stored = values.get(lengths)?.content?.elements;
    return stored === undefined || new Set(stored.map(Number)).size > 1 ? [operator] : [];
  });
  const [first] = given;
  if (first === undefined) return [];
  const name = first.name || (first.outputs[0] ?? '');
  const others = given.length === 1 ? '' : ` and ${formatCount(given.length - 1)} more`;
  return [
    {
      code: 'graph/sequence-lengths',
      severity: 'information',
      message: `${first.type} \`${name}\`${others} ${given.length === 1 ? 'reads' : 'read'} the length of each sequence. All are costed at full length, as if nothing were padded: FLOPs, time and memory are upper bounds`,
    },
  ];
}
