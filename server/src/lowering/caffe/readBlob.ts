/** The blobs that a layer of a Caffe net reads. */

import type { Word } from '../../formats/caffe/syntax.ts';
import { didYouMean } from '../../model/nearestName.ts';
import { recentKeys } from '../../model/recentKeys.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';
import type { CaffeRun } from './caffeRun.ts';

/** What was last written to the blob that `bottom` names, or `undefined` after an issue. */
export function readBlob({ text, span }: Word, run: CaffeRun): Tensor | undefined {
  run.unread.delete(text);
  const found = run.blobs.get(text);
  if (found !== undefined) return found;
  return run.report(
    'caffe/unknown-blob',
    `Blob \`${text}\` is not known here: ${whyUnknown(text, run)}`,
    span,
  );
}

function whyUnknown(blob: string, run: CaffeRun): string {
  if (run.topsOfPhase().has(blob)) return 'it is written by a layer below: move that up';
  if (run.topsOfNet().has(blob)) {
    return `the layer that writes it is not in the net in phase ${run.state.phase}`;
  }
  return `no layer writes it${didYouMean(blob, recentKeys(run.blobs))}`;
}
