/** What the script of a report's page says to the extension. A page is text from elsewhere: what it says is read, not believed. */

import type { ScenarioChange } from '../../server/src/protocol.ts';

export type PanelMessage =
  | { readonly kind: 'ready' }
  /** A click on a layer. */
  | { readonly kind: 'open'; readonly layer: string }
  /** Another scenario, to look at: its totals, or the whole page. */
  | { readonly kind: 'try'; readonly change: ScenarioChange; readonly whole: boolean }
  /** A picture of a chart, to be kept in a file: PNG in base64. */
  | { readonly kind: 'save'; readonly name: string; readonly data: string }
  /** To write down. */
  | { readonly kind: 'keep'; readonly change: ScenarioChange };

/** Anything else is as if the page had been loaded. */
export function readPanelMessage(message: unknown): PanelMessage {
  const given = recordOf(message);
  switch (given.kind) {
    case 'open':
      return typeof given.layer === 'string' ? { kind: 'open', layer: given.layer } : { kind: 'ready' };
    case 'try':
      return { kind: 'try', change: readChange(given.change), whole: given.whole === true };
    case 'save':
      return typeof given.name === 'string' &&
        /^[a-z-]+\.png$/.test(given.name) &&
        typeof given.data === 'string' &&
        /^[\w+/]+=*$/.test(given.data)
        ? { kind: 'save', name: given.name, data: given.data }
        : { kind: 'ready' };
    case 'keep':
      return { kind: 'keep', change: readChange(given.change) };
    default:
      return { kind: 'ready' };
  }
}

function readChange(value: unknown): ScenarioChange {
  const given = recordOf(value);
  const numbers = (['gpus', 'batch'] as const).flatMap((key) => {
    const each = given[key];
    return typeof each === 'number' && Number.isInteger(each) && each > 0 ? [[key, each] as const] : [];
  });
  const texts = (['cluster', 'precision', 'framework', 'checkpoint'] as const).flatMap((key) => {
    const each = given[key];
    return typeof each === 'string' && each.trim() !== '' ? [[key, each.trim()] as const] : [];
  });
  return {
    ...Object.fromEntries<string | number>([...numbers, ...texts]),
    ...(typeof given.lora === 'string' ? { lora: pairsOf(given.lora) } : {}),
  };
}

/** `16`, or `rank=16,layers=q_proj+v_proj`; nothing written is none. */
function pairsOf(text: string): Readonly<Record<string, string | number>> | null {
  if (text.trim() === '') return null;
  return Object.fromEntries(
    text.split(',').map((piece, index) => {
      const [name = '', value] = piece.split('=').map((part) => part.trim());
      if (value !== undefined) return [name, numberOr(value)];
      return index === 0 ? ['rank', numberOr(name)] : [name, 'on'];
    }),
  );
}

const numberOr = (text: string): string | number => (/^\d+(?:\.\d+)?$/.test(text) ? Number(text) : text);

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};
