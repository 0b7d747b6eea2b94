/**
 * The training graph as the kernels that `torch.compile` launches: those of libraries as in eager mode, all else fused.
 *
 * Dynamo and AOTAutograd give Inductor one graph of forward and one of backward (what depends on data breaks a graph
 * in two, which is not modelled). Matmuls, convolutions and attention stay calls of libraries (PyTorch 2.13,
 * torch/_inductor/kernel/{mm,conv}.py: without max-autotune only ATen's are taken, and nothing is fused with them);
 * the rest is decomposed to steps (`step.ts`) and fused (`fuse.ts`). Casts of autocast are element by element, and so
 * part of their neighbours; those of weights and of their gradients stand between libraries, and stay kernels.
 * What forward keeps: `keep.ts`.
 */

import type { TrainingGraph } from '../../../analysis/modelAnalysis.ts';
import type { KernelWork } from '../../../hardware/kernelWork.ts';
import type { Mode } from '../../../model/scenario.ts';
import { hasTrait } from '../../../operators/operatorFacts.ts';
import type { KeptTensor, LoweredOperator } from '../../behaviour.ts';
import { backwardSteps } from './backwardSteps.ts';
import { CompiledGraph, type EagerLowering, piece } from './compiledGraph.ts';
import { forwardSteps } from './forwardSteps.ts';
import { type FusedKernels, fuse } from './fuse.ts';
import { keptForBackward } from './keptForBackward.ts';

/** How images lie in memory, and whether the compiler put them so. */
export interface Images {
  readonly channelsLast: boolean;
  readonly copied: boolean;
}

export interface CompiledLowering {
  readonly operators: readonly (LoweredOperator | undefined)[];
  /** Launches of generated kernels. */
  readonly generated: { readonly forward: number; readonly backward: number };
}

/**
 * `copied`: images are put into channels-last memory, and so are the weights of convolutions, in each step. `compilesLoss`: else
 * a loss of scores runs eager behind the rest.
 */
export function lowerCompiled(
  training: TrainingGraph,
  eager: EagerLowering,
  mode: Mode,
  { channelsLast, copied }: Images,
  compilesLoss: boolean,
): CompiledLowering {
  const subject = new CompiledGraph(training, eager, channelsLast, compilesLoss);
  const kept = mode === 'training' ? keptForBackward(subject) : undefined;
  const outputs = new Set(training.analysis.graph.outputs.map(eager.storage));
  const wholes = new Set(
    training.analysis.graph.operators.flatMap((operator) =>
      hasTrait(operator, 'joins') ? operator.outputs.slice(0, 1) : [],
    ),
  );
  const forward = fuse(forwardSteps(subject, copied), {
    bytesOf: subject.bytesOf,
    isNeeded: (value) =>
      value.startsWith(piece) || wholes.has(value) || outputs.has(value) || kept?.values.has(value) === true,
  });
  const backward: FusedKernels =
    kept === undefined
      ? { kernels: new Map(), generated: 0 }
      : fuse(backwardSteps(subject, kept), {
          bytesOf: subject.bytesOf,
          isNeeded: (value) => value.startsWith(piece),
        });
  const operators = eager.operators.map((operator, index): LoweredOperator | undefined => {
    if (operator === undefined) return undefined;
    // Calls of libraries stay apart: schedules that part the two gradients, and what runs beside one of them, rest on it.
    const ofWeights = new Set(subject.kernelsOf(index, 'backwardWeight'));
    const behind = backward.kernels.get(index) ?? none;
    return {
      ...operator,
      forward: forward.kernels.get(index) ?? none,
      backwardData: behind.filter((kernel) => !ofWeights.has(kernel)),
      backwardWeight: behind.filter((kernel) => ofWeights.has(kernel)),
      ...(subject.isEagerLoss(training.analysis.graph.operators[index])
        ? {}
        : { gradientsAsStored: true as const }),
      saved: kept?.saved.get(index) ?? noTensors,
    };
  });
  return { operators, generated: { forward: forward.generated, backward: backward.generated } };
}

const none: readonly KernelWork[] = [];
const noTensors: readonly KeptTensor[] = [];
