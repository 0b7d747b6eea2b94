/**
 * Views of a program and writes into them: `x[:, 1:] = y` slices `x` and writes into the slice, and whoever reads `x`
 * afterwards reads `y` too.
 *
 * A write into a view becomes a new tensor in place of the one that is viewed, as `torch.func.functionalize` rewrites it
 * (`slice_scatter` for `slice`, `select_scatter` for `select`, the view's inverse for others; PyTorch 2.13,
 * aten/src/ATen/FunctionalInverses.cpp).
 */

import type { AtenArgument, AtenNode, TensorMeta } from '../../formats/pt2/syntax.ts';

const prefix = 'torch.ops.aten.';

/** A tensor that shares its elements with another one. */
export interface View {
  readonly node: AtenNode;
  /** Which of the results of the node it is. */
  readonly index: number;
  /** The name of what it views. */
  readonly base: string;
}

/** `undefined` for what has elements of its own. */
export function viewOf(node: AtenNode, index: number): View | undefined {
  const name = nameOf(node);
  const self = node.arguments.get('self') ?? node.arguments.get('input');
  if (self?.kind !== 'tensor') return undefined;
  return isInPlace(node) || inverses.has(name) ? { node, index, base: self.name } : undefined;
}

/** Such as `add_`, or `__ior__` for `|=`: it writes into its first operand, and gives that. */
export const isInPlace = ({ target }: AtenNode): boolean =>
  /^torch\.ops\.aten\.(?:[a-z]\w*_|__i\w+__)\./.test(target);

/**
 * The call that gives what is viewed after `written` took the place of the view; `undefined` where none is known. The write
 * happens in the modules and on the line of `at`.
 */
export function writeBack(
  { node, index, base }: View,
  written: string,
  at: AtenNode,
  metas: ReadonlyMap<string, TensorMeta>,
): AtenNode | undefined {
  const inverse = isInPlace(node) ? same : inverses.get(nameOf(node))?.(node, index, metas);
  if (inverse === undefined) return undefined;
  const { target, given = {} } = inverse;
  const scatter = /scatter/.test(target);
  const operands: Readonly<Record<string, AtenArgument>> = scatter
    ? { self: tensor(base), src: tensor(written) }
    : { self: tensor(written) };
  return {
    target: prefix + target,
    arguments: new Map(Object.entries({ ...operands, ...given })),
    outputs: [base],
    modules: at.modules,
    stackTrace: at.stackTrace,
  };
}

interface Inverse {
  readonly target: string;
  readonly given?: Readonly<Record<string, AtenArgument>> | undefined;
}

type Invert = (node: AtenNode, index: number, metas: ReadonlyMap<string, TensorMeta>) => Inverse | undefined;

const nameOf = ({ target }: AtenNode): string =>
  target.startsWith(prefix) ? target.slice(prefix.length) : target;
const tensor = (name: string): AtenArgument => ({ kind: 'tensor', name });
const number = (value: number): AtenArgument => ({ kind: 'number', value });
const numberOf = ({ arguments: given }: AtenNode, name: string): number | undefined => {
  const found = given.get(name);
  return found?.kind === 'number' ? found.value : undefined;
};
/** Those of these arguments that the view was called with. */
const taken = ({ arguments: given }: AtenNode, names: readonly string[]): Inverse['given'] =>
  Object.fromEntries(
    names.flatMap((name) => {
      const found = given.get(name);
      return found === undefined ? [] : [[name, found] as const];
    }),
  );

const same: Inverse = { target: 'alias.default' };
const reshaped: Invert = () => ({ target: 'view.default' });
const swapped =
  (...axes: readonly string[]): Invert =>
  (node) => ({ target: nameOf(node), given: taken(node, axes) });

const permuted: Invert = (node) => {
  const dims = node.arguments.get('dims');
  if (dims?.kind !== 'numbers') return undefined;
  const rank = dims.values.length;
  const order = dims.values.map((axis) => (axis < 0 ? axis + rank : axis));
  const values = order.map((_, axis) => order.indexOf(axis));
  return { target: 'permute.default', given: { dims: { kind: 'numbers', values } } };
};

const range = (node: AtenNode, start: number, length: number): Inverse => ({
  target: 'slice_scatter.default',
  given: { ...taken(node, ['dim']), start: number(start), end: number(start + length) },
});

const narrowed: Invert = (node) => {
  const [start, length] = [numberOf(node, 'start'), numberOf(node, 'length')];
  return start === undefined || length === undefined ? undefined : range(node, start, length);
};

/** One of several parts of an axis: those before it say where it begins. Its default is the first axis. */
const part: Invert = (node, index, metas) => {
  const axis = node.arguments.has('dim') ? numberOf(node, 'dim') : 0;
  let start = 0;
  for (const [at, output] of node.outputs.entries()) {
    const length = axis === undefined ? undefined : metas.get(output)?.shape.at(axis);
    if (typeof length !== 'number') return undefined;
    if (at === index) return range(node, start, length);
    start += length;
  }
  return undefined;
};

const inverses: ReadonlyMap<string, Invert> = new Map<string, Invert>([
  [
    'slice.Tensor',
    (node) => ({ target: 'slice_scatter.default', given: taken(node, ['dim', 'start', 'end', 'step']) }),
  ],
  ['select.int', (node) => ({ target: 'select_scatter.default', given: taken(node, ['dim', 'index']) })],
  ['narrow.default', narrowed],
  [
    'unbind.int',
    (node, index) => ({
      target: 'select_scatter.default',
      given: { ...taken(node, ['dim']), index: number(index) },
    }),
  ],
  ...[
    'split.Tensor',
    'split.sizes',
    'split_with_sizes.default',
    'chunk.default',
    'tensor_split.sections',
    'tensor_split.indices',
  ].map((name): [string, Invert] => [name, part]),
  ['transpose.int', swapped('dim0', 'dim1')],
  ['swapdims.default', swapped('dim0', 'dim1')],
  ['swapaxes.default', swapped('axis0', 'axis1')],
  ...['t.default', 'numpy_T.default', 'mT.default', 'mH.default', 'adjoint.default'].map(
    (name): [string, Invert] => [name, swapped()],
  ),
  ['permute.default', permuted],
  ...[
    'view.default',
    'reshape.default',
    'flatten.using_ints',
    'unflatten.int',
    'view_as.default',
    'reshape_as.default',
  ].map((name): [string, Invert] => [name, reshaped]),
  ...[
    'unsqueeze.default',
    'squeeze.dim',
    'squeeze.dims',
    'squeeze.default',
    '_unsafe_view.default',
    'ravel.default',
  ].map((name): [string, Invert] => [name, reshaped]),
  ['alias.default', () => same],
  // A write into these is not followed.
  ...[
    'diagonal.default',
    'expand.default',
    'unfold.default',
    'as_strided.default',
    'real.default',
    'imag.default',
  ].map((name): [string, Invert] => [name, () => undefined]),
  ...['view_as_real.default', 'view_as_complex.default', 'view.dtype'].map((name): [string, Invert] => [
    name,
    () => undefined,
  ]),
]);
