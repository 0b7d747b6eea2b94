/** Where the parts of an ONNX text are. */

import type { TextSpan } from '../../model/issue.ts';

/** What was read before an error is here too. */
export interface OnnxTextSpans {
  /** Of top-level node i. */
  readonly nodes: readonly NodeSpans[];
  /** Declarations of the model's inputs, outputs and initializers, by name. */
  readonly values: ReadonlyMap<string, TextSpan>;
  /** Parts that can be folded, in order. */
  readonly sections: readonly SectionSpan[];
}

export interface NodeSpans {
  /** From the name's bracket to the last parenthesis. */
  readonly whole: TextSpan;
  /** Inside the brackets; absent for a node without name. */
  readonly name?: TextSpan;
  readonly outputs: TextSpan;
  /** The operator with its domain. */
  readonly type: TextSpan;
}

export interface SectionSpan {
  readonly kind: 'header' | 'inputs' | 'outputs' | 'initializers' | 'nodes' | 'function';
  readonly span: TextSpan;
}
