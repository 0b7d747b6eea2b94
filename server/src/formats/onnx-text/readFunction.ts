/** Reads a function of a model: what it is called by, its attributes, and its nodes. */

import type { Attribute } from '../../model/attribute.ts';
import type { OnnxFunction, OnnxGraph, OnnxValueInfo } from '../onnx/syntax.ts';
import { readAttributeValue } from './readAttributes.ts';
import { functionKeys, readHeader } from './readHeader.ts';
import { readNodes } from './readNodes.ts';
import { readValueInfo } from './readValueInfo.ts';
import type { TextCursor } from './textCursor.ts';
import type { TextReading } from './textReading.ts';

const hint = 'a function is written `<domain: "d", opset_import: ["" : 21]> f <a> (x) => (y) { nodes }`';

export function readFunction(reading: TextReading): OnnxFunction {
  const { cursor } = reading;
  cursor.hint = hint;
  const header = readHeader(cursor, functionKeys);
  const name = cursor.name('the name of a function');
  const attributes: string[] = [];
  const defaults = new Map<string, Attribute<OnnxGraph>>();
  if (cursor.matches('<')) {
    do {
      const attribute = cursor.name('the name of an attribute');
      const next = cursor.peek();
      if (next === ':' || next === '=') defaults.set(attribute, readAttributeValue(reading));
      else attributes.push(attribute);
    } while (cursor.matches(','));
    cursor.expect('>');
  }
  const valueInfos: OnnxValueInfo[] = [];
  const inputs = readValues(cursor, valueInfos);
  cursor.expect('=>');
  const outputs = readValues(cursor, valueInfos);
  if (cursor.matches('<') && !cursor.matches('>')) {
    do valueInfos.push(readValueInfo(cursor).info);
    while (cursor.matches(','));
    cursor.expect('>');
  }
  return {
    name,
    domain: header.texts.get('domain') ?? '',
    overload: header.texts.get('overload') ?? '',
    inputs,
    outputs,
    attributes,
    defaults,
    operatorSets: header.operatorSets,
    nodes: readNodes(reading),
    valueInfos,
  };
}

/** Names with or without types; a type goes to `valueInfos`. */
function readValues(cursor: TextCursor, valueInfos: OnnxValueInfo[]): readonly string[] {
  const names: string[] = [];
  cursor.expect('(');
  if (cursor.matches(')')) return names;
  do {
    const { info } = readValueInfo(cursor);
    names.push(info.name);
    if (info.type !== undefined) valueInfos.push(info);
  } while (cursor.matches(','));
  cursor.expect(')');
  return names;
}
