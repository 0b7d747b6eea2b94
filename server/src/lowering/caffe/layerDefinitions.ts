/** All layers of Caffe that are known, in one table. */

import { findMessage } from '../../formats/caffe/messages.ts';
import type { FieldSchema } from '../../formats/caffe/schema.ts';
import type { CaffeLayerDefinition } from './layerDefinition.ts';
import { activationLayers } from './layers/activation.ts';
import { combiningLayers } from './layers/combining.ts';
import { composedLayers } from './layers/composed.ts';
import { convolutionLayers } from './layers/convolution.ts';
import { dataLayers } from './layers/data.ts';
import { detectionLayers } from './layers/detection.ts';
import { faceLayers } from './layers/faces.ts';
import { flowLayers } from './layers/flow.ts';
import { hostLayers } from './layers/hostLayers.ts';
import { innerProductLayers } from './layers/innerProduct.ts';
import { lossLayers } from './layers/loss.ts';
import { normalizationLayers } from './layers/normalization.ts';
import { plumbingLayers } from './layers/plumbing.ts';
import { poolingLayers } from './layers/pooling.ts';
import { recurrentLayers } from './layers/recurrent.ts';
import { reductionLayers } from './layers/reduction.ts';
import { regionLayers } from './layers/regions.ts';
import { reshapingLayers } from './layers/reshaping.ts';
import { resizingLayers } from './layers/resizing.ts';
import { slicingLayers } from './layers/slicing.ts';

const caffeLayerDefinitions: readonly CaffeLayerDefinition[] = [
  ...convolutionLayers,
  ...poolingLayers,
  ...innerProductLayers,
  ...activationLayers,
  ...normalizationLayers,
  ...combiningLayers,
  ...reshapingLayers,
  ...slicingLayers,
  ...resizingLayers,
  ...reductionLayers,
  ...lossLayers,
  ...recurrentLayers,
  ...detectionLayers,
  ...regionLayers,
  ...hostLayers,
  ...composedLayers,
  ...flowLayers,
  ...faceLayers,
  ...plumbingLayers,
];

const byType = new Map(
  caffeLayerDefinitions.flatMap((definition) =>
    [definition.type, ...(definition.aliases ?? [])].map((type) => [type, definition] as const),
  ),
);

export const findCaffeLayer = (type: string): CaffeLayerDefinition | undefined => byType.get(type);

/** What an editor offers for `type:`, and below the layer's own message. */
export interface CaffeLayerEntry {
  readonly type: string;
  readonly aliases: readonly string[];
  readonly documentation: string;
  readonly source: string;
  /** The field of its parameters, such as `convolution_param`. */
  readonly parameters: string | undefined;
  readonly fields: readonly FieldSchema[];
}

/** Every layer type with its fields, data layers first. */
export const caffeLayerEntries: readonly CaffeLayerEntry[] = [...dataLayers, ...caffeLayerDefinitions].map(
  ({ type, aliases = [], documentation, source, parameters }) => {
    const field =
      parameters === undefined ? undefined : findMessage('LayerParameter')?.fields.get(parameters);
    const message = field?.type.kind === 'message' ? findMessage(field.type.message) : undefined;
    return {
      type,
      aliases,
      documentation,
      source,
      parameters,
      fields: [...(message?.fields.values() ?? [])],
    };
  },
);

/** The entry of a layer type, by any of its names. */
export const findCaffeEntry = (type: string | undefined): CaffeLayerEntry | undefined =>
  caffeLayerEntries.find(
    (entry) => entry.type === type || (type !== undefined && entry.aliases.includes(type)),
  );
