/** Every layer a spec can call, by name. */

import type { LayerDefinition } from './layerDefinition.ts';
import { activationLayers } from './layers/activation.ts';
import { attentionLayers } from './layers/attention.ts';
import { maskLayers } from './layers/attentionMask.ts';
import { convolutionLayers } from './layers/convolution.ts';
import { dropoutLayers } from './layers/dropout.ts';
import { elementwiseLayers } from './layers/elementwise.ts';
import { embeddingLayers } from './layers/embedding.ts';
import { indexingLayers } from './layers/indexing.ts';
import { joiningLayers } from './layers/joining.ts';
import { linearLayers } from './layers/linear.ts';
import { lossLayers } from './layers/loss.ts';
import { mixtureOfExperts } from './layers/mixtureOfExperts.ts';
import { normalizationLayers } from './layers/normalization.ts';
import { orderLayers } from './layers/order.ts';
import { paddingLayers } from './layers/padding.ts';
import { poolingLayers } from './layers/pooling.ts';
import { productLayers } from './layers/product.ts';
import { recurrentLayers } from './layers/recurrent.ts';
import { reductionLayers } from './layers/reduction.ts';
import { shapeLayers } from './layers/shape.ts';
import { stateSpaceLayers } from './layers/stateSpace.ts';
import { transformerLayers } from './layers/transformer.ts';
import { visionLayers } from './layers/vision.ts';

/** Chapters of the reference, in its order, and what is in them. */
export const layerChapters: readonly LayerChapter[] = chapters().map(([title, layers]) => [
  title,
  layers.flatMap(withLazy),
]);

type LayerChapter = readonly [title: string, layers: readonly LayerDefinition[]];

function chapters(): readonly LayerChapter[] {
  return [
    ['Linear layers and trained tensors', linearLayers],
    ['Embeddings', embeddingLayers],
    ['Convolution', convolutionLayers],
    ['Pooling', poolingLayers],
    ['Padding', paddingLayers],
    ['Normalisation', normalizationLayers],
    ['Dropout', dropoutLayers],
    ['Activations', activationLayers],
    ['Recurrent layers', [...recurrentLayers, ...stateSpaceLayers]],
    ['Attention', [...attentionLayers, ...maskLayers]],
    ['Transformers', transformerLayers],
    ['Mixture of experts', [mixtureOfExperts]],
    ['Images', visionLayers],
    ['Arithmetic and functions', elementwiseLayers],
    ['Products', productLayers],
    ['Reductions', reductionLayers],
    ['Shapes', [...shapeLayers, ...orderLayers, ...joiningLayers]],
    ['Parts of tensors', indexingLayers],
    ['Losses', lossLayers],
  ];
}

/**
 * torch.nn has some layers a second time with a size less, taken from the input. Here every such size may be left out;
 * the lazy layers are known for their names.
 */
function withLazy(definition: LayerDefinition): readonly LayerDefinition[] {
  const lazy = /^(Linear|Conv(Transpose)?[123]d|BatchNorm[123]d|InstanceNorm[123]d)$/;
  if (!lazy.test(definition.name)) return [definition];
  const name = `Lazy${definition.name}`;
  const parameters = definition.parameters
    .filter((parameter) => !parameter.follows && !parameter.beyond)
    // The lazy instance normalisation is affine and keeps statistics, unlike the other.
    .map((parameter) =>
      parameter.default === false && name.startsWith('LazyInstance')
        ? { ...parameter, default: true }
        : parameter,
    );
  return [definition, { ...definition, name, source: `torch.nn.${name}.html`, parameters }];
}

export const layerDefinitions: readonly LayerDefinition[] = layerChapters.flatMap(([, layers]) => layers);

const definitionsByName = new Map(layerDefinitions.map((definition) => [definition.name, definition]));

export const findLayer = (name: string): LayerDefinition | undefined => definitionsByName.get(name);
