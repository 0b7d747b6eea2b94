/** The attributes of an ONNX operator that a spec calls by name, as keywords of the call. */

import type { Argument, LayerCall } from '../../formats/layer-spec/syntax.ts';
import type { TextSpan } from '../../model/issue.ts';
import { didYouMean } from '../../model/nearestName.ts';
import { attributesOf } from '../../operators/attributes.ts';
import { evaluate } from './evaluate.ts';
import { opset } from './graphBuilder.ts';
import { type NodeAttributes, printValue, type SpecValue } from './layerDefinition.ts';
import { numbersOf } from './layers/parameters.ts';
import { reportError, type Scope } from './scope.ts';

/**
 * Attributes by name, in the kinds the operator declares: `alpha=2` of a float attribute is a float. `undefined` where
 * one is unknown, missing or of another kind; issues say which.
 */
export function operatorAttributes(
  call: LayerCall,
  given: readonly Argument[],
  scope: Scope,
): NodeAttributes | undefined {
  const operator = call.callee.text;
  let right = true;
  const wrong = (message: string, span: TextSpan): void => {
    right = false;
    reportError(scope, 'spec/argument', message, span);
  };
  const declared = new Map(attributesOf('', operator, opset).map((attribute) => [attribute.name, attribute]));
  const attributes: Record<string, NodeAttributes[string]> = {};
  for (const { keyword, value, span } of given) {
    if (keyword === undefined) {
      wrong(`attributes of the ONNX operator ${operator} are given by name`, span);
      continue;
    }
    const kind = declared.get(keyword.text)?.kind;
    if (kind === undefined) {
      const others =
        declared.size === 0 ? '; it takes none' : `; it takes ${[...declared.keys()].join(', ')}`;
      wrong(
        `${operator} has no attribute \`${keyword.text}\`${didYouMean(keyword.text, declared.keys()) || others}`,
        keyword.span,
      );
      continue;
    }
    const evaluated = evaluate(value, scope.values, scope.report);
    if (evaluated === undefined) {
      right = false;
      continue;
    }
    const attribute = attributeOf(evaluated, kind);
    if (attribute === undefined) {
      wrong(
        `\`${keyword.text}\` takes ${kinds[kind] ?? `a ${kind}`}, not ${printValue(evaluated)}`,
        value.span,
      );
    } else attributes[keyword.text] = attribute;
  }
  for (const [name, { required }] of declared) {
    if (!required || given.some(({ keyword }) => keyword?.text === name)) continue;
    wrong(`${operator} needs the attribute \`${name}\``, call.callee.span);
  }
  return right ? attributes : undefined;
}

/** Kinds in words; those that are not here cannot be written in a spec. */
const kinds: Readonly<Record<string, string>> = {
  int: 'a whole number',
  float: 'a number',
  string: 'a text in quotes',
  ints: 'a tuple of whole numbers',
  floats: 'a tuple of numbers',
  strings: 'a tuple of texts',
};

function attributeOf(value: SpecValue, kind: string): NodeAttributes[string] | undefined {
  const items = Array.isArray(value) ? value : [value];
  const plain = items.map((item) => (typeof item === 'boolean' ? Number(item) : item));
  const numbers = numbersOf(plain);
  const allNumbers = numbers.length === items.length;
  const [first] = numbers;
  const single = allNumbers && !Array.isArray(value) ? first : undefined;
  switch (kind) {
    case 'int':
      return single !== undefined && Number.isInteger(single) ? { kind, value: single } : undefined;
    case 'float':
      return single === undefined ? undefined : { kind, value: single };
    case 'string':
      return typeof value === 'string' ? { kind, value } : undefined;
    case 'ints':
      return allNumbers && numbers.every(Number.isInteger) ? { kind, value: numbers } : undefined;
    case 'floats':
      return allNumbers ? { kind, value: numbers } : undefined;
    case 'strings': {
      const texts = items.filter((item) => typeof item === 'string');
      return texts.length === items.length ? { kind, value: texts } : undefined;
    }
    default:
      return undefined;
  }
}
