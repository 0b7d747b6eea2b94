/** What is known while a program is lowered, and what has been made of it so far. */

import type { AtenNode, TensorMeta } from '../../formats/pt2/syntax.ts';
import type { Dimension } from '../../model/dimension.ts';
import type { Issue } from '../../model/issue.ts';
import type { GraphBuilder } from '../layer-spec/graphBuilder.ts';
import type { ProvidedCall } from '../providedStructure.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { MissingOperand } from './programIssues.ts';

export interface AtenLowering {
  readonly checkpoints: Checkpoints;
  readonly graph: GraphBuilder;
  readonly shapeOf: (meta: TensorMeta) => readonly Dimension[];
  readonly isDecomposed: boolean;
  /** Results that take the place of parameters. */
  readonly mutated: ReadonlySet<string>;
  /** By path, in the order in which they begin. */
  readonly layers: Map<string, ModuleNodes>;
  /** By node, the call that it is a part of. */
  readonly calls: Map<number, ProvidedCall>;
  readonly missing: MissingOperand[];
  /** Calls that write into a view of which no inverse is known. */
  readonly lost: AtenNode[];
  /** What is assumed of loops and branches. */
  readonly told: Issue[];
}

/** A layer, and the nodes that its calls became. */
export interface ModuleNodes {
  readonly type: string;
  readonly ancestors: readonly string[];
  readonly nodes: number[];
  /** The call of `checkpoint` that runs it. */
  readonly group: number | undefined;
  /** As fused attention among its calls is given it (`dropout_p`). */
  attentionDropout?: number;
}
