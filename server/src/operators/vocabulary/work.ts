/** Work and costs, made short: traffic of tensors, kernels, and what backward saves. */

import { bitsPerElement } from '../../model/elementType.ts';
import type {
  AttentionShape,
  BoundTensor,
  ConvolutionShape,
  CostContext,
  KernelClass,
  KnownCost,
  MatmulShape,
  MemoryAccess,
  RepeatedMatmul,
  SavedTensor,
  UnknownCost,
  Work,
} from '../definition.ts';
import { noTraffic, noWork } from '../definition.ts';
import { largestContent } from './contents.ts';

/** Elements of float32 follow the scenario's precision; every other type moves its own width. */
export function trafficOf(...tensors: readonly (BoundTensor | undefined)[]): MemoryAccess {
  return addTraffic(
    ...tensors.map((tensor) =>
      tensor === undefined ? noTraffic : trafficOfElements(tensor, tensor.elements),
    ),
  );
}

/** Memory access of `count` elements of the type of `tensor`. A string moves as its pointer, 8 bytes. */
export function trafficOfElements(tensor: BoundTensor, count: number): MemoryAccess {
  if (tensor.elementType === 'float32') return { float32Elements: count, fixedBytes: 0 };
  return {
    float32Elements: 0,
    fixedBytes: Math.ceil((count * (bitsPerElement(tensor.elementType) ?? 64)) / 8),
  };
}

export const float32Traffic = (count: number): MemoryAccess => ({ float32Elements: count, fixedBytes: 0 });

export const byteTraffic = (count: number): MemoryAccess => ({ float32Elements: 0, fixedBytes: count });

export function addTraffic(...parts: readonly MemoryAccess[]): MemoryAccess {
  let float32Elements = 0;
  let fixedBytes = 0;
  for (const part of parts) {
    float32Elements += part.float32Elements;
    fixedBytes += part.fixedBytes;
  }
  return { float32Elements, fixedBytes };
}

/** One kernel unless said otherwise. */
export function work(parts: {
  readonly flops?: number;
  readonly recomputedFlops?: number;
  readonly operations?: number;
  readonly traffic: MemoryAccess;
  readonly kernels?: number;
  readonly matmul?: MatmulShape | ConvolutionShape;
  /** Where there are several. */
  readonly matmuls?: readonly RepeatedMatmul[];
  readonly attention?: AttentionShape;
  readonly rowLength?: number;
}): Work {
  const { flops = 0, operations = 0, kernels = 1, traffic } = parts;
  const matmuls = parts.matmul === undefined ? (parts.matmuls ?? []) : [{ shape: parts.matmul, count: 1 }];
  return {
    flops,
    operations,
    traffic,
    kernels,
    ...(parts.recomputedFlops === undefined ? {} : { recomputedFlops: parts.recomputedFlops }),
    ...(matmuls.length === 0 ? {} : { matmuls }),
    ...(parts.attention === undefined ? {} : { attention: parts.attention }),
    ...(parts.rowLength === undefined ? {} : { rowLength: parts.rowLength }),
  };
}

export function addWork(...parts: readonly Work[]): Work {
  const [only] = parts;
  if (only === undefined) return noWork;
  if (parts.length === 1) return only;
  const matmuls = parts.flatMap((part) => part.matmuls ?? []);
  const rowLength = parts.find((part) => part.rowLength !== undefined)?.rowLength;
  const multiplying = parts.filter((part) => part.flops > 0);
  const attention = multiplying.length === 1 ? multiplying[0]?.attention : undefined;
  const recomputedFlops = sum(parts, ({ recomputedFlops = 0 }) => recomputedFlops);
  return {
    flops: sum(parts, (part) => part.flops),
    ...(recomputedFlops === 0 ? {} : { recomputedFlops }),
    operations: sum(parts, (part) => part.operations),
    traffic: addTraffic(...parts.map(({ traffic }) => traffic)),
    kernels: sum(parts, (part) => part.kernels),
    ...(matmuls.length === 0 ? {} : { matmuls }),
    ...(attention === undefined ? {} : { attention }),
    ...(rowLength === undefined ? {} : { rowLength }),
  };
}

const sum = (parts: readonly Work[], amount: (part: Work) => number): number =>
  parts.reduce((total, part) => total + amount(part), 0);

export function cost(
  kernelClass: KernelClass,
  forward: Work,
  rest?: { readonly data?: Work; readonly weight?: Work; readonly saved?: readonly SavedTensor[] },
): KnownCost {
  return {
    kind: 'known',
    class: kernelClass,
    forward,
    backwardData: rest?.data ?? noWork,
    backwardWeight: rest?.weight ?? noWork,
    saved: rest?.saved ?? [],
  };
}

export const unknownCost = (reason: string): UnknownCost => ({ kind: 'unknown', reason });

/** Nothing runs on the GPU: arithmetic on shapes, or values that need no computing. */
export const shapeCost: KnownCost = cost('shape', noWork);

/** The cost of an operator whose input or output shape could not be bound. */
export const unknownShapeCost: UnknownCost = unknownCost(
  'the shape of an input or output is known only when the model runs',
);

export const savedInput = (index: number): SavedTensor => ({ kind: 'input', index });
export const savedOutput = (index: number): SavedTensor => ({ kind: 'output', index });

/** Which inputs are activations, and which parameters, that receive a gradient. */
function gradientInputs(context: CostContext): readonly number[] {
  return Array.from({ length: context.inputCount }, (_, index) => index).filter(
    (index) => context.gradient(index) !== 'none',
  );
}

export const needsGradient = (context: CostContext): boolean => gradientInputs(context).length > 0;

/** Backward work of each input, sorted into gradients of activations and of parameters. */
export function backwardOf(
  context: CostContext,
  workOf: (index: number) => Work,
): { readonly data: Work; readonly weight: Work } {
  const inputs = gradientInputs(context);
  const part = (kind: 'data' | 'weight'): Work =>
    addWork(...inputs.filter((index) => context.gradient(index) === kind).map(workOf));
  return { data: part('data'), weight: part('weight') };
}

/**
 * Whether this is arithmetic on shapes: every input is known before the model runs and the result is small.
 * Frameworks compute such values on the host, and exporters fold them.
 */
export function isShapeArithmetic(context: CostContext): boolean {
  for (let index = 0; index < context.inputCount; index += 1) {
    if (context.hasInput(index) && context.inputContent(index) === undefined) return false;
  }
  const output = context.output(0);
  return output !== undefined && output.elements <= largestContent && context.inputCount > 0;
}
