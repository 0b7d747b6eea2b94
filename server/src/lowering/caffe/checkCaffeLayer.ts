/** What a layer of a Caffe net must be before it can be lowered: of a known type, with the right number of blobs. */

import { type CaffeLayer, wasRefused } from '../../formats/caffe/syntax.ts';
import { didYouMean } from '../../model/nearestName.ts';
import type { CaffeRun } from './caffeRun.ts';
import { any, type CaffeLayerDefinition } from './layerDefinition.ts';
import { caffeLayerEntries } from './layerDefinitions.ts';

/** Says what is wrong where it has too few or too many. */
export function hasRightBlobs(layer: CaffeLayer, definition: CaffeLayerDefinition, run: CaffeRun): boolean {
  for (const [what, words, [least, most]] of [
    ['bottom', layer.bottoms, definition.bottoms],
    ['top', layer.tops, definition.tops],
  ] as const) {
    if (words.length >= least && words.length <= most) continue;
    const wanted = least === most ? `${least}` : most === any ? `at least ${least}` : `${least} to ${most}`;
    const many = wanted === '1' || wanted === 'at least 1' ? what : `${what}s`;
    const message = `${layer.type} has ${wanted === '0' ? 'no' : wanted} ${many}, not ${words.length}`;
    run.report('caffe/layer', message, words[most]?.span ?? layer.typeSpan);
    return false;
  }
  return true;
}

/** For a layer whose type has no definition. */
export function reportUnknownType(layer: CaffeLayer, run: CaffeRun): void {
  const { type, fields, nameSpan, typeSpan } = layer;
  if (fields.fields.has('layer')) {
    const message =
      "The layer is written in the oldest form: bring the net up to date with Caffe's upgrade_net_proto_text";
    run.report('caffe/layer', message, nameSpan);
  } else if (type !== '') {
    const hint = didYouMean(
      type,
      caffeLayerEntries.flatMap((entry) => [entry.type, ...entry.aliases]),
    );
    const message = `\`${type}\` is no layer of Caffe that is known here, so its cost is left out${hint}`;
    run.report('caffe/unknown-layer', message, typeSpan, 'warning');
  } else if (!wasRefused(fields, 'type')) {
    run.report('caffe/layer', 'The layer has no `type`: say what it computes', nameSpan);
  }
}
