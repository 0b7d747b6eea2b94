/** Attributes of an operator by kind: what rules, patterns and printed layers read them with. */

import type { Attribute } from '../model/attribute.ts';
import type { Graph } from '../model/graph.ts';

/** Another kind than the one that is asked for reads as absent; an integer is a float and a list of one too. */
export interface AttributeReaders {
  attribute(name: string): Attribute<Graph> | undefined;
  int(name: string): number | undefined;
  int(name: string, otherwise: number): number;
  float(name: string): number | undefined;
  float(name: string, otherwise: number): number;
  string(name: string): string | undefined;
  string(name: string, otherwise: string): string;
  ints(name: string): readonly number[] | undefined;
}

export function attributeReaders(attributes: ReadonlyMap<string, Attribute<Graph>>): AttributeReaders {
  function int(name: string): number | undefined;
  function int(name: string, otherwise: number): number;
  function int(name: string, otherwise?: number): number | undefined {
    const attribute = attributes.get(name);
    return attribute?.kind === 'int' ? attribute.value : otherwise;
  }
  function float(name: string): number | undefined;
  function float(name: string, otherwise: number): number;
  function float(name: string, otherwise?: number): number | undefined {
    const attribute = attributes.get(name);
    return attribute?.kind === 'float' || attribute?.kind === 'int' ? attribute.value : otherwise;
  }
  function string(name: string): string | undefined;
  function string(name: string, otherwise: string): string;
  function string(name: string, otherwise?: string): string | undefined {
    const attribute = attributes.get(name);
    return attribute?.kind === 'string' ? attribute.value : otherwise;
  }
  return {
    attribute: (name) => attributes.get(name),
    int,
    float,
    string,
    ints: (name) => {
      const attribute = attributes.get(name);
      if (attribute?.kind === 'ints') return attribute.value;
      return attribute?.kind === 'int' ? [attribute.value] : undefined;
    },
  };
}
