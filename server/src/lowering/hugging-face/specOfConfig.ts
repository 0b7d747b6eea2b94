/**
 * The layer spec of a model that a config of Hugging Face transformers describes.
 *
 * What is written is what the classes of transformers compute, line by line, in their names. A type that is not known
 * is refused: a network of another type would have other costs.
 */

import { type HuggingFaceConfig, readConfig } from '../../formats/hugging-face/readConfig.ts';
import type { Issue } from '../../model/issue.ts';
import { nearestName } from '../../model/nearestName.ts';
import type { LossChoice } from '../../model/scenario.ts';
import { albert } from './albert.ts';
import { bartTypes } from './bartTypes.ts';
import { beit } from './beit.ts';
import { clipTypes } from './clip.ts';
import { ConfigFields } from './configFields.ts';
import { convolutionalTypes } from './convolutional.ts';
import { debertaV2 } from './deberta.ts';
import { deberta } from './debertaV1.ts';
import { decoderParts } from './decoder.ts';
import { decoderTypes } from './decoderTypes.ts';
import { depthAnything } from './depthAnything.ts';
import { detr } from './detr.ts';
import { dinov2 } from './dinov2.ts';
import { dinov3 } from './dinov3.ts';
import { encoderTypes } from './encoderTypes.ts';
import { esm } from './esm.ts';
import { expertTypes } from './expertTypes.ts';
import { gemma4 } from './gemma4.ts';
import { imageTypes } from './imageText.ts';
import { layoutLmV3 } from './layoutLmV3.ts';
import type { DecoderType } from './llamaLike.ts';
import { mambaTypes } from './mambaTypes.ts';
import { mobileNetV1, mobileNetV2 } from './mobileNet.ts';
import { modernBert } from './modernBert.ts';
import { nomicBert } from './nomicBert.ts';
import { notesOfConfig } from './notesOfConfig.ts';
import { poolFormer } from './poolFormer.ts';
import { linearAttentionTypes } from './qwen3Next.ts';
import { regNet } from './regNet.ts';
import { segformer } from './segformer.ts';
import { type SpecParts, specText } from './specText.ts';
import { speechEncoder } from './speech.ts';
import { squeezeBert } from './squeezeBert.ts';
import { swin } from './swin.ts';
import { swinV2 } from './swinV2.ts';
import { t5 } from './t5.ts';
import { textPartOf } from './textPart.ts';
import { videoMae, vivit } from './video.ts';
import { visionEncoderDecoder } from './visionEncoderDecoder.ts';
import { vitTypes } from './vit.ts';
import { whisper } from './whisper.ts';
import { yolos } from './yolos.ts';

export interface SpecOfConfig {
  /** The text of a layer spec; `undefined` where the config cannot be expressed as one. */
  readonly text: string | undefined;
  /** Dimensions that the spec has. */
  readonly dimensions: readonly string[];
  /** Tokens of a sequence, which a config does not say; absent where the model reads none. */
  readonly length?: number;
  /** Tokens of an image, of which a sequence is taken to have one; absent where the model reads none beside text. */
  readonly imageTokens?: number;
  readonly issues: readonly Issue[];
}

/** Sizes of dimensions that take the place of those that the spec would have. */
type Sizes = Readonly<Record<string, number>>;

/** `name` is the file's, for a model whose config has no name. */
export function specOfConfig(text: string, name: string, sizes: Sizes = {}): SpecOfConfig {
  const { config, issues } = readConfig(text);
  return config === undefined ? { text: undefined, dimensions: [], issues } : specOf(config, name, sizes);
}

