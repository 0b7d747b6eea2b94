/** One model while it is lowered: what its lines become, and what is counted and kept on the way. */

import type { LayerCall, SpecLayer } from '../../formats/layer-spec/syntax.ts';
import type { LayerMarks } from '../../model/graph.ts';
import type { TextSpan } from '../../model/issue.ts';
import type { Home } from './blockTable.ts';
import { GraphBuilder } from './graphBuilder.ts';
import type { Tensor } from './layerDefinition.ts';
import type { RunCache } from './loweringCache.ts';
import type { IssueLog } from './reportOnce.ts';
import type { Scope } from './scope.ts';
import { GivenOutputs } from './unreadLayers.ts';

export class LoweringRun {
  readonly graph = new GraphBuilder();
  readonly given = new GivenOutputs();
  /** Open dimensions whose value was needed. */
  readonly pinned = new Set<string>();
  /** Calls so far. A block counts like a layer, so that empty ones end too. */
  callCount = 0;
  /** Whether it has been said that the model has too many layers. */
  saidTooLong = false;
  private recomputedCount = 0;

  constructor(
    /** The file of the model. */
    readonly home: Home,
    readonly memory: RunCache,
    readonly symbolDefaults: ReadonlyMap<string, number>,
    readonly log: IssueLog,
  ) {}

  /** A number that tells what one call recomputes from what others do. */
  nextRecomputed(): number {
    this.recomputedCount += 1;
    return this.recomputedCount - 1;
  }

  /** The layer whose nodes begin with number `start`. */
  addLayer(
    name: string,
    type: string,
    ancestors: readonly string[],
    start: number,
    span: TextSpan,
    marks: LayerMarks,
  ): void {
    const nodes = new Array<number>(this.graph.size - start);
    for (let index = 0; index < nodes.length; index += 1) nodes[index] = start + index;
    const marked = Object.keys(marks).length === 0 ? {} : { marks };
    this.graph.layers.push({ name, type, ancestors, nodes, span, ...marked });
  }
}

/** One line of a list of layers, where it stands and what feeds it. */
export interface Line {
  readonly layer: SpecLayer;
  readonly call: LayerCall;
  readonly scope: Scope;
  /** Path of the layer, such as `h[3].fc`. */
  readonly path: string;
  readonly ancestors: readonly string[];
  readonly marks: LayerMarks;
  /** The output of the line above. */
  readonly previous: Tensor | undefined;
  /** Outputs of the repetition before, which take the place of the first sources. */
  readonly carried: readonly Tensor[];
}
