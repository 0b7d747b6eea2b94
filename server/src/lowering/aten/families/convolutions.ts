/** Convolutions and their transposes. */

import { int, ints, type NodeAttributes, type Tensor, text } from '../../layer-spec/layerDefinition.ts';
import { type AtenCall, bothSides, each, type LowerAten, perAxis, rankOf } from '../atenCall.ts';

/** Named paddings: `same` adds what keeps the size, `valid` nothing. */
const paddings: Readonly<Record<string, string>> = { same: 'SAME_UPPER', valid: 'VALID' };

function convolve(call: AtenCall, isTransposed: boolean): ReturnType<LowerAten> {
  const [given, weight] = [call.tensor('input'), call.tensor('weight')];
  const axes = rankOf(weight) - 2;
  if (given?.shape === undefined || weight === undefined || axes < 1) return undefined;
  // One image without a batch.
  const isSingle = given.shape.length === axes + 1;
  const [input] = isSingle ? call.emit('Unsqueeze', [given, call.integers([0])]) : [given];
  const of = (name: string, standard: number) => perAxis(call.numbers(name, [standard]), axes);
  const named = paddings[call.text('padding') ?? ''];
  if (call.text('padding') !== undefined && named === undefined) return undefined;
  const attributes: NodeAttributes = {
    strides: ints(of('stride', 1)),
    ...(named === undefined ? { pads: bothSides(of('padding', 0)) } : { auto_pad: text(named) }),
    dilations: ints(of('dilation', 1)),
    group: int(call.numberOr('groups', 1)),
    ...(isTransposed ? { output_padding: ints(of('output_padding', 0)) } : {}),
  };
  const inputs: readonly (Tensor | undefined)[] = [input, weight, call.tensor('bias')];
  const output = call.emit(isTransposed ? 'ConvTranspose' : 'Conv', inputs, attributes);
  return isSingle ? call.emit('Squeeze', [...output, call.integers([0])]) : output;
}

const convolution: LowerAten = (call) => convolve(call, call.flag('transposed', false));
const transposed: LowerAten = (call) => convolve(call, true);

export const convolutionOperators: Readonly<Record<string, LowerAten>> = {
  ...each(['conv1d.default', 'conv2d.default', 'conv3d.default', 'convolution.default'], convolution),
  ...each(['conv1d.padding', 'conv2d.padding', 'conv3d.padding'], convolution),
  ...each(['conv_transpose1d.default', 'conv_transpose2d.input', 'conv_transpose3d.input'], transposed),
};
