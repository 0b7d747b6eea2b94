/** Which layers bring data into a net: the known ones, and any other that reads nothing and has no rule of its own. */

import type { CaffeLayer } from '../../formats/caffe/syntax.ts';
import { findCaffeLayer } from './layerDefinitions.ts';
import { findDataLayer } from './layers/data.ts';

export function isDataLayer({ type, bottoms, tops }: CaffeLayer): boolean {
  if (findDataLayer(type) !== undefined) return true;
  if (type === '' || bottoms.length > 0 || tops.length === 0) return false;
  return type === 'Python' || findCaffeLayer(type) === undefined;
}
