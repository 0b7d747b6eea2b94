/** Elements of a tensor with these sizes. */
export function countElements(sizes: readonly number[]): number {
  let count = 1;
  for (const size of sizes) count *= size;
  return count;
}
