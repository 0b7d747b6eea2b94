/** What messages call a node. */

import type { FlatNode } from './expandFunctions.ts';

/** The name of a node, or what stands for one. */
export const nameOfNode = (flat: FlatNode | undefined): string =>
  flat === undefined ? '' : flat.node.name || flat.node.outputs.find((name) => name !== '') || flat.node.type;

/** Its type and name, as messages write them. */
export const describeNode = (flat: FlatNode | undefined): string =>
  `${flat?.node.type ?? 'Operator'} \`${nameOfNode(flat)}\``;

/** Where an issue about it lies. */
export const sourceOfNode = (flat: FlatNode | undefined): { readonly operator?: number } =>
  flat === undefined ? {} : { operator: flat.source };
