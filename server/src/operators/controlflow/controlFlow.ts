/** Operators with subgraphs. */

import { type Dimension, unknownDimension } from '../../model/dimension.ts';
import { isKnownShape, type ValueType } from '../../model/graph.ts';
import type {
  CostContext,
  Inference,
  InferenceContext,
  KnownCost,
  MemoryAccess,
  OperatorCost,
  OperatorDefinition,
  Work,
} from '../definition.ts';
import { unknownMap } from '../dimensionMap.ts';
import { scalarOf } from '../vocabulary/contents.ts';
import { define } from '../vocabulary/define.ts';
import { data, detached, noRule, variadic } from '../vocabulary/facts.ts';
import { invalid, unknownValue, whyUnknown } from '../vocabulary/types.ts';
import { unifyTypes, withoutLimit } from '../vocabulary/unify.ts';
import { unknownCost } from '../vocabulary/work.ts';
import { unknownCount } from './perIteration.ts';

const subgraphs = 'the dimensions are those of its subgraphs';

const conditional = define({
  type: 'If',
  documentation: 'one of two subgraphs; the cost is that of the dearer one (ONNX Operators, If-25)',
  inputs: [detached('cond')],
  pytorch: { layer: 'If', autocast: 'subgraph' },
  runner: noRule.subgraphs,
  infer: (context) => {
    const condition = scalarOf(context, 0);
    // A condition that is known decides: exporters leave such branches behind for static shapes.
    if (typeof condition === 'number') {
      const branch = condition === 0 ? 'else_branch' : 'then_branch';
      return { outputs: context.inferSubgraph(branch, []), contents: context.subgraphContents(branch) };
    }
    const yes = context.inferSubgraph('then_branch', []);
    const no = context.inferSubgraph('else_branch', []);
    return {
      outputs: yes.map((type, index) =>
        unifyTypes(type, no[index] ?? type, 'the branches of If give different shapes'),
      ),
    };
  },
  dimensions: () => unknownMap(subgraphs),
  cost: (context) => {
    const condition = context.inputContent(0)?.[0];
    const yes = context.subgraphCost('then_branch');
    const no = context.subgraphCost('else_branch');
    const taken = condition === undefined ? undefined : condition === 0 ? no : yes;
    if (taken !== undefined) return taken;
    if (yes === undefined || no === undefined) return unknownCost('the cost of a branch of If is unknown');
    return { ...dearer(yes, no), note: 'the dearer branch of If' };
  },
});

/** The one with more FLOPs, or with more traffic where neither has more. */
function dearer(left: KnownCost, right: KnownCost): KnownCost {
  if (left.forward.flops !== right.forward.flops)
    return left.forward.flops > right.forward.flops ? left : right;
  const bytes = (cost: KnownCost) =>
    4 * cost.forward.traffic.float32Elements + cost.forward.traffic.fixedBytes;
  return bytes(left) >= bytes(right) ? left : right;
}

const loop = define({
  type: 'Loop',
  documentation: 'a subgraph repeated a number of times or while a condition holds (ONNX Operators, Loop-25)',
  inputs: [detached('M'), detached('cond'), variadic(data('v_initial'))],
  pytorch: { layer: 'Loop', autocast: 'subgraph' },
  runner: noRule.subgraphs,
  infer: inferLoop,
  dimensions: () => unknownMap(subgraphs),
  cost: (context) => {
    const count = context.inputContent(0)?.[0];
    if (count !== undefined && count < endless) return repeated(context, count);
    return unknownCount(
      'how often the Loop runs is known only when the model runs',
      'one iteration',
      context.subgraphCost('body'),
    );
  },
});

/** `while` loops are exported with the largest trip count of 64 or 32 bits: their condition ends them. */
const endless = 2 ** 31 - 1;

const scan = define({
  type: 'Scan',
  since: 8,
  documentation: 'a subgraph applied along an axis, carrying state (ONNX Operators, Scan-25)',
  inputs: [variadic(data('initial_state_and_scan_inputs'))],
  pytorch: { layer: 'Scan', autocast: 'subgraph' },
  runner: noRule.subgraphs,
  infer: inferScan,
  dimensions: () => unknownMap(subgraphs),
  cost: (context) => {
    const scanned = context.input(context.inputCount - 1);
    const axes = context.ints('scan_input_axes') ?? [];
    const axis = context.opset < 9 ? 1 : (axes.at(-1) ?? 0);
    const count = scanned?.dimensions.at(axis);
    if (count !== undefined) return repeated(context, count);
    return unknownCount(
      'the length of the scanned axis is unknown',
      'one step',
      context.subgraphCost('body'),
    );
  },
});

export const controlFlowOperators: readonly OperatorDefinition[] = [conditional, loop, scan];

function repeated(context: CostContext, count: number): OperatorCost {
  const body = context.subgraphCost('body');
  if (body === undefined) return unknownCost('the cost of the body is unknown');
  const times = (work: Work): Work => ({
    flops: work.flops * count,
    ...(work.recomputedFlops === undefined ? {} : { recomputedFlops: work.recomputedFlops * count }),
    operations: work.operations * count,
    traffic: scaledTraffic(work.traffic, count),
    kernels: work.kernels * count,
    ...(work.matmuls === undefined
      ? {}
      : { matmuls: work.matmuls.map((matmul) => ({ ...matmul, count: matmul.count * count })) }),
    ...(work.rowLength === undefined ? {} : { rowLength: work.rowLength }),
  });
  return {
    ...body,
    forward: times(body.forward),
    backwardData: times(body.backwardData),
    backwardWeight: times(body.backwardWeight),
    // Every iteration keeps its own.
    saved: body.saved.map((tensor) =>
      tensor.kind !== 'extra' || tensor.fromAround
        ? tensor
        : { ...tensor, traffic: scaledTraffic(tensor.traffic, count) },
    ),
  };
}

