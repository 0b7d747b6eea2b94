/**
 * How many blocks nanotron gives each stage of a pipeline.
 *
 * It goes through the blocks in order, a decoder layer at the cost of its weights, the head at that of its matrix and the rest at
 * none, and a stage ends with the block that reaches its share. Deep pipelines have long first stages by it, and the head is by
 * itself. Source: huggingface/nanotron, src/nanotron/models/base.py, `build_model`, and llama.py, `get_block_compute_costs`. What
 * meets a share exactly goes on there; what was measured of 1B says that it ended.
 */

import { itemAt } from '../../../server/src/model/at.ts';
import { type MeasuredRow, numberIn } from '../../measured/readMeasured.ts';

/** As `stages` of a layout: only the last may have none. */
export function nanotronStages(row: MeasuredRow): readonly number[] {
  const [hidden, layers, ranks] = [numberIn(row, 'hidden'), numberIn(row, 'layers'), numberIn(row, 'pp')];
  const layer = 4 * hidden ** 2 + 3 * numberIn(row, 'ffn') * hidden;
  const total = layers * layer + numberIn(row, 'vocab') * hidden;
  const blocks = new Array<number>(ranks).fill(0);
  let rank = 0;
  for (let block = 0; block < layers; block += 1) {
    blocks[rank] = itemAt(blocks, rank) + 1;
    if ((block + 1) * layer >= (total * (rank + 1)) / ranks) rank = Math.min(rank + 1, ranks - 1);
  }
  return withoutGaps(blocks);
}

/** Where the head is in a stage before the last, which then has the loss alone, that stage gets the nearest block before it. */
function withoutGaps(blocks: readonly number[]): readonly number[] {
  const gap = blocks.slice(0, -1).lastIndexOf(0);
  if (gap < 0) return blocks;
  const giver = blocks.slice(0, gap).findLastIndex((count) => count > 1);
  return withoutGaps(blocks.map((count, stage) => (stage === gap ? 1 : stage === giver ? count - 1 : count)));
}
