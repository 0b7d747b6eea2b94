/** One Caffe net while it is lowered: what its layers become, and what is said on the way. */

import { type CaffeLayer, type CaffeNet, numbersOf } from '../../formats/caffe/syntax.ts';
import type { Dimension } from '../../model/dimension.ts';
import type { Issue, TextSpan } from '../../model/issue.ts';
import type { IssueCode } from '../../model/issueCodes.ts';
import { lazy } from '../../model/lazy.ts';
import { GraphBuilder } from '../layer-spec/graphBuilder.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';
import type { NetInPhase } from './netState.ts';

interface SharedWeight {
  readonly tensor: Tensor;
  readonly dimensions: readonly number[];
}

export class CaffeRun {
  readonly graph = new GraphBuilder();
  readonly issues: Issue[] = [];
  /** By name: what was last written to a blob. */
  readonly blobs = new Map<string, Tensor>();
  /** Names of blobs that the host makes, whose shape their reader knows. */
  readonly shapelessBlobs = new Set<string>();
  /** Blobs nothing has read yet. */
  readonly unread = new Map<string, Tensor>();
  /** By name: parameters that layers share. */
  readonly sharedWeights = new Map<string, SharedWeight>();
  /** Sizes of data that the net leaves open: those that were given, and those that were not. */
  readonly usedSizes = new Map<string, number>();
  readonly missingSizes = new Set<string>();
  /** Why layers are of unknown cost, where more is known than that they could not be read. */
  readonly reasons = new Map<CaffeLayer, string>();
  /** Shapes of the tops of layers of unknown cost, where they are known. */
  readonly statedShapes = new Map<CaffeLayer, readonly (readonly Dimension[] | undefined)[]>();
  /** By node. */
  readonly nodeSpans: TextSpan[] = [];
  /** Tensors that training makes small. */
  readonly objectives: Tensor[] = [];
  hasObjective = false;
  /** What the net says of the batch. */
  batch: number | undefined;
  /** Blobs that the layers of this phase, and those of all phases, write; found when the first is missed. */
  readonly topsOfPhase = lazy(() => topsOf(this.state.layers));
  readonly topsOfNet = lazy(() => topsOf(this.net.layers));

  /** Whether the net is opened for training, and has a loss. */
  readonly isTraining = lazy(
    () =>
      this.state.phase === 'TRAIN' &&
      this.state.layers.some(
        ({ type, fields }) =>
          /loss/i.test(type) || numbersOf(fields, 'loss_weight').some((weight) => weight !== 0),
      ),
  );

  constructor(
    readonly net: CaffeNet,
    readonly state: NetInPhase,
    /** Sizes that a person gives. */
    readonly dimensions: ReadonlyMap<string, number>,
  ) {}

  report(
    code: IssueCode,
    message: string,
    span: TextSpan | undefined,
    severity: Issue['severity'] = 'error',
    unset?: readonly string[],
  ): undefined {
    this.issues.push({
      code,
      severity,
      message,
      ...(span === undefined ? {} : { span }),
      ...(unset === undefined ? {} : { unset }),
    });
  }
}

const topsOf = (layers: readonly CaffeLayer[]): ReadonlySet<string> =>
  new Set(layers.flatMap(({ tops }) => tops.map(({ text }) => text)));