const scaledTraffic = ({ float32Elements, fixedBytes }: MemoryAccess, count: number): MemoryAccess => ({
  float32Elements: float32Elements * count,
  fixedBytes: fixedBytes * count,
});

/** Loops of exporters over a few parts are followed iteration by iteration; longer ones are summed up. */
const mostIterations = 16;

function inferLoop(context: InferenceContext): Inference {
  const initial = Array.from(
    { length: Math.max(0, context.inputCount - 2) },
    (_, index) => context.inputType(index + 2) ?? unknownValue('an input of the Loop is missing'),
  );
  const count = scalarOf(context, 0);
  return typeof count === 'number' && count > 0 && count <= mostIterations
    ? inferUnrolled(context, initial, count)
    : inferStable(context, initial, count);
}

const counters: readonly ValueType[] = [
  { kind: 'tensor', elementType: 'int64', shape: [] },
  { kind: 'tensor', elementType: 'bool', shape: [] },
];

/** A small known trip count is taken to be reached: exporters write `for` over a list this way. */
function inferUnrolled(context: InferenceContext, initial: readonly ValueType[], count: number): Inference {
  let carried = initial;
  let scanned: readonly ValueType[] | undefined;
  for (let iteration = 0; iteration < count; iteration += 1) {
    const results = context.inferSubgraph(
      'body',
      [...counters, ...carried],
      [
        { shape: [], elements: [iteration] },
        { shape: [], elements: [1] },
      ],
    );
    const more = results.slice(1 + initial.length);
    carried = initial.map((type, index) => results[index + 1] ?? type);
    scanned = scanned?.map((type, index) => unifyTypes(type, more[index] ?? type, changing)) ?? more;
  }
  return { outputs: [...carried, ...(scanned ?? []).map((type) => stacked(type, count))] };
}

const changing = 'an iteration of the Loop changes it';

/**
 * Carried values must hold for every iteration: what the body changes of them is unknown, and the body is
 * inferred again with that.
 */
function inferStable(
  context: InferenceContext,
  initial: readonly ValueType[],
  count: Dimension | undefined,
): Inference {
  const first = context.inferSubgraph('body', [...counters, ...initial]);
  const stable = initial.map((type, index) =>
    unifyTypes(type, first[index + 1] ?? type, changing, withoutLimit),
  );
  const again = context.inferSubgraph('body', [...counters, ...stable]);
  const times = count ?? unknownDimension(whyUnknown(context, 0));
  return {
    outputs: [
      ...stable.map((type, index) => unifyTypes(type, again[index + 1] ?? type, changing, withoutLimit)),
      ...again.slice(1 + initial.length).map((type) => stacked(type, times)),
    ],
  };
}

function stacked(type: ValueType, count: Dimension): ValueType {
  if (type.kind !== 'tensor' || !isKnownShape(type.shape)) return type;
  return { ...type, shape: [count, ...type.shape] };
}

/** Since version 9 the scanned axes are given; version 8 has a leading batch axis and sequence lengths. */
function inferScan(context: InferenceContext): Inference {
  const scanned = context.int('num_scan_inputs', 1);
  const skipped = context.opset < 9 ? 1 : 0;
  const states = context.inputCount - skipped - scanned;
  if (scanned < 1 || states < 0)
    return invalid(`num_scan_inputs ${scanned} does not fit the ${context.inputCount - skipped} inputs`);
  if (states > context.outputCount)
    return invalid(`${states} states come in, but only ${context.outputCount} values come out`);
  const types = Array.from(
    { length: context.inputCount - skipped },
    (_, index) => context.inputType(index + skipped) ?? unknownValue('an input of the Scan is missing'),
  );
  const axes = context.ints('scan_input_axes') ?? [];
  let length: Dimension = unknownDimension('the length of the scanned axis is unknown');
  const batch = types[0]?.kind === 'tensor' && isKnownShape(types[0].shape) ? types[0].shape[0] : undefined;
  const bodyInputs = types.map((type, index): ValueType => {
    if (type.kind !== 'tensor' || !isKnownShape(type.shape)) return type;
    const { shape } = type;
    const inner = skipped === 1 ? shape.slice(1) : shape;
    if (index < states) return { ...type, shape: inner };
    const axis = axisOf(axes[index - states] ?? 0, inner.length);
    length = inner[axis] ?? length;
    return { ...type, shape: inner.filter((_, position) => position !== axis) };
  });
  const results = context.inferSubgraph('body', bodyInputs);
  const outputAxes = context.ints('scan_output_axes') ?? [];
  return {
    outputs: results.map((type, index): ValueType => {
      if (type.kind !== 'tensor' || !isKnownShape(type.shape)) return type;
      const lead = skipped === 1 && batch !== undefined ? [batch] : [];
      if (index < states) return { ...type, shape: [...lead, ...type.shape] };
      const axis = axisOf(outputAxes[index - states] ?? 0, type.shape.length + 1);
      return { ...type, shape: [...lead, ...type.shape.slice(0, axis), length, ...type.shape.slice(axis)] };
    }),
  };
}

const axisOf = (axis: number, rank: number): number => (axis < 0 ? axis + rank : axis);
