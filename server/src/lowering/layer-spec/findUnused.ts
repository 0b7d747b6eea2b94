/** Names of a layer spec that nothing reads. */

import type { LayerSpec, Name, SpecBody } from '../../formats/layer-spec/syntax.ts';
import { bodiesOf, expressionsOf, layersOf } from '../../formats/layer-spec/walkSpec.ts';
import type { Issue } from '../../model/issue.ts';
import { namesIn } from './evaluate.ts';

/** Blocks that no layer calls and dims that nothing reads. A file of blocks alone is there to be included. */
export function findUnused(spec: LayerSpec): readonly Issue[] {
  const bodies = bodiesOf(spec);
  if (bodies.every((body) => body.layers.length === 0)) return [];
  // A line that cannot be read may be the one that uses a name.
  for (const body of bodies) for (const { call } of layersOf(body)) if (call === undefined) return [];
  const called = new Set<string>();
  for (const body of bodies) {
    for (const block of body.blocks) {
      for (const { call } of block.layers) {
        if (call !== undefined && call.callee.text !== block.name.text) called.add(call.callee.text);
      }
    }
    for (const { call } of body.layers) if (call !== undefined) called.add(call.callee.text);
  }
  const unused = unreadDimensions(bodies);
  const unread = (name: Name, message: string): Issue => ({
    code: 'spec/unused',
    severity: 'information',
    message,
    span: name.span,
  });
  return bodies.flatMap((body) => [
    ...body.dims.flatMap(({ name }) =>
      unused.has(name.text) ? [unread(name, `nothing reads the dimension \`${name.text}\``)] : [],
    ),
    ...body.blocks.flatMap(({ name }) =>
      called.has(name.text) ? [] : [unread(name, `no layer calls the block \`${name.text}\``)],
    ),
  ]);
}

/** Names of dims that nothing reads; most are read on the first lines, and the search ends with the last of them. */
function unreadDimensions(bodies: readonly SpecBody[]): ReadonlySet<string> {
  const unread = new Set(bodies.flatMap((body) => body.dims.map(({ name }) => name.text)));
  for (const body of bodies) {
    for (const { dimensions } of body.inputs) {
      for (const size of dimensions) for (const name of namesIn(size)) unread.delete(name);
    }
    for (const expression of expressionsOf(body)) {
      if (unread.size === 0) return unread;
      for (const name of namesIn(expression)) unread.delete(name);
    }
  }
  return unread;
}
