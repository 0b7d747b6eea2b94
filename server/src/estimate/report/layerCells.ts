/** What the renderings for people say of one layer: the same words in the terminal, in Markdown and on a page. */

import { atLeast, formatBytes, formatFlops } from '../../model/format.ts';
import { memoize } from '../../model/memoize.ts';
import { bytes, flops } from '../../model/units.ts';
import type { LayerReport } from './report.ts';
import { timeText } from './reportText.ts';

export interface LayerCells {
  readonly output: string;
  readonly forward: string;
  readonly backward: string;
  readonly time: string;
  readonly saved: string;
  readonly communication: string;
  readonly exposed: string;
}

/**
 * Writes the layers of one report. Nothing is written where a layer has nothing, `?` where it is unknown, `≥` where a
 * part of it is. Layers alike share what is the same of them, and each text is made once.
 */
export function layerWriter(): (layer: LayerReport) => LayerCells {
  const output = memoize(({ shape }: LayerReport['output']) => shapeText(shape));
  const forward = memoize((count: number | null) => flopsText(count));
  const backward = memoize(({ backwardData, backwardWeight }: LayerReport['flops']) =>
    flopsText(sumOf(backwardData, backwardWeight)),
  );
  const saved = memoize((size: number | null) => sizeText(size));
  const time = memoize(timeText);
  return (layer) => {
    const communicates = layer.time.communication !== 0;
    return {
      output: output(layer.output),
      forward: bounded(forward(layer.flops.forward), layer.exact),
      backward: bounded(backward(layer.flops), layer.exact),
      time: bounded(timeText(layerTime(layer)), layer.exact),
      saved: saved(layer.memory.activations),
      communication: communicates ? time(layer.time.communication) : '',
      exposed: communicates ? time(layer.time.exposedCommunication) : '',
    };
  };
}

/** Forward plus backward in seconds. */
export const layerTime = ({ time }: LayerReport): number | null => sumOf(time.forward, time.backward);

/** How much of it is drawn: of what is unknown nothing, as its text says `?`. */
export const drawnAmount = (value: number | null): number => value ?? 0;

/** Whether a layer does any work, or may: what is unknown is listed too. */
export function costsSomething(layer: LayerReport): boolean {
  return (
    layer.flops.forward !== 0 || layer.bytes.forward !== 0 || layer.parameters > 0 || layer.time.forward !== 0
  );
}

/** `64×256×56×56`; a symbol by name, `?` where unknown. */
function shapeText(shape: LayerReport['output']['shape']): string {
  if (shape === null) return '?';
  return shape.length === 0 ? 'scalar' : shape.map((dimension) => dimension ?? '?').join('×');
}

function flopsText(count: number | null): string {
  if (count === null) return '?';
  return count === 0 ? '' : formatFlops(flops(count));
}

function sizeText(size: number | null): string {
  if (size === null) return '?';
  return size === 0 ? '' : formatBytes(bytes(size));
}

const bounded = (text: string, exact: boolean): string =>
  text === '?' || text === '' ? text : atLeast(text, exact);

const sumOf = (left: number | null, right: number | null): number | null =>
  left === null || right === null ? null : left + right;
