/**
 * What every operator costs: work of forward, of both kinds of gradients, and what backward keeps, of a few applications each.
 *
 * The numbers are those that the definitions gave when they were read against their sources; `costs.test.ts` derives some by
 * hand. A line that changes is a cost that changes: `--update` writes it, and the commit says why.
 */

import { expect, test } from 'vitest';
import { printDimension } from '../../server/src/model/dimension.ts';
import { isFloatingPoint } from '../../server/src/model/elementType.ts';
import { isKnownShape, type ValueType } from '../../server/src/model/graph.ts';
import { boundTensor, makeCostContext } from '../../server/src/operators/context.ts';
import type {
  BoundTensor,
  MemoryAccess,
  OperatorCost,
  OperatorDefinition,
  SavedTensor,
  Work,
} from '../../server/src/operators/definition.ts';
import { knownOperators } from '../../server/src/operators/registry.ts';
import { executedCases, usualCases } from './casesOfOperators.ts';
import { printType } from './check.ts';
import { type DimensionCase, inferenceOf } from './dimensionCases.ts';

/** Of each definition, as it was executed, and of the usual kinds of inputs; more are alike. */
const [mostExecuted, mostUsual] = [3, 1];

test('every operator costs what it did', async () => {
  const blocks = knownOperators().map((definition) => {
    const { domain, type, since } = definition;
    const fits = ({ inputs }: DimensionCase): boolean => takes(definition, inputs.length);
    const cases = [
      ...executedCases(definition).filter(fits).slice(0, mostExecuted),
      ...usualCases(definition).filter(fits).slice(0, mostUsual),
    ];
    return [`${domain === '' ? '' : `${domain}:`}${type}-${since}`, ...new Set(cases.map(caseText))];
  });
  await expect(`${blocks.map((lines) => lines.join('\n  ')).join('\n')}\n`).toMatchFileSnapshot(
    'everyCost.txt',
  );
});

const takes = ({ inputs }: OperatorDefinition, count: number): boolean =>
  count <= inputs.length || inputs.some(({ variadic }) => variadic === true);

/** `float32[2, 3], weight float32[3, 4] {transB: 1}: matmul; forward 48 FLOP, 22+0 B; …`. */
function caseText(given: DimensionCase): string {
  const inputs = given.inputs.map((type, index) =>
    type === undefined ? 'none' : `${roleText(given.definition, index)}${printType(type)}`,
  );
  const attributes = [...given.attributes].map(([name, attribute]) => `${name}=${attributeText(attribute)}`);
  const shown = [inputs.join(', '), ...(attributes.length === 0 ? [] : [`{${attributes.join(', ')}}`])];
  const [trained, inferred] = [true, false].map((training) => costText(costOf(given, training)));
  // The same forward says nothing new.
  const isOther = inferred !== undefined && trained?.startsWith(inferred) !== true;
  return `${shown.join(' ')}: ${trained}${isOther ? `; in inference ${inferred}` : ''}`;
}

const attributeText = (attribute: { readonly kind: string }): string =>
  'value' in attribute && (typeof attribute.value !== 'object' || Array.isArray(attribute.value))
    ? String(attribute.value)
    : attribute.kind;

/** What the gradient of an input is of; blank where none flows. */
function gradientOf({ inputs }: OperatorDefinition, type: ValueType | undefined, index: number) {
  const input = inputs[index] ?? inputs.findLast(({ variadic }) => variadic === true);
  if (input?.gradient !== true || type?.kind !== 'tensor' || !isFloatingPoint(type.elementType))
    return 'none';
  return input.role === 'weight' ? 'weight' : 'data';
}

const roleText = (definition: OperatorDefinition, index: number): string => {
  const role = definition.inputs[index]?.role ?? 'data';
  return role === 'data' ? '' : `${role} `;
};

/** In inference nothing has a gradient. */
function costOf(given: DimensionCase, training: boolean): OperatorCost {
  const inference = inferenceOf(given);
  return given.definition.cost(
    makeCostContext({
      opset: given.opset,
      inputs: given.inputs.map(bound),
      outputs: inference.outputs.slice(0, given.outputCount).map(bound),
      contents: given.contents.map((content) =>
        content?.elements.filter((element) => typeof element === 'number'),
      ),
      gradients: given.inputs.map((type, index) =>
        training ? gradientOf(given.definition, type, index) : 'none',
      ),
      training,
      attributes: given.attributes,
    }),
  );
}

const bound = (type: ValueType | undefined): BoundTensor | undefined =>
  type?.kind === 'tensor' && isKnownShape(type.shape) && type.shape.every((size) => typeof size === 'number')
    ? boundTensor(type.elementType, type.shape.map(Number))
    : undefined;

function costText(cost: OperatorCost): string {
  if (cost.kind === 'unknown') return `unknown: ${cost.reason}`;
  const { forward, backwardData, backwardWeight, saved } = cost;
  const passes = [
    ['forward', forward],
    ['data', backwardData],
    ['weight', backwardWeight],
  ] as const;
  const works = passes.flatMap(([name, work]) => (isNothing(work) ? [] : [`${name} ${workText(work)}`]));
  const kept = saved.length === 0 ? [] : [`keeps ${saved.map(savedText).join(', ')}`];
  return [cost.class, ...works, ...kept].join('; ');
}

const isNothing = (work: Work): boolean => workText(work) === '0+0, 0 kernels';

/** Bytes as elements of float32 + other bytes. */
function workText(work: Work): string {
  const { flops, operations, traffic, kernels, recomputedFlops, matmuls = [], attention, rowLength } = work;
  return [
    ...(flops === 0 ? [] : [`${number(flops)} FLOP`]),
    ...(recomputedFlops === undefined ? [] : [`${number(recomputedFlops)} again`]),
    ...(operations === 0 ? [] : [`${number(operations)} op`]),
    trafficText(traffic),
    ...(kernels === 1 ? [] : [`${kernels} kernels`]),
    ...matmuls.map(({ shape, count }) => `${count === 1 ? '' : `${number(count)} × `}${shapeText(shape)}`),
    ...(attention === undefined ? [] : [shapeText(attention)]),
    ...(rowLength === undefined ? [] : [`rows of ${number(rowLength)}`]),
  ].join(', ');
}

const trafficText = ({ float32Elements, fixedBytes }: MemoryAccess): string =>
  `${number(float32Elements)}+${number(fixedBytes)}`;

const shapeText = (shape: object): string =>
  `(${Object.entries(shape)
    .map(([name, value]) => `${name} ${typeof value === 'object' ? shapeText(value) : String(value)}`)
    .join(' ')})`;

const savedText = (saved: SavedTensor): string =>
  saved.kind === 'extra' ? `${saved.name} ${trafficText(saved.traffic)}` : `${saved.kind} ${saved.index}`;

const number = (value: number): string => printDimension(Number(value.toPrecision(9)));
