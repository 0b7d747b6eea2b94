/** What the operators of a step of eager PyTorch have in common, and one of them with its type. */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { KernelEnvironment } from '../../hardware/kernelEnvironment.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import type { BlockFormat } from '../../model/blockFormat.ts';
import type { Operator } from '../../model/graph.ts';
import type { Mode } from '../../model/scenario.ts';
import { type Bytes, bytes } from '../../model/units.ts';
import type { KnownCost, MemoryAccess } from '../../operators/definition.ts';
import type { LossCopy, OperatorType, TypeAssignment } from './autocast.ts';
import type { ViewStorage } from './viewStorage.ts';

export interface EagerStep extends ViewStorage {
  readonly training: TrainingGraph;
  readonly types: TypeAssignment;
  readonly mode: Mode;
  /** Activations that can be computed in place are. */
  readonly inPlace: boolean;
  readonly remembersCasts: boolean;
  /** Weights that are kept in few bits, by name. */
  readonly formats: ReadonlyMap<string, BlockFormat>;
  /** Losses of scores write over a copy of them. */
  readonly lossInPlace: LossCopy | undefined;
}

export interface TypedOperator {
  readonly operator: Operator;
  readonly cost: KnownCost;
  readonly type: OperatorType;
  readonly environment: KernelEnvironment;
}

/** Bytes per element that a value is stored with where it is float32 in the file. */
export const storedBytesPerElement = (
  { types, storage }: Pick<EagerStep, 'types' | 'storage'>,
  name: string,
): number => types.elementBytes.get(storage(name)) ?? 4;

export const bytesOf = (traffic: MemoryAccess, { bytesPerElement }: OperatorType): Bytes =>
  bytes(traffic.float32Elements * bytesPerElement + traffic.fixedBytes);

export const noKernels: readonly KernelWork[] = [];
