/** Words for parameters that many layers share, so that a table of layers reads like the signatures it stands for. */

import type { ParameterDefinition, SpecValue } from '../layerDefinition.ts';

type More = Partial<Omit<ParameterDefinition, 'name' | 'type' | 'documentation'>>;

const of =
  (type: ParameterDefinition['type']) =>
  (name: string, documentation: string, more: More = {}): ParameterDefinition => ({
    name,
    type,
    documentation,
    ...more,
  });

export const integer = of('integer');
export const integers = of('integers');
export const number = of('number');
export const string = of('string');
export const anything = of('any');
export const dimensions = of('dimensions');

/** A size that follows from the input: it may be left out, and is checked where it is given. */
export const followingSize = (name: string, documentation: string): ParameterDefinition =>
  integer(name, documentation, { follows: true, least: 1 });

export const flag = (name: string, standard: boolean, documentation: string, more: More = {}) =>
  of('boolean')(name, documentation, { default: standard, ...more });

export const choice = (name: string, choices: readonly string[], standard: string, documentation: string) =>
  string(name, documentation, { default: standard, choices });

export const inplace = flag('inplace', false, 'Does not change the cost here.');

/** Name of a layer whose weight is used instead of an own one. */
export const tiedWeight = of('layer')(
  'weight',
  'Layer whose weight is used instead of an own one (weight tying).',
  {
    default: null,
    beyond: true,
  },
);

/** The axis a negative index counts from the end, or `undefined` where the input has none such. */
export function axisAt(index: number, rank: number): number | undefined {
  if (!Number.isInteger(index) || index < -rank || index >= rank) return undefined;
  return index < 0 ? index + rank : index;
}

/** A value as a list: one that is no tuple is its only item. */
export const listOf = (value: SpecValue): readonly SpecValue[] => (Array.isArray(value) ? value : [value]);

/** The numbers of a value that is one or a tuple of them. */
export const numbersOf = (value: SpecValue): readonly number[] =>
  listOf(value).filter((item) => typeof item === 'number');