function specOf(config: HuggingFaceConfig, name: string, sizes: Sizes): SpecOfConfig {
  const notes = notesOfConfig(config);
  const write = writerOf(config.type);
  if (write !== undefined) return specBy(write, config, nameOf(config, name), sizes, notes);
  const text = textPartOf(config);
  const writeImages = text === undefined ? undefined : writerOfImages(config, text.type);
  if (text !== undefined && writeImages !== undefined)
    return specBy(writeImages, text, nameOf(config, name), sizes, notes);
  const writeText = text === undefined ? undefined : writerOf(text.type);
  if (text !== undefined && writeText !== undefined) {
    const part: Issue = {
      code: 'config/part',
      severity: 'error',
      message: `Only the language model of "${config.type}" is costed, and what works on images or sound is left out: export the model for the whole`,
    };
    return specBy(writeText, text, nameOf(config, name), sizes, [part, ...notes]);
  }
  const near = nearestName(config.type, Object.keys(types));
  return failed(
    'config/unknown-type',
    `No architecture is known for the \`model_type\` "${config.type}"${near === undefined ? '' : `, only for "${near}"`}: export the model with \`layercost export\` or \`torch.onnx.export\``,
  );
}

function specBy(
  write: WriteSpec,
  config: HuggingFaceConfig,
  name: string,
  sizes: Sizes,
  issues: readonly Issue[],
): SpecOfConfig {
  const fields = new ConfigFields(config);
  const { architecture } = fields;
  const own = Object.hasOwn(ownClasses, fields.type) ? ownClasses[fields.type] : undefined;
  if (architecture !== undefined && !knownClasses.test(architecture) && own?.test(architecture) !== true) {
    return failed(
      'config/unknown-type',
      `The head of the class ${JSON.stringify(architecture.slice(0, 80))} is not known: export the model with \`layercost export\` or \`torch.onnx.export\``,
    );
  }
  const parts = write(fields, name, sizes.seq);
  if (fields.flag('add_cross_attention'))
    fields.problems.push('`add_cross_attention` is true, and attention over an encoder is not known here');
  const problem = fields.problems[0];
  if (problem !== undefined) {
    return failed(
      'config/unreadable',
      `In the config of type "${fields.type}", ${problem}: correct it in the file, or export the model with \`layercost export\``,
    );
  }
  const comments = [
    `Written from the config of a model of type "${fields.type}", as transformers 5.18 computes it.`,
  ];
  const dimensions = Object.keys(parts.dims);
  const known = Object.entries(sizes).filter(([dimension]) => dimensions.includes(dimension));
  const dims = { ...parts.dims, ...Object.fromEntries(known) };
  const length = typeof dims.seq === 'number' ? { length: dims.seq } : {};
  const images = parts.images === undefined ? {} : { imageTokens: parts.images };
  const loss = lossOf(config, architecture);
  return {
    text: specText({ ...parts, ...(loss === undefined ? {} : { loss }), dims, comments }),
    dimensions,
    issues,
    ...length,
    ...images,
  };
}

/**
 * Classes that score tokens return their logits beside the loss. Those that call `self.loss_function` cast them to fp32; others take
 * cross-entropy of them as they are.
 */
function lossOf({ type }: HuggingFaceConfig, architecture: string | undefined): LossChoice | undefined {
  if (architecture === undefined) return undefined;
  if (/(ForCausalLM|LMHeadModel)$/.test(architecture)) return 'with-logits';
  if (architecture.endsWith('ForMaskedLM'))
    return type === 'modernbert' || type === 'eurobert' ? 'with-logits' : 'with-logits-uncast';
  if (!architecture.endsWith('ForConditionalGeneration')) return undefined;
  return Object.hasOwn(imageTypes, type) ? 'with-logits' : 'with-logits-uncast';
}

/** Ends of the names of classes whose head the types here write. */
const knownClasses =
  /(Model|ModelWithProjection|For(CausalLM|MaskedLM|PreTraining|SequenceClassification|TokenClassification|QuestionAnswering|ConditionalGeneration|ImageClassification(WithTeacher)?))$/;

/** Ends of the names of classes that some types alone have here; other types would be written without that head. */
const ownClasses: Readonly<Record<string, RegExp>> = {
  'audio-spectrogram-transformer': /ForAudioClassification$/,
  beit: /ForMaskedImageModeling$/,
  dpr: /(Encoder|Reader)$/,
  videomae: /ForVideoClassification$/,
  vivit: /ForVideoClassification$/,
  detr: /ForObjectDetection$/,
  'table-transformer': /ForObjectDetection$/,
  yolos: /ForObjectDetection$/,
  depth_anything: /ForDepthEstimation$/,
  segformer: /ForSemanticSegmentation$/,
  wav2vec2: /ForCTC$/,
  hubert: /ForCTC$/,
  wavlm: /ForCTC$/,
  'data2vec-audio': /ForCTC$/,
  unispeech: /ForCTC$/,
  'unispeech-sat': /ForCTC$/,
};

