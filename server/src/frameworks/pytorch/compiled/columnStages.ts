/**
 * Kernels in turn that a sum over the rows of each column takes. `apart`: columns lie side by side, and the rows of one are
 * apart from each other (channels-last); else those of a column lie together, image by image (channels-first).
 *
 * Few columns and many rows would leave multiprocessors idle, so Inductor sums parts, and then the parts. Source:
 * PyTorch 2.13, torch/_inductor/ir.py `Reduction.num_splits`, torch/_inductor/choices.py `reduction_split_factor`
 * (outer and inner reductions). Both look at the GPU: here that is an A100, with 108 multiprocessors; others differ where sums
 * are near a threshold.
 */
export function columnStages(rows: number, columns: number, apart = true): number {
  const splits = apart ? splitsApart(rows, columns) : splitsTogether(rows, columns);
  return splits <= 1 ? 1 : 1 + columnStages(splits, columns, apart);
}

const multiprocessors = 108;
const threadsEach = 2048;
const warp = 32;
const threads = 8 * warp;
const rowsPerThread = 4;

function splitsApart(rows: number, columns: number): number {
  if (rows <= warp || columns >= multiprocessors * 2 * 32) return 1;
  const blocks = Math.ceil(columns / 128);
  const device = multiprocessors * threadsEach;
  let part = 512;
  if (rows * columns < warp * device) part = warp;
  else if (rows * columns < 512 * device) {
    const target = Math.ceil(device / threads / blocks);
    part = Math.max(warp, Math.ceil(rows / (rowsPerThread * target)));
  }
  return Math.ceil(rows / (rowsPerThread * part));
}

function splitsTogether(rows: number, columns: number): number {
  if (rows <= 8192 || columns >= 2 * multiprocessors) return 1;
  const device = multiprocessors * threadsEach;
  let part = 512;
  if (rows * columns <= warp * device) part = warp;
  else if (rows * columns < 512 * device) {
    const blocks = Math.ceil(device / (2 * threads) / columns);
    part = Math.max(warp, Math.ceil(rows / (threads * blocks)));
  }
  return Math.ceil(rows / (part * threads));
}
