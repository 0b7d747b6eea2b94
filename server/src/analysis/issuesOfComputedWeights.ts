/**
 * What is said where constant folding has computed tensors from parameters: a position embedding cut to the length of the
 * example, a bias table spread by its index, a kernel that weight normalization makes of a direction and a length (Salimans and
 * Kingma, arXiv 1602.07868). How many elements the parameters have is then not in the file.
 */

import { elementCount } from '../formats/onnx/payload.ts';
import { isFloatingPoint } from '../model/elementType.ts';
import { formatCount } from '../model/format.ts';
import { type Graph, isKnownShape } from '../model/graph.ts';
import type { Issue } from '../model/issue.ts';
import { isAnonymousTensor, isArithmeticName, isLookUpName, isProductName } from '../model/tensorNames.ts';
import { totalElements } from '../model/totalElements.ts';
import type { Use } from './findRoles.ts';
import type { Parameter } from './modelAnalysis.ts';
import { isSpreadTable } from './spreadTables.ts';

export function issuesOfComputedWeights(
  graph: Graph,
  parameters: readonly Parameter[],
  uses: ReadonlyMap<string, Use>,
): readonly Issue[] {
  const computed = parameters.flatMap(({ name }): readonly Computed[] => {
    const value = graph.values.get(name);
    const { foldedFrom = [], parameter, parameters: joined, mayRepeat } = value?.literal?.origin ?? {};
    // Filters that are scaled for each sample were scaled by a constant before.
    const use = uses.get(name);
    if (isFoldedByTorchScript(name) && use?.feedsFilter === true && !use.asWeight)
      return [{ name, source: name }];
    const isSpread = value !== undefined && isSpreadTable(graph, value);
    if (isSpread || (use?.asWeight === false && isAddedTable(graph, name))) return [{ name, source: name }];
    const source = parameter ?? joined?.[0] ?? foldedFrom.find((candidate) => candidate.includes('.'));
    const isComputed =
      joined !== undefined ||
      mayRepeat === true ||
      [...foldedFrom, name].some((each) => isLookUpName(each) || isArithmeticName(each));
    return source !== undefined && isComputed ? [{ name, source }] : [];
  });
  const kernels = computedKernels(graph, new Set(parameters.map(({ name }) => name)));
  const all = [...computed, ...kernels];
  const [first] = all;
  if (first === undefined)
    return [...issuesOfFoldedProducts(graph), ...issuesOfFoldedTables(graph, parameters, uses)];
  const others = all.length === 1 ? '' : `, and ${all.length - 1} more like it`;
  const option =
    kernels.includes(first) || isAnonymousTensor(first.source)
      ? 'do_constant_folding=False'
      : 'optimize=False';
  const what =
    first.source === first.name
      ? `Constant folding computed \`${first.name}\` from a parameter`
      : `Constant folding replaced \`${first.source}\` by what was computed from it`;
  const message = `${what}${others}: parameters are counted as the file stores them, and the time of computing it in each step is left out. Export with \`${option}\` to have both`;
  return [{ code: 'graph/computed-weights', severity: 'information', message, value: first.name }];
}

/** Products of stored tensors that are not trained are work of each step too: the first pass of a fixed point that starts at zero. */
function issuesOfFoldedProducts({ values }: Graph): readonly Issue[] {
  const [first] = [...values.values()].filter(
    ({ name, literal, consumers }) => literal !== undefined && consumers.length > 0 && isProductName(name),
  );
  if (first === undefined) return [];
  const message = `Constant folding computed the product \`${first.name}\` beforehand: the time of computing it in each step is left out. Export with \`optimize=False\` to have it`;
  return [{ code: 'graph/computed-weights', severity: 'information', message, value: first.name }];
}

/**
 * Tables that the TorchScript exporter folded, of what the program stores. A parameter may be behind one that a gradient reaches:
 * a grid of features is as wide as a table of positions.
 */
function issuesOfFoldedTables(
  graph: Graph,
  parameters: readonly Parameter[],
  uses: ReadonlyMap<string, Use>,
): readonly Issue[] {
  const trained = new Set(parameters.map(({ name }) => name));
  const tables = [...graph.values.values()].flatMap((value) => {
    const { name, literal, type } = value;
    const isReached = uses.get(name)?.differentiable === true && !trained.has(name);
    if (literal === undefined || !isReached || !isFoldedByTorchScript(name)) return [];
    if (type.kind !== 'tensor' || !isFloatingPoint(type.elementType)) return [];
    return [{ name, elements: elementCount(literal) }];
  });
  const [first] = tables.toSorted((one, other) => other.elements - one.elements);
  const all = totalElements(tables);
  const known = totalElements(parameters);
  if (first === undefined || all < leastShare * known) return [];
  const others = tables.length === 1 ? '' : ` and ${tables.length - 1} more`;
  const message = `Constant folding computed \`${first.name}\`${others} from what the program stores. Their ${formatCount(all)} elements are costed as tables, without gradients. If parameters are behind them, export with \`do_constant_folding=False\``;
  return [{ code: 'graph/computed-weights', severity: 'information', message, value: first.name }];
}

/**
 * Whether it is added alone, as positions are, and has more than one axis: a table that the TorchScript exporter cut or looked up.
 * What a program adds as it is keeps its name.
 */
function isAddedTable({ operators, values }: Graph, name: string): boolean {
  const value = values.get(name);
  if (value?.type.kind !== 'tensor' || !isFoldedByTorchScript(name) || !isKnownShape(value.type.shape))
    return false;
  const isTable = value.type.shape.filter((size) => size !== 1).length > 1;
  return isTable && value.consumers.every((index) => operators[index]?.type === 'Add');
}

const isFoldedByTorchScript = (name: string): boolean => /^onnx::[A-Z]\w*_\d+$/.test(name);

/** Of the parameters; below, a mistake changes no figure that is shown. */
const leastShare = 0.01;

interface Computed {
  readonly name: string;
  readonly source: string;
}

/**
 * Kernels that the TorchScript exporter folded: it names them itself, and their bias as the program does. Where it folded a
 * normalization into a convolution, it has named both.
 */
function computedKernels({ operators, values }: Graph, parameters: ReadonlySet<string>): readonly Computed[] {
  return operators.flatMap(({ type, inputs }) => {
    if (type !== 'Conv' && type !== 'ConvTranspose') return [];
    const [, name = '', bias = ''] = inputs;
    if (!parameters.has(name) || values.get(name)?.literal === undefined) return [];
    const isFolded = isAnonymousTensor(name) && parameters.has(bias) && /\.bias$/.test(bias);
    return isFolded ? [{ name, source: bias.replace(/bias$/, 'weight') }] : [];
  });
}