/** `length`: tokens of a sequence, where somebody says so. */
type WriteSpec = (fields: ConfigFields, name: string, length?: number) => SpecParts;

const writerOf = (type: string): WriteSpec | undefined =>
  Object.hasOwn(types, type) ? types[type] : undefined;

/** The writer of a model that reads images, where its tower and its language model are known. */
function writerOfImages(config: HuggingFaceConfig, textType: string): WriteSpec | undefined {
  const imagesOf = Object.hasOwn(imageTypes, config.type) ? imageTypes[config.type] : undefined;
  const decoderOf = Object.hasOwn(stackTypes, textType) ? stackTypes[textType] : undefined;
  if (imagesOf === undefined || decoderOf === undefined) return undefined;
  // Whether the tower is known is said before anything is written.
  if (imagesOf(new ConfigFields(config)) === undefined) return undefined;
  return (fields, name, length) => {
    const images = imagesOf(new ConfigFields(config, fields.problems));
    // The head of the whole is a product alone, whatever the language model by itself does to logits.
    const { softcap: _, logitScale: __, ...decoder } = decoderOf(fields);
    return decoderParts(
      { ...decoder, headBias: false, ...(images === undefined ? {} : { images }) },
      name,
      length,
    );
  };
}

/** Language models of one stack of blocks. */
const stackTypes: Readonly<Record<string, DecoderType>> = {
  ...decoderTypes,
  ...expertTypes,
  ...linearAttentionTypes,
  ...mambaTypes,
};

/** Every type of model that is known, by `model_type`. */
const types: Readonly<Record<string, WriteSpec>> = {
  ...Object.fromEntries(
    Object.entries(stackTypes).map(([name, type]) => [
      name,
      (fields: ConfigFields, title: string, length?: number) => decoderParts(type(fields), title, length),
    ]),
  ),
  ...encoderTypes,
  ...vitTypes,
  esm,
  gemma4_text: gemma4,
  nomic_bert: nomicBert,
  dinov3_vit: dinov3,
  albert,
  modernbert: modernBert,
  dinov2,
  dinov2_with_registers: dinov2,
  'deberta-v2': debertaV2,
  deberta,
  squeezebert: squeezeBert,
  'vision-encoder-decoder': visionEncoderDecoder,
  layoutlmv3: layoutLmV3,
  ...bartTypes,
  ...clipTypes,
  ...convolutionalTypes,
  t5,
  mt5: t5,
  umt5: t5,
  whisper,
  swin,
  'donut-swin': swin,
  'maskformer-swin': swin,
  swinv2: swinV2,
  regnet: regNet,
  mobilenet_v1: mobileNetV1,
  mobilenet_v2: mobileNetV2,
  poolformer: poolFormer,
  videomae: videoMae,
  vivit,
  detr,
  'table-transformer': detr,
  depth_anything: depthAnything,
  yolos,
  beit,
  'data2vec-vision': beit,
  segformer,
  wav2vec2: speechEncoder,
  hubert: speechEncoder,
  wavlm: speechEncoder,
  'data2vec-audio': speechEncoder,
  unispeech: speechEncoder,
  'unispeech-sat': speechEncoder,
};

export const knownTypes = [...Object.keys(types), ...Object.keys(imageTypes)];

const failed = (code: 'config/unreadable' | 'config/unknown-type', message: string): SpecOfConfig => ({
  text: undefined,
  dimensions: [],
  issues: [{ code, severity: 'error', message }],
});

/** The name a config gives its model (`_name_or_path`), else the file's folder or type. */
function nameOf({ type, fields }: HuggingFaceConfig, file: string): string {
  const given = fields._name_or_path;
  const own = typeof given === 'string' ? (given.split('/').at(-1) ?? '') : '';
  if (/^[\w.-]+$/.test(own)) return own;
  return /^config\.json$/i.test(file) ? type : file.replace(/\.json$/i, '');
}
