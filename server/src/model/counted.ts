import { formatCount } from './format.ts';

/** `1 node`, `16 nodes`. */
export const counted = (count: number, what: string): string =>
  `${formatCount(count)} ${what}${count === 1 ? '' : 's'}`;
