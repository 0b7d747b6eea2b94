/** An operator as the function of torch that is the same operator, else by its ONNX name. */

import { opset } from '../../lowering/layer-spec/graphBuilder.ts';
import { findLayer } from '../../lowering/layer-spec/layerDefinitions.ts';
import { isKnownShape, isWeight, type Operator } from '../../model/graph.ts';
import { attributesOf } from '../../operators/attributes.ts';
import { definitionOf, findOperator } from '../../operators/registry.ts';
import { literalType } from '../../operators/vocabulary/literalType.ts';
import type { GraphFacts } from './graphFacts.ts';
import { literal, type SpecCall, type SpecInput, tensor } from './specCall.ts';
import { attributeText, contentText, sizeText, tupleText } from './specValues.ts';

export function callOfOperator(operator: Operator, facts: GraphFacts): SpecCall {
  return callOfFunction(operator, facts) ?? callByName(operator, facts);
}

const functions: Readonly<Record<string, string>> = {
  Add: 'add',
  Sub: 'sub',
  Mul: 'mul',
  Div: 'div',
  Pow: 'pow',
  MatMul: 'matmul',
  Abs: 'abs',
  Neg: 'neg',
  Exp: 'exp',
  Log: 'log',
  Sqrt: 'sqrt',
  Reciprocal: 'reciprocal',
  Sin: 'sin',
  Cos: 'cos',
  Erf: 'erf',
};

const modules: Readonly<Record<string, string>> = {
  Relu: 'ReLU',
  Sigmoid: 'Sigmoid',
  Tanh: 'Tanh',
  Softsign: 'Softsign',
  Identity: 'Identity',
};

const base = ({ index, outputs }: Operator): Pick<SpecCall, 'operators' | 'outputs'> => ({
  operators: [index],
  outputs,
});

const lists = (operator: Operator, name: string): readonly number[] | undefined => {
  const attribute = operator.attributes.get(name);
  return attribute?.kind === 'ints' ? attribute.value : undefined;
};

function callOfFunction(operator: Operator, facts: GraphFacts): SpecCall | undefined {
  if (operator.domain !== '' || operator.outputs.length !== 1) return undefined;
  const { type, inputs, attributes } = operator;
  const module = modules[type];
  if (module !== undefined && attributes.size === 0) {
    return { ...base(operator), callee: module, kind: 'module', inputs: inputs.map(tensor), settings: [] };
  }
  const called = functions[type];
  const isPlain = attributes.size === 0 && inputs.every((name) => name !== '');
  if (called !== undefined && isPlain) {
    const given = inputs.map((_, index) => inputOfCall(operator, index, facts));
    const isScaled = given.every((input) => input.kind === 'tensor' || /^-?[\d.e+-]+$/.test(input.text));
    if (isScaled && given.some(({ kind }) => kind === 'tensor')) {
      return { ...base(operator), callee: called, kind: 'function', inputs: given, settings: [] };
    }
    return undefined;
  }
  const [input = '', shape] = inputs;
  if (type === 'Concat') {
    const axis = attributes.get('axis');
    const given = inputs.map((_, index) => inputOfCall(operator, index, facts));
    if (axis?.kind !== 'int' || given.some(({ kind }) => kind === 'literal')) return undefined;
    return {
      ...base(operator),
      callee: 'cat',
      kind: 'function',
      inputs: given,
      settings: [`dim=${axis.value}`],
    };
  }
  if (type === 'Transpose') {
    const order = lists(operator, 'perm');
    if (order === undefined) return undefined;
    return {
      ...base(operator),
      callee: 'permute',
      kind: 'function',
      inputs: [tensor(input)],
      settings: order.map(String),
    };
  }
  if (type === 'Reshape' && shape !== undefined) {
    const to = facts.value(operator.outputs[0])?.type;
    if (to?.kind !== 'tensor' || !isKnownShape(to.shape) || to.shape.length === 0) return undefined;
    const sizes = to.shape.map(sizeText);
    const open = sizes.filter((size) => size === undefined).length;
    if (open > 1 || to.shape.includes(0)) return undefined;
    return {
      ...base(operator),
      callee: 'reshape',
      kind: 'function',
      inputs: [tensor(input)],
      settings: sizes.map((size) => size ?? '-1'),
    };
  }
  return undefined;
}

/** An input as a tensor, or as numbers where the spec would give them the same type. */
function inputOfCall(operator: Operator, index: number, facts: GraphFacts): SpecInput {
  const name = operator.inputs[index] ?? '';
  if (name === '') return literal('None');
  const value = facts.value(name);
  if (value === undefined || isWeight(value.role) || facts.graph.inputs.includes(name)) return tensor(name);
  const isComputed = value.producer !== undefined && !facts.isAuxiliary(value.producer);
  const text = isComputed ? undefined : contentText(value);
  if (text === undefined || text === '[]') return tensor(name);
  const beside = operator.inputs.flatMap((each, at) => {
    const other = facts.value(each);
    const isNumber =
      at === index || other === undefined || (contentText(other) !== undefined && other.role === 'constant');
    return isNumber || other.type.kind !== 'tensor' ? [] : [other.type.elementType];
  })[0];
  const needed = value.type.kind === 'tensor' ? value.type.elementType : undefined;
  return literalType(operator, index, beside) === needed ? literal(text) : tensor(name);
}

/** With its attributes, some of which older versions of an operator had where it has inputs now. */
function callByName(operator: Operator, facts: GraphFacts): SpecCall {
  const { type, domain } = operator;
  const called = `${domain === '' ? '' : `${domain}.`}${type}`;
  const definition = findOperator('', type, opset);
  const inputs = operator.inputs.map((_, index) => inputOfCall(operator, index, facts));
  const settings: string[] = [];
  let problem =
    domain !== '' || definition === undefined ? `${called} is no operator of a layer spec` : undefined;
  const declared = new Map(attributesOf('', type, opset).map((attribute) => [attribute.name, attribute]));
  for (const [name, attribute] of operator.attributes) {
    // What a new tensor is filled with costs nothing.
    if (
      type === 'ConstantOfShape' &&
      attribute.kind === 'tensor' &&
      attribute.value.elementType === 'float32'
    )
      continue;
    if (declared.has(name)) {
      const text = attributeText(name, attribute);
      if (text === undefined) problem ??= `the attribute ${name} of ${called} is a ${attribute.kind}`;
      else settings.push(text);
      continue;
    }
    const at = definitionOf({ domain: '', type })?.inputs.findIndex((input) => input.name === name) ?? -1;
    const text =
      attribute.kind === 'ints'
        ? tupleText(attribute.value)
        : attribute.kind === 'float' || attribute.kind === 'int'
          ? String(attribute.value)
          : undefined;
    if (at < 0 || text === undefined) {
      if (!droppable.has(name))
        problem ??= `${called} has the attribute ${name}, which its newest version lacks`;
      continue;
    }
    while (inputs.length < at) inputs.push(literal('None'));
    inputs[at] = literal(text);
  }
  // Layers of PyTorch have some of the names.
  const isAmbiguous = findLayer(called) !== undefined;
  return {
    ...base(operator),
    callee: isAmbiguous ? `onnx.${called}` : called,
    kind: 'function',
    inputs,
    settings,
    ...(problem === undefined ? {} : { problem }),
  };
}

/** What only told an old runtime how to run. */
const droppable: ReadonlySet<string> = new Set(['consumed_inputs', 'is_test', 'spatial']);
