/** Lowers one call of a program: casts that autocast adds, the operators it becomes, and types that the archive says. */

import type { AtenNode } from '../../formats/pt2/syntax.ts';
import { isUnknown } from '../../model/dimension.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';
import type { ProvidedCall } from '../providedStructure.ts';
import { AtenCall } from './atenCall.ts';
import type { AtenLowering } from './atenLowering.ts';
import { autocastOf, type TensorLookup } from './autocastRegion.ts';
import { isFormerDetach } from './decomposed.ts';
import { addToModule } from './moduleLayers.ts';
import { operandsOf } from './namesRead.ts';
import { atenOperators } from './operators.ts';
import type { ProgramValues } from './programValues.ts';

const prefix = 'torch.ops.aten.';

/** The results of a call, in the types that the archive says. */
export function lowerCall(
  lowering: AtenLowering,
  node: AtenNode,
  values: ProgramValues,
): readonly (Tensor | undefined)[] {
  const { graph, shapeOf } = lowering;
  const start = graph.size;
  const types = node.outputs.map((output) => {
    const meta = values.graph.tensors.get(output);
    return meta && { elementType: meta.elementType, shape: shapeOf(meta) };
  });
  const tensors = values.autocast === 'on' ? castOperands(lowering, node, values, types) : values.tensors;
  const call = new AtenCall(node, graph, tensors, types, values.views);
  const results = resultsOf(lowering, call, tensors).map((given, index) => {
    const type = types[index];
    const result = isDetachedIn(lowering, node, index) ? call.detach(given) : given;
    const isKnown = type === undefined || (result.shape !== undefined && !result.shape.some(isUnknown));
    return isKnown ? result : graph.declare(result.name, type.elementType, type.shape);
  });
  const provided = providedCall(node, values);
  for (let index = start; index < graph.size; index += 1) lowering.calls.set(index, provided);
  addToModule(lowering, node, start);
  return results;
}

function providedCall(
  { outputs: [name = ''], modules, target, stackTrace }: AtenNode,
  { autocast }: ProgramValues,
): ProvidedCall {
  const moduleClass = modules.at(-1)?.className;
  return {
    name,
    function: target.replace('torch.ops.', ''),
    ...(moduleClass === undefined ? {} : { moduleClass }),
    ...(autocast === 'off' ? { isOutsideAutocast: true } : {}),
    stackTrace,
  };
}

/** Of a decomposed program: what `detach` was, and what takes the place of a parameter, which only `no_grad` allows. */
const isDetachedIn = ({ isDecomposed, mutated }: AtenLowering, node: AtenNode, index: number): boolean =>
  isDecomposed && (isFormerDetach(node) || mutated.has(node.outputs[index] ?? ''));

/** The operands of a call under autocast, in the types that it casts them to. */
function castOperands(
  { graph }: AtenLowering,
  node: AtenNode,
  { tensors, casts }: ProgramValues,
  types: AtenCall['results'],
): TensorLookup {
  const cast = autocastOf(node, types[0]?.elementType, (name) => tensors.get(name)?.elementType);
  if (cast === undefined) return tensors;
  const call = new AtenCall(node, graph, tensors, types);
  const own = new Map<string, Tensor>();
  for (const name of cast.names) {
    const tensor = tensors.get(name);
    if (tensor === undefined) continue;
    // Casts of weights alone are remembered (aten/src/ATen/autocast_mode.cpp, `cached_cast`).
    const key = graph.roles.has(tensor.name) ? `${tensor.name}:${cast.type}` : undefined;
    const known = key === undefined ? undefined : casts.get(key);
    const result = known ?? call.cast(tensor, cast.type);
    if (key !== undefined) casts.set(key, result);
    own.set(name, result);
  }
  return { get: (name) => own.get(name) ?? tensors.get(name), has: (name) => tensors.has(name) };
}

/** An operator without a counterpart stays under its name. */
function resultsOf(
  { graph, missing }: AtenLowering,
  call: AtenCall,
  tensors: TensorLookup,
): readonly Tensor[] {
  const { node, path } = call;
  const { target } = node;
  const name = target.startsWith(prefix) ? target.slice(prefix.length) : target;
  const operands = operandsOf(node);
  const absent = operands.find((operand) => !tensors.has(operand) && !isPacked(node, operand));
  if (absent !== undefined) missing.push({ target: name, operand: absent });
  const found = absent === undefined ? atenOperators.get(name)?.(call) : undefined;
  if (found !== undefined) return found;
  const [, namespace = 'python', type = name] = /^torch\.ops\.([^.]+)\.(.+)$/.exec(target) ?? [];
  const inputs = operands.flatMap((operand) => tensors.get(operand) ?? []);
  return graph.node(path, namespace, type, inputs, node.outputs.length, {});
}

/** Weights of recurrent layers that another one stands for. */
const isPacked = ({ arguments: given }: AtenNode, name: string): boolean => {
  const parameters = given.get('params');
  return parameters?.kind === 'tensors' && parameters.names.includes(name);
};
