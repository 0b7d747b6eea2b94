/** Names of a layer spec that nothing reads. */

import type { LayerSpec, Name } from '../../formats/layer-spec/syntax.ts';
import { bodiesOf, expressionsOf, layersOf } from '../../formats/layer-spec/walkSpec.ts';
import type { Issue } from '../../model/issue.ts';
import { namesIn } from './evaluate.ts';

/** Blocks that no layer calls and dims that nothing reads. A file of blocks alone is there to be included. */
export function findUnused(spec: LayerSpec): readonly Issue[] {
  const bodies = bodiesOf(spec);
  if (bodies.every((body) => body.layers.length === 0)) return [];
  const called = new Set<string>();
  const read = new Set<string>();
  for (const body of bodies) {
    for (const block of body.blocks) {
      for (const { call } of block.layers) {
        if (call !== undefined && call.callee.text !== block.name.text) called.add(call.callee.text);
      }
    }
    for (const { call } of body.layers) if (call !== undefined) called.add(call.callee.text);
    for (const expression of expressionsOf(body)) for (const name of namesIn(expression)) read.add(name);
    for (const input of body.inputs) {
      for (const size of input.dimensions) for (const name of namesIn(size)) read.add(name);
    }
  }
  const unread = (name: Name, message: string): Issue => ({
    code: 'spec/unused',
    severity: 'information',
    message,
    span: name.span,
  });
  // A line that cannot be read may be the one that uses a name.
  const complete = bodies.every((body) => [...layersOf(body)].every(({ call }) => call !== undefined));
  if (!complete) return [];
  return bodies.flatMap((body) => [
    ...body.dims.flatMap(({ name }) =>
      read.has(name.text) ? [] : [unread(name, `nothing reads the dimension \`${name.text}\``)],
    ),
    ...body.blocks.flatMap(({ name }) =>
      called.has(name.text) ? [] : [unread(name, `no layer calls the block \`${name.text}\``)],
    ),
  ]);
}
