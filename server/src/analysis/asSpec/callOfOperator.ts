/** An operator as the function of torch that is the same operator, else by its ONNX name. */

import { opset } from '../../lowering/layer-spec/graphBuilder.ts';
import { findLayer } from '../../lowering/layer-spec/layerDefinitions.ts';
import { isWeight, type Operator } from '../../model/graph.ts';
import { attributesOf } from '../../operators/attributes.ts';
import { definitionOf, findOperator } from '../../operators/registry.ts';
import { literalType } from '../../operators/vocabulary/literalType.ts';
import { callOfFunction } from './callOfFunction.ts';
import type { GraphFacts } from './graphFacts.ts';
import { literal, type SpecCall, type SpecInput, tensor } from './specCall.ts';
import { attributeText, contentText, numberText, tupleText } from './specValues.ts';

export function callOfOperator(operator: Operator, facts: GraphFacts): SpecCall {
  return arithmetic(operator, facts) ?? callOfFunction(operator, facts) ?? callByName(operator, facts);
}

/** Functions whose operands may be numbers. */
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

function arithmetic(operator: Operator, facts: GraphFacts): SpecCall | undefined {
  const { index, domain, type, inputs, outputs, attributes } = operator;
  const called = functions[type];
  if (called === undefined || domain !== '' || attributes.size > 0 || inputs.includes('')) return undefined;
  const given = inputs.map((_, at) => inputOfCall(operator, at, facts));
  const isScaled = given.every((input) => input.kind === 'tensor' || /^-?[\d.e+-]+$/.test(input.text));
  if (!isScaled || given.every(({ kind }) => kind === 'literal')) return undefined;
  return { callee: called, kind: 'function', inputs: given, settings: [], operators: [index], outputs };
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
  const { index, type, domain, outputs } = operator;
  const called = `${domain === '' ? '' : `${domain}.`}${type}`;
  const definition = findOperator('', type, opset);
  const inputs = operator.inputs.map((_, at) => inputOfCall(operator, at, facts));
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
          ? numberText(attribute.value)
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
    callee: isAmbiguous ? `onnx.${called}` : called,
    kind: 'function',
    inputs,
    settings,
    operators: [index],
    outputs,
    ...(problem === undefined ? {} : { problem }),
  };
}

/** What only told an old runtime how to run. */
const droppable: ReadonlySet<string> = new Set(['consumed_inputs', 'is_test', 'spatial']);
