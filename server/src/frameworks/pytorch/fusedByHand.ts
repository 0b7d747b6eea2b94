/**
 * Operators that Megatron-LM runs in one kernel where PyTorch launches several: what lies between them is neither written nor read.
 *
 * Scale, mask and softmax of scores (`masked_softmax_fusion`), dropout with the residual that is added (`bias_dropout_fusion`), and
 * an activation with the gate that it is multiplied by (`bias_swiglu_fusion`), which keeps what goes into the activation alone. They
 * are on by default (NVIDIA/Megatron-LM, megatron/core/fusions/, megatron/training/arguments.py). A bias needs no pass of its own in PyTorch either.
 */

import type { TrainingGraph } from '../../analysis/modelAnalysis.ts';
import type { KernelWork } from '../../hardware/kernelWork.ts';
import type { Operator } from '../../model/graph.ts';
import { bytes } from '../../model/units.ts';
import type { LoweredOperator } from '../behaviour.ts';

type Lowered = readonly (LoweredOperator | undefined)[];

/** `operators` are those of eager PyTorch, before anything is computed again. */
export function fuseByHand(training: TrainingGraph, operators: Lowered): Lowered {
  const fused = [...operators];
  // From the end, so that a link knows what backward comes from.
  for (let index = operators.length - 1; index >= 0; index -= 1) {
    const link = linkFrom(training, index);
    if (link === undefined) continue;
    const [first, next] = [fused[index], fused[link.next.index]];
    if (first === undefined || next === undefined) continue;
    const size = link.elements * first.bytesPerElement;
    const from = fused[link.backwardFrom.index];
    const comesFromKernel = from !== undefined && isLaunched(from.backwardData);
    const isGate = link.kind === 'gate';
    fused[link.next.index] = {
      ...next,
      forward: lighter(next.forward, size, true),
      ...(isGate ? { saved: next.saved.filter(({ key }) => !key.startsWith(`${link.value}:`)) } : {}),
    };
    fused[index] = { ...first, forward: lighter(first.forward, size, false) };
    const own = fused[index];
    const last = fused[link.backwardFrom.index];
    if (!comesFromKernel || own === undefined || last === undefined || !isLaunched(own.backwardData))
      continue;
    // A gate computes its activation again in registers, and reads it no more.
    fused[link.backwardFrom.index] = {
      ...last,
      backwardData: lighter(last.backwardData, isGate ? 2 * size : size, false),
    };
    fused[index] = { ...own, backwardData: lighter(own.backwardData, size, true) };
  }
  return fused;
}

interface Link {
  readonly kind: 'scores' | 'residual' | 'gate';
  /** Between both. */
  readonly value: string;
  readonly elements: number;
  readonly next: Operator;
  /** The operator of the kernel whose backward gives the gradient of the value: an addition hands it on. */
  readonly backwardFrom: Operator;
}

/** To the only reader of what an operator gives, where one kernel computes both. */
function linkFrom(training: TrainingGraph, index: number): Link | undefined {
  const { analysis, tensors } = training;
  const { operators, values, outputs } = analysis.graph;
  const operator = operators[index];
  const readerOf = (each: Operator | undefined): Operator | undefined => {
    const [name = ''] = each?.outputs ?? [];
    const [reader, another] = values.get(name)?.consumers ?? [];
    return another === undefined && reader !== undefined && !outputs.includes(name)
      ? operators[reader]
      : undefined;
  };
  const next = readerOf(operator);
  const [value = ''] = operator?.outputs ?? [];
  const elements = tensors.get(value)?.elements;
  if (operator === undefined || next === undefined || elements === undefined) return undefined;
  const link = { value, elements, next };
  if (operator.type === 'Dropout' && next.type === 'Add' && isOfSize(training, next, elements))
    return { ...link, kind: 'residual', backwardFrom: next };
  const composite = analysis.composites.get(index);
  const isWritten = composite?.kind === 'silu' || composite?.kind === 'gelu';
  const isActivation = operator.type === 'Gelu' || (isWritten && composite.operators.at(-1) === index);
  if (isActivation && next.type === 'Mul') return { ...link, kind: 'gate', backwardFrom: next };
  if (next.type === 'Softmax' && isOnScores(operator)) return { ...link, kind: 'scores', backwardFrom: next };
  const masked = isMask(next) ? readerOf(next) : undefined;
  return isScale(operator) && masked?.type === 'Softmax'
    ? { ...link, kind: 'scores', backwardFrom: masked }
    : undefined;
}

const isScale = ({ type }: Operator): boolean => type === 'Mul' || type === 'Div';
const isMask = ({ type }: Operator): boolean => type === 'Add' || type === 'Where';
const isOnScores = (operator: Operator): boolean => isScale(operator) || isMask(operator);

/** A residual and not a bias. */
const isOfSize = ({ tensors }: TrainingGraph, { inputs }: Operator, elements: number): boolean =>
  inputs.every((name) => tensors.get(name)?.elements === elements);

const isLaunched = (kernels: readonly KernelWork[]): boolean => kernels.length > 0;

/** Without so many bytes of its largest kernel; `joins`: it is part of another's launch. */
function lighter(kernels: readonly KernelWork[], size: number, joins: boolean): readonly KernelWork[] {
  const largest = kernels.reduce<KernelWork | undefined>(
    (most, each) => (most === undefined || each.bytes > most.bytes ? each : most),
    undefined,
  );
  return kernels.map((kernel) =>
    kernel !== largest
      ? kernel
      : {
          ...kernel,
          bytes: bytes(Math.max(0, kernel.bytes - size)),
          launches: Math.max(0, kernel.launches - (joins ? 1 : 0)),
        },
  );
}
