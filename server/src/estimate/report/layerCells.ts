/** What the renderings for people say of one layer: the same words in the terminal, in Markdown and on a page. */

import { atLeast, formatBytes, formatFlops } from '../../model/format.ts';
import { bytes, flops } from '../../model/units.ts';
import type { LayerReport } from './report.ts';
import { timeText } from './summary.ts';

export interface LayerCells {
  readonly output: string;
  readonly forward: string;
  readonly backward: string;
  readonly time: string;
  readonly saved: string;
  readonly communication: string;
  readonly exposed: string;
}

/** Nothing is written where a layer has nothing, `?` where it is unknown, `≥` where a part of it is. */
export function layerCells(layer: LayerReport): LayerCells {
  const { backwardData, backwardWeight } = layer.flops;
  const communicates = layer.time.communication !== 0;
  return {
    output: shapeText(layer.output.shape),
    forward: flopsText(layer.flops.forward, layer.exact),
    backward: flopsText(sumOf(backwardData, backwardWeight), layer.exact),
    time: bounded(timeText(layerTime(layer)), layer.exact),
    saved: sizeText(layer.memory.activations),
    communication: communicates ? timeText(layer.time.communication) : '',
    exposed: communicates ? timeText(layer.time.exposedCommunication) : '',
  };
}

/** Forward plus backward in seconds. */
export const layerTime = ({ time }: LayerReport): number | null => sumOf(time.forward, time.backward);

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

function flopsText(count: number | null, exact: boolean): string {
  if (count === null) return '?';
  return count === 0 ? '' : atLeast(formatFlops(flops(count)), exact);
}

function sizeText(size: number | null): string {
  if (size === null) return '?';
  return size === 0 ? '' : formatBytes(bytes(size));
}

const bounded = (text: string, exact: boolean): string => (text === '?' ? text : atLeast(text, exact));

const sumOf = (left: number | null, right: number | null): number | null =>
  left === null || right === null ? null : left + right;
