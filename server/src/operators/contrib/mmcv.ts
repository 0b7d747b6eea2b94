/**
 * Operators of MMCV and MMDeploy, which are those of ONNX under other names and attributes.
 *
 * Source: docs/en/deployment/onnxruntime_custom_ops.md of open-mmlab/mmcv, docs/en/06-custom-ops of open-mmlab/mmdeploy.
 */

import type { CostContext, InferenceContext, OperatorDefinition } from '../definition.ts';
import { convolutionMap, regionsMap } from '../dimensions/windows.ts';
import { convolutionCost, inferConvolution } from '../nn/convolution.ts';
import { inferRegions, poolCost } from '../nn/pooling.ts';
import { resizingOperators } from '../tensor/resizing.ts';
import { define } from '../vocabulary/define.ts';
import { data, detached, noRule, weight } from '../vocabulary/facts.ts';
import { elementTypeOf } from '../vocabulary/types.ts';
import { savedInput } from '../vocabulary/work.ts';

const domains = ['mmcv', 'mmdeploy'] as const;

/** Attributes of a convolution by their names in ONNX; padding is one number for both ends of an axis. */
function withOnnxAttributes<Context extends InferenceContext | CostContext>(context: Context): Context {
  const names: Readonly<Record<string, string>> = {
    strides: 'stride',
    dilations: 'dilation',
    pads: 'padding',
  };
  return {
    ...context,
    ints: (name: string) => {
      const values = context.ints(names[name] ?? name);
      return name === 'pads' && values !== undefined ? [...values, ...values] : values;
    },
    int: (name: string, otherwise: number) => {
      if (name === 'group') return context.int('groups', otherwise);
      return context.int(name === 'offset_group' ? 'deform_groups' : name, otherwise);
    },
  };
}

const deformable = (type: string, places: { readonly weight: number; readonly bias?: number }) =>
  domains.map((domain) =>
    define({
      type,
      domain,
      documentation: `convolution sampling at learned offsets (MMCV custom operators, ${type}-1)`,
      inputs: [
        data('input'),
        data('offset'),
        ...(places.weight === 3 ? [data('mask')] : []),
        weight('weight'),
        ...(places.bias === undefined ? [] : [weight('bias')]),
      ],
      pytorch: { layer: 'DeformConv2d', autocast: 'half' },
      runner: noRule.unwritten,
      infer: (context) =>
        inferConvolution(withOnnxAttributes(context), elementTypeOf(context, 0), 0, places.weight),
      dimensions: (context) =>
        convolutionMap(withOnnxAttributes(context), {
          weight: places.weight,
          perSample: places.weight === 3 ? [1, 2] : [1],
          nonlinear: true,
          ...(places.bias === undefined ? {} : { bias: places.bias }),
        }),
      cost: (context) => convolutionCost(withOnnxAttributes(context), 0, places.weight, places.bias),
    }),
  );

const roiAlign = domains.map((domain) =>
  define({
    type: 'MMCVRoiAlign',
    domain,
    documentation: 'bilinear samples of each region of interest (MMCV custom operators, MMCVRoiAlign-1)',
    inputs: [data('input'), detached('rois')],
    pytorch: { layer: 'RoiAlign', autocast: 'widest' },
    runner: noRule.unwritten,
    infer: (context) =>
      inferRegions(context, [context.int('output_height', 1), context.int('output_width', 1)]),
    dimensions: regionsMap,
    cost: (context) =>
      poolCost(context, 8 * Math.max(1, context.int('sampling_ratio', 0)) ** 2, [savedInput(1)]),
  }),
);

const gridSampler = resizingOperators
  .filter(({ type, domain }) => type === 'GridSample' && domain === '')
  .flatMap((definition) =>
    domains.map((domain) => ({
      ...definition,
      type: 'grid_sampler',
      domain,
      since: 1,
      documentation: 'the input sampled at given coordinates (MMDeploy custom operators, grid_sampler-1)',
    })),
  );

export const mmcvOperators: readonly OperatorDefinition[] = [
  ...deformable('MMCVDeformConv2d', { weight: 2 }),
  ...deformable('MMCVModulatedDeformConv2d', { weight: 3, bias: 4 }),
  ...roiAlign,
  ...gridSampler,
];
