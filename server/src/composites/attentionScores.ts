/** From a softmax up to the product of queries and keys. */

import type { Graph, Operator } from '../model/graph.ts';
import { axisBefore, sameShape, shapeOf } from './axis.ts';
import { producerOf, readersOf } from './flow.ts';
import { type MatrixProduct, matrixProduct } from './matrixProduct.ts';
import { casts, isScalar, views } from './walk.ts';

export interface Scores {
  /** The product first, then what lies between it and the softmax. */
  readonly operators: readonly Operator[];
  readonly product: Operator;
  readonly query: string;
  readonly key: string;
  /** What is added to the scores or chosen in their place, nearest to the softmax first. */
  readonly masks: readonly string[];
  /** They are multiplied or divided. */
  readonly isScaled: boolean;
  /** Something that no attention kernel does between the products: a cap, a limit, a temperature per head. */
  readonly isChanged: boolean;
  /** The scores that a column per head, a sink, is joined to: some kernels of attention take one. */
  readonly withoutSink: string | undefined;
  /** Something else reads them. */
  readonly isShared: boolean;
}

export function followScores(graph: Graph, softmax: Operator, axis: number): Scores | undefined {
  const path = pathToProduct(graph, softmax.inputs[0] ?? '', axis, 16);
  if (path === undefined) return undefined;
  const { product, steps } = path;
  const [before, behind] = [product.operator.outputs[0], softmax.inputs[0]].map((name) =>
    shapeOf(graph, name)?.slice(-2),
  );
  // Views that take the axis apart and put it together again leave it where it was.
  const at = path.axis ?? (sameShape(before, behind) ? axis : undefined);
  const from = at === undefined ? undefined : product.sourceOf(at);
  if (from === undefined) return undefined;
  const sink = steps.find((step) => isSink(graph, step));
  const operators = [
    product.operator,
    ...steps.flatMap(({ operator }) => [...largestOf(graph, operator), operator]),
  ];
  const members = new Set([...operators, softmax]);
  return {
    operators,
    product: product.operator,
    query: from === 'right' ? product.left : product.right,
    key: from === 'right' ? product.right : product.left,
    masks: steps.toReversed().flatMap(({ operator, through }) => masksOf(graph, operator, through)),
    isScaled: steps.some(
      ({ operator, through }) => scaling.has(operator.type) && !isUnit(graph, operator, through),
    ),
    isChanged: steps.some(
      (step) =>
        step !== sink &&
        (changing.has(step.operator.type) ||
          (scaling.has(step.operator.type) &&
            step.operator.inputs.some((input) => input !== step.through && !isScalar(graph, input)))),
    ),
    withoutSink: sink?.through,
    isShared: operators.some(({ outputs }) =>
      readersOf(graph, outputs[0]).some((reader) => !members.has(reader)),
    ),
  };
}

interface Step {
  readonly operator: Operator;
  /** The input that the scores come in by. */
  readonly through: string;
}

interface Path {
  readonly product: MatrixProduct;
  /** From the product down. */
  readonly steps: readonly Step[];
  /** The axis of the softmax in the result of the product; `undefined` where a view took it apart. */
  readonly axis: number | undefined;
}

function pathToProduct(graph: Graph, name: string, axis: number | undefined, hops: number): Path | undefined {
  const operator = producerOf(graph, name);
  if (operator === undefined || hops === 0) return undefined;
  const product = matrixProduct(graph, operator);
  if (product !== undefined) return { product, steps: [], axis };
  if (!views.has(operator.type) && !casts.has(operator.type) && !between.has(operator.type)) return undefined;
  const before = axis !== undefined && views.has(operator.type) ? axisBefore(graph, operator, axis) : axis;
  for (const input of scoreInputs(operator)) {
    const path = pathToProduct(graph, input, before, hops - 1);
    if (path !== undefined) return { ...path, steps: [...path.steps, { operator, through: input }] };
  }
  return undefined;
}

/** The inputs by which scores can come in. */
function scoreInputs({ type, inputs }: Operator): readonly string[] {
  if (type === 'Where') return inputs.slice(1, 3);
  if (
    type === 'Add' ||
    type === 'Mul' ||
    type === 'Sum' ||
    type === 'Max' ||
    type === 'Min' ||
    type === 'Concat'
  )
    return inputs;
  return inputs.slice(0, 1);
}

const scaling: ReadonlySet<string> = new Set(['Mul', 'Div']);
const changing: ReadonlySet<string> = new Set(['Clip', 'Concat', 'Max', 'Min', 'Tanh']);
const between: ReadonlySet<string> = new Set([...scaling, ...changing, 'Add', 'Sub', 'Sum', 'Where']);

/** `cat((scores, sinks), -1)`: one more key, of which only a score per head is known (Xiao et al., arXiv:2309.17453, section 3.2). */
function isSink(graph: Graph, { operator, through }: Step): boolean {
  const [scores, column] = operator.inputs;
  if (operator.type !== 'Concat' || operator.inputs.length !== 2 || scores !== through) return false;
  const [whole, own, joined] = [scores, column, operator.outputs[0]].map((name) => shapeOf(graph, name));
  const keys = whole?.length === undefined ? undefined : whole.length - 1;
  return (
    keys !== undefined &&
    own?.length === keys + 1 &&
    own[keys] === 1 &&
    sameShape(whole?.slice(0, keys), joined?.slice(0, keys))
  );
}

/** The largest score of each row, which is taken from all of them: every softmax does so by itself. */
function largestOf(graph: Graph, { type, inputs: [scores = '', taken = ''] }: Operator): readonly Operator[] {
  const largest = type === 'Sub' ? producerOf(graph, taken) : undefined;
  return largest?.type === 'ReduceMax' && largest.inputs[0] === scores ? [largest] : [];
}

/** What a step takes beside the scores that is not one number. */
function masksOf(graph: Graph, operator: Operator, through: string): readonly string[] {
  const { type, inputs } = operator;
  if (type === 'Where') return inputs.slice(0, 1);
  if (largestOf(graph, operator).length > 0) return [];
  if (type !== 'Add' && type !== 'Sub' && type !== 'Sum') return [];
  return inputs.filter((input) => input !== through && !isScalar(graph, input));
}

/** A product with 1, which changes nothing. */
function isUnit(graph: Graph, { inputs }: Operator, through: string): boolean {
  const factors = inputs.filter((input) => input !== through);
  return factors.length > 0 && factors.every((factor) => isScalar(graph, factor) && isOne(graph, factor));
}

export function isOne(graph: Graph, name: string): boolean {
  const content = graph.values.get(name)?.content;
  return (
    content !== undefined && content.elements.length > 0 && content.elements.every((element) => element === 1)
  );
}
