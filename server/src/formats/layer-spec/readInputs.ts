/** Reads what a model is given: the names and types of its inputs, and the sizes they are made of. */

import { type ElementType, elementTypes } from '../../model/elementType.ts';
import { insertion } from '../../model/issue.ts';
import { didYouMean } from '../../model/nearestName.ts';
import { parseExpression } from './parseExpression.ts';
import { parseShape, parseTensorType, type TensorType } from './parseTensorType.ts';
import { nameOf, type SpecReading } from './specReading.ts';
import type { SpecDimension, SpecInput } from './syntax.ts';
import { isNothing, type YamlEntry, type YamlNode } from './yamlTree.ts';

export function readInputs(reading: SpecReading, entry: YamlEntry | undefined): readonly SpecInput[] {
  const inputs: SpecInput[] = [];
  for (const { key, value } of reading.mappingOf(entry, 'inputs')) {
    const name = nameOf(key);
    if (!reading.isIdentifier(name, 'an input')) continue;
    const form = 'an input has a type such as `float32[batch, 3, 224, 224]`';
    if (value === undefined) {
      reading.report('spec/structure', form, name.span);
      continue;
    }
    const type =
      value.kind === 'list'
        ? typeOfShape(reading, value, form)
        : reading.parsed(value, parseTensorType, form, 'spec/structure');
    if (type === undefined) continue;
    const { text, span } = type.elementType;
    const elementType = elementTypeOfName(text);
    if (elementType === undefined) {
      const message = `\`${text}\` is not an element type${didYouMean(text, elementTypes)}`;
      reading.report('spec/structure', message, span);
    }
    inputs.push({
      name,
      elementType: elementType ?? 'float32',
      elementTypeSpan: span,
      dimensions: type.dimensions,
    });
  }
  return inputs;
}

/** A shape without an element type, `[batch, 3, 224, 224]`: read as that of floats, and said. */
function typeOfShape(reading: SpecReading, value: YamlNode, form: string): TensorType | undefined {
  const { start, end } = value.span;
  reading.report('spec/structure', form, value.span, insertion('float32', start));
  const { result } = parseShape(reading.text, start, end);
  const elementType = { text: 'float32', span: { start, end: start } };
  return result === undefined ? undefined : { elementType, dimensions: result };
}

/** NumPy's and PyTorch's names: `float32`, `float`, `half`, `long`, … */
function elementTypeOfName(name: string): ElementType | undefined {
  const known = torchNames[name] ?? name;
  return elementTypes.find((type) => type === known && type !== 'undefined');
}

const torchNames: Readonly<Record<string, ElementType>> = {
  float: 'float32',
  double: 'float64',
  half: 'float16',
  long: 'int64',
  int: 'int32',
};

/** `d: 768`, `hidden: 4*d`, or `batch:` alone. */
export function readDims(reading: SpecReading, entry: YamlEntry | undefined): readonly SpecDimension[] {
  const dims: SpecDimension[] = [];
  for (const { key, value } of reading.mappingOf(entry, 'dims')) {
    const name = nameOf(key);
    if (!reading.isIdentifier(name, 'a dimension')) continue;
    if (value === undefined || isNothing(value)) dims.push({ name, value: undefined });
    else {
      const form = 'a dimension is a number or an expression such as `4*d`';
      dims.push({ name, value: reading.parsed(value, parseExpression, form, 'spec/dimension') });
    }
  }
  return dims;
}
