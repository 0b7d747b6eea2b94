/** Layers of a program: the modules that its calls belong to, and the nodes that these became. */

import type { AtenNode } from '../../formats/pt2/syntax.ts';
import type { ProvidedStructure } from '../providedStructure.ts';
import type { AtenLowering, ModuleNodes } from './atenLowering.ts';

/** By path, in the order in which they begin. */
export const layersOfModules = (modules: ReadonlyMap<string, ModuleNodes>): ProvidedStructure['layers'] =>
  [...modules].map(([path, { type, ancestors, nodes, group, attentionDropout }]) => ({
    name: path,
    type,
    ancestors,
    nodes,
    ...(group === undefined && attentionDropout === undefined
      ? {}
      : {
          marks: {
            ...(group === undefined ? {} : { recomputed: group }),
            ...(attentionDropout === undefined ? {} : { attentionDropout }),
          },
        }),
  }));

/**
 * A module that runs under `checkpoint` in part, or several times, has a layer `checkpoint` for each call. What is called
 * outside all modules is one only where it is checkpointed. Nodes from `start` on are those of the call.
 */
export function addToModule(
  { graph, layers, checkpoints }: AtenLowering,
  node: AtenNode,
  start: number,
): void {
  const { modules } = node;
  const group = checkpoints.groupOf.get(node);
  const layer = modules.at(-1);
  if (graph.size === start || layer === undefined || (layer.path === '' && group === undefined)) return;
  const known = layers.get(layer.path);
  const isOwn = known === undefined ? layer.path !== '' : known.group === group;
  const path = isOwn ? layer.path : `${layer.path === '' ? '' : `${layer.path}.`}checkpoint${group ?? ''}`;
  const outer = (isOwn ? modules.slice(0, -1) : modules).flatMap((module) =>
    module.path === '' ? [] : [module.path],
  );
  const type = isOwn ? layer.className.slice(layer.className.lastIndexOf('.') + 1) : 'checkpoint';
  const found = layers.get(path) ?? { type, ancestors: outer, nodes: [], group };
  layers.set(path, found);
  const share = node.arguments.get('dropout_p');
  if (share?.kind === 'number' && share.value > 0) found.attentionDropout = share.value;
  for (let index = start; index < graph.size; index += 1) found.nodes.push(index);
}
