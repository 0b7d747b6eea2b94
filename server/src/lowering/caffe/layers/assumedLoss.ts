/**
 * Losses of forks that are not known here. Nearly all compare two blobs element by element and add up, which next to the layers
 * before them is nothing; what is assumed is said.
 */

import { int, type Tensor } from '../../layer-spec/layerDefinition.ts';
import { any, type CaffeCall, type CaffeLayerDefinition } from '../layerDefinition.ts';
import { fixed, shapeOf } from '../shapes.ts';

/** The sum of squared differences of the first two blobs of one shape, or of squares of the first. */
export function lowerAssumedLoss(call: CaffeCall): readonly Tensor[] | undefined {
  const shape = shapeOf(call)?.map(fixed).join();
  const [first, ...others] = call.inputs;
  if (first === undefined || shape === undefined) return undefined;
  const other = others.find(
    (_, index) =>
      shapeOf(call, index + 1)
        ?.map(fixed)
        .join() === shape,
  );
  const message = `\`${call.layer.type}\` is not known here: as a loss, it is costed as a sum of squared differences`;
  call.remark('caffe/unknown-layer', message, 'information');
  const difference = other === undefined ? first : call.emit('Sub', [first, other]);
  const value = call.emit('ReduceSumSquare', [difference], { keepdims: int(0) });
  return [
    value,
    ...Array.from({ length: Math.max(0, call.tops - 1) }, (_, index) => call.fromHost(index + 1)),
  ];
}

/** A layer that reads blobs and is called a loss; `undefined` for any other. */
export const assumedLoss = (type: string): CaffeLayerDefinition | undefined =>
  /\wLoss(Layer|OHEM)?$/.test(type)
    ? {
        type,
        documentation: 'A loss that is not known here.',
        source: 'assumed',
        bottoms: [1, any],
        tops: [0, any],
        isLoss: true,
        lower: lowerAssumedLoss,
      }
    : undefined;
