/**
 * Straight-through estimators: `z + (q - z).detach()` gives q forward, and z the gradient of q. Without `detach` it would be q, and
 * nobody writes that, so a sum of this form was detached where no exporter says so (Bengio et al., arXiv 1308.3432; VQ-VAE, arXiv
 * 1711.00937).
 */

import { tally } from '../model/tally.ts';
import type { FlatNode } from './expandFunctions.ts';

/** The differences that no gradient passes behind. */
export function straightThrough(nodes: readonly FlatNode[]): ReadonlySet<string> {
  const made = new Map(nodes.flatMap(({ node }) => node.outputs.map((name) => [name, node] as const)));
  const behindCopies = (name: string): string => {
    const maker = made.get(name);
    return maker?.type === 'Identity' && maker.inputs[0] !== undefined ? behindCopies(maker.inputs[0]) : name;
  };
  const readers = new Map<string, number>();
  for (const { node } of nodes) for (const name of node.inputs) tally(readers, name);
  const differences = new Set<string>();
  for (const { node } of nodes) {
    if (node.type !== 'Add') continue;
    const [left = '', right = ''] = node.inputs;
    for (const [whole, part] of [
      [left, right],
      [right, left],
    ] as const) {
      const difference = behindCopies(part);
      const maker = made.get(difference);
      const taken = maker?.type === 'Sub' ? maker.inputs[1] : undefined;
      if (taken === undefined || behindCopies(taken) !== behindCopies(whole)) continue;
      if (readers.get(part) === 1) differences.add(part);
    }
  }
  return differences;
}
