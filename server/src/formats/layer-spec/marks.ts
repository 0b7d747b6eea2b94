/** The marks of a layer: words after its call that change how it is trained, not what it computes. */

import { precisions } from '../../model/scenario.ts';

export interface MarkDefinition {
  readonly name: string;
  /** What stands after `=`; absent for a mark that is a word alone. */
  readonly values?: readonly string[];
  /** One line for completion and the reference. */
  readonly documentation: string;
}

/** Every mark; on a call of a block it holds for all layers inside, where a layer's own mark wins. */
export const markDefinitions: readonly MarkDefinition[] = [
  {
    name: 'frozen',
    documentation:
      'Its parameters are frozen: no gradients, no optimizer state, no communication. Gradients still flow through it to trained layers above.',
  },
  {
    name: 'recompute',
    documentation: 'Activation checkpointing: backward recomputes the activations inside from its inputs.',
  },
  {
    name: 'precision',
    values: precisions,
    documentation: 'The precision of this layer; overrides the precision of the scenario.',
  },
];

export const findMark = (name: string): MarkDefinition | undefined =>
  markDefinitions.find((mark) => mark.name === name);

/** The words that may stand behind a call. */
export const wordsBehindCall: readonly string[] = [...markDefinitions.map(({ name }) => name), 'from'];
