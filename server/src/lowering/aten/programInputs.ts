/** Tensors that a program begins with. */

import type { ExportedProgram, TensorMeta } from '../../formats/pt2/syntax.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';
import type { AtenLowering } from './atenLowering.ts';
import { namesRead } from './namesRead.ts';
import { type PackedWeight, recurrentPacks } from './recurrentWeights.ts';

/** What the graph is given: inputs, and what is stored with the model. */
export function programInputs(
  program: ExportedProgram,
  { graph, shapeOf }: Pick<AtenLowering, 'graph' | 'shapeOf'>,
): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  const read = namesRead(program.graph, program.outputs);
  const packs = recurrentPacks(program);
  for (const { name, kind, target } of program.inputs) {
    const meta = program.graph.tensors.get(name);
    // A weight that two modules share is read by one of its names; nothing trains what nothing reads.
    if (meta === undefined || (kind !== 'input' && !read.has(name))) continue;
    const shape = shapeOf(meta);
    const sizes = shape.flatMap((size) => (typeof size === 'number' ? [size] : []));
    if (kind === 'input' || sizes.length < shape.length) {
      tensors.set(name, graph.input(name, meta.elementType, shape));
      continue;
    }
    const pack = packs.get(name);
    if (pack !== undefined && pack.members[0] !== name) continue;
    const dimensions = pack === undefined ? sizes : packedSizes(pack, sizes, program.graph.tensors);
    tensors.set(name, graph.stored(target, storedRole(kind, meta), dimensions, meta.elementType));
  }
  return tensors;
}

/** Of all members in one tensor, by direction; `sizes` are those of one. */
function packedSizes(
  { members, kind }: PackedWeight,
  sizes: readonly number[],
  metas: ReadonlyMap<string, TensorMeta>,
): readonly number[] {
  if (kind !== 'bias') return [members.length, ...sizes.slice(-2)];
  // A direction has two: one beside the input's weight, one beside the state's.
  const directions = members.length / 2;
  const elementsOf = (name: string): number =>
    (metas.get(name)?.shape ?? []).reduce<number>((all, size) => all * Number(size), 1);
  const elements = members.reduce((all, member) => all + elementsOf(member), 0);
  return [directions, elements / directions];
}

const storedRole = (kind: string, meta: TensorMeta): 'parameter' | 'frozen' | 'buffer' =>
  kind !== 'parameter' ? 'buffer' : meta.requiresGrad ? 'parameter' : 'frozen';
