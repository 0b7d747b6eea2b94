/** The dimensions of a model that a scenario gives values, and what each usually is. */

import { symbolsOf } from '../model/dimension.ts';
import { isKnownShape } from '../model/graph.ts';
import type { ModelView } from './modelView.ts';

export interface DimensionChoice {
  readonly name: string;
  /** What holds; absent where the dimension has no value. */
  readonly value?: number;
  /** What such an axis usually is. */
  readonly proposal: number;
  /** `sequence`; '' where neither name nor place says. */
  readonly meaning: string;
}

/** Those without a value first, in order of appearance; nothing where the model has no symbolic dimension. */
export function dimensionChoices({ estimate }: ModelView): readonly DimensionChoice[] {
  const { opened, scenario, issues } = estimate;
  const unset = new Set(issues.flatMap((issue) => issue.unset ?? []));
  const symbols = opened.analysis?.symbols ?? [];
  return [...new Set([...unset, ...symbols.map(({ name }) => name)])].map((name) => {
    const value = unset.has(name) ? undefined : scenario?.dimensions[name];
    const { proposal, meaning } = usualSize(axisOf(name, estimate));
    const limit = symbols.find((symbol) => symbol.name === name)?.limit;
    return {
      name,
      ...(value === undefined ? {} : { value }),
      proposal: limit === undefined ? proposal : Math.min(proposal, limit),
      meaning,
    };
  });
}

/** Names without a value, where costs are unknown for it: a batch of 1 and sizes of a usual image are assumed. */
export const unsetDimensions = ({ estimate }: ModelView): readonly string[] => [
  ...new Set(
    estimate.issues.flatMap(({ unset = [], severity }) => (severity === 'information' ? [] : unset)),
  ),
];

/** Where a dimension stands: its name, and the first input that has it. */
interface Axis {
  readonly name: string;
  readonly isBatch: boolean;
  readonly input?: {
    readonly name: string;
    readonly index: number;
    readonly rank: number;
    readonly isInteger: boolean;
  };
}

type UsualSize = Pick<DimensionChoice, 'proposal' | 'meaning'>;

function axisOf(name: string, { opened }: ModelView['estimate']): Axis {
  const { analysis } = opened;
  const isBatch = analysis?.batchSymbol === name;
  for (const input of analysis?.graph.inputs ?? []) {
    const type = analysis?.graph.values.get(input)?.type;
    if (type?.kind !== 'tensor' || !isKnownShape(type.shape)) continue;
    const index = type.shape.findIndex((dimension) => symbolsOf(dimension).join() === name);
    if (index < 0) continue;
    const isInteger = /^u?int|^bool/.test(type.elementType);
    return { name, isBatch, input: { name: input, index, rank: type.shape.length, isInteger } };
  }
  return { name, isBatch };
}

/** By the name that exporters and people give an axis; the more particular before the more general. */
const byName: readonly (readonly [pattern: RegExp, meaning: string, proposal: number])[] = [
  [/past|cache|history/, 'past', 0],
  [/batch|^bsz?$|^n$|^num_?(images|samples)$/, 'batch', 8],
  [/channel|^c(_?in)?$/, 'channels', 3],
  [/class/, 'classes', 1000],
  [/head/, 'heads', 12],
  [/(beam|choice)/, 'choices', 4],
  [/roi|region|proposal|box/, 'regions', 300],
  [/frame|mel/, 'frames', 1000],
  [/sample|audio|wave/, 'samples', 16_000],
  [/seq|token|context|length|^(s|t|l|len)$|(^|_)len$/, 'sequence', 512],
  [/height|^h$|(^|_)rows$/, 'height', 224],
  [/width|^w$|(^|_)cols$/, 'width', 224],
  [/image|crop|resolution|side/, 'image', 224],
  [/depth|^d$/, 'depth', 32],
  [/feature/, 'features', 1024],
];

function usualSize({ name, isBatch, input }: Axis): UsualSize {
  const words = name.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();
  // The leading axis of the first input may be called anything; a past in its name is one all the same.
  if (isBatch && !/past/.test(words)) return { proposal: 8, meaning: 'batch' };
  const known = byName.find(([pattern]) => pattern.test(words));
  if (known !== undefined) return { meaning: known[1], proposal: known[2] };
  if (input === undefined) return { proposal: other, meaning: '' };
  const { index, rank, isInteger } = input;
  if (index === 0) return { proposal: 8, meaning: 'batch' };
  if (isInteger || rank === 3) return { proposal: 512, meaning: 'sequence' };
  if (rank >= 4 && index === 1) return { proposal: 3, meaning: 'channels' };
  if (rank === 4) return { proposal: 224, meaning: index === 2 ? 'height' : 'width' };
  return rank === 5 ? { proposal: 32, meaning: 'depth' } : { proposal: other, meaning: '' };
}

/** Of an axis that neither its name nor its place explains. */
const other = 64;
