/** Layers that bring data into the net: they are its inputs, and cost nothing on the GPU. */

import {
  booleanOf,
  type CaffeLayer,
  type CaffeMessage,
  messageOf,
  messagesOf,
  numberOf,
  numbersOf,
  textOf,
} from '../../../formats/caffe/syntax.ts';
import { type Dimension, symbol, unknownDimension } from '../../../model/dimension.ts';
import type { TextSpan } from '../../../model/issue.ts';

export interface DataLayerDefinition {
  readonly type: string;
  readonly aliases?: readonly string[];
  readonly documentation: string;
  readonly source: string;
  readonly parameters: string;
}

/** What a data layer puts into its tops. */
export interface DataShapes {
  /** One per top; `undefined` where not even the rank is known. */
  readonly shapes: readonly (readonly Dimension[] | undefined)[];
  /** Sizes that were assumed, or that only the data base knows: said once, at the layer. */
  readonly remark:
    | {
        readonly severity: 'warning' | 'information';
        readonly message: string;
        /** Sizes that a person can give. */
        readonly unset: readonly string[];
      }
    | undefined;
  /** Names of dimensions that were given from outside and used. */
  readonly used: readonly string[];
  /** Names of dimensions that were needed and not given. */
  readonly missing: readonly string[];
  /** What Caffe refuses. */
  readonly problem: { readonly message: string; readonly span: TextSpan } | undefined;
}

export const dataLayers: readonly DataLayerDefinition[] = [
  {
    type: 'Input',
    documentation: 'A blob that is given from outside.',
    source: 'input_layer.cpp',
    parameters: 'input_param',
  },
  {
    type: 'Data',
    documentation: 'Images and labels of a data base.',
    source: 'data_layer.cpp',
    parameters: 'data_param',
  },
  {
    type: 'AnnotatedData',
    documentation: 'Images and boxes of a data base.',
    source: 'annotated_data_layer.cpp of SSD',
    parameters: 'data_param',
  },
  {
    type: 'ImageData',
    documentation: 'Images and labels listed in a file.',
    source: 'image_data_layer.cpp',
    parameters: 'image_data_param',
  },
  {
    type: 'HDF5Data',
    documentation: 'Blobs of HDF5 files.',
    source: 'hdf5_data_layer.cpp',
    parameters: 'hdf5_data_param',
  },
  {
    type: 'MemoryData',
    documentation: 'Images and labels given from memory.',
    source: 'memory_data_layer.cpp',
    parameters: 'memory_data_param',
  },
  {
    type: 'DummyData',
    documentation: 'Blobs filled with constants or random numbers.',
    source: 'dummy_data_layer.cpp',
    parameters: 'dummy_data_param',
  },
  {
    type: 'WindowData',
    documentation: 'Windows of images, and their labels.',
    source: 'window_data_layer.cpp',
    parameters: 'window_data_param',
  },
  {
    type: 'ImageSegData',
    aliases: ['ImageLabelmapData', 'ImageDimData', 'WindowSegData', 'SegData'],
    documentation: 'Images and labels of every pixel, listed in a file.',
    source: 'image_seg_data_layer.cpp of DeepLab and PSPNet; image_labelmap_data_layer.cpp of HED',
    parameters: 'image_data_param',
  },
  {
    type: 'DenseImageData',
    documentation: 'Images and images of labels, listed in a file.',
    source: 'dense_image_data_layer.cpp of SegNet',
    parameters: 'dense_image_data_param',
  },
  {
    type: 'CPMData',
    aliases: ['CPMBottomUpData', 'OPData'],
    documentation: 'Images, and maps of parts of bodies.',
    source: 'cpm_data_layer.cpp of OpenPose training',
    parameters: 'data_param',
  },
  {
    type: 'VideoData',
    documentation: 'Frames of videos, and their labels.',
    source: 'video_data_layer.cpp of C3D and of SSD',
    parameters: 'video_data_param',
  },
];

/** The data layer of a type, by any of its names. */
export const findDataLayer = (type: string): DataLayerDefinition | undefined =>
  dataLayers.find((layer) => layer.type === type || layer.aliases?.includes(type));

/** Shapes of the tops of a data layer. `given` are dimensions from outside: channels, frames, height, width, features. */
export function dataShapes(layer: CaffeLayer, given: ReadonlyMap<string, number>): DataShapes {
  const parameters = parametersOf(layer);
  switch (layer.type) {
    case 'Input':
      return sized(layer, shapesOf(messagesOf(parameters, 'shape'), layer), '`input_param`');
    case 'DummyData':
      return sized(layer, dummyShapes(parameters, layer), '`dummy_data_param`');
    case 'MemoryData': {
      const sides = ['channels', 'height', 'width'].map((name) => numberOf(parameters, name));
      const batch = numberOf(parameters, 'batch_size');
      const known = [batch, ...sides].flatMap((side) => side ?? []);
      const image = known.length === 4 ? known : undefined;
      return sized(layer, withLabels(layer, image, batch), '`memory_data_param`');
    }
    default:
      return fromFiles(layer, parameters, given);
  }
}

/** Its own message; for a layer that is not known, the one of a data layer that it has. */
function parametersOf(layer: CaffeLayer): CaffeMessage | undefined {
  const known = findDataLayer(layer.type);
  const fields = known === undefined ? dataLayers.map(({ parameters }) => parameters) : [known.parameters];
  return [...fields, 'data_param', 'image_data_param']
    .map((field) => messageOf(layer.fields, field))
    .find((message) => message !== undefined);
}

function sized(
  layer: CaffeLayer,
  shapes: readonly (readonly Dimension[] | undefined)[],
  where: string,
): DataShapes {
  const missing = shapes.some((shape) => shape === undefined || shape.length === 0);
  const negative = shapes.some((shape) => shape?.some((size) => typeof size === 'number' && size < 1));
  const message = missing
    ? `the shape of \`${layer.tops[0]?.text}\` is missing: give it in ${where}`
    : 'dimensions must be above 0';
  return {
    shapes,
    remark: undefined,
    used: [],
    missing: [],
    problem: missing || negative ? { message, span: layer.typeSpan } : undefined,
  };
}

/** One shape for every top, or one for all of them. */
function shapesOf(
  messages: readonly CaffeMessage[],
  layer: CaffeLayer,
): readonly (readonly number[] | undefined)[] {
  const shapes = messages.map((shape) => numbersOf(shape, 'dim'));
  return layer.tops.map((_, index) => shapes[index] ?? (shapes.length === 1 ? shapes[0] : undefined));
}

function dummyShapes(
  parameters: CaffeMessage | undefined,
  layer: CaffeLayer,
): readonly (readonly number[] | undefined)[] {
  const shapes = messagesOf(parameters, 'shape');
  if (shapes.length > 0) return shapesOf(shapes, layer);
  return layer.tops.map((_, index) => {
    const sides = ['num', 'channels', 'height', 'width'].map((name) => {
      const values = numbersOf(parameters, name);
      return values[index] ?? values[0];
    });
    const known = sides.flatMap((side) => side ?? []);
    return known.length === 4 ? known : undefined;
  });
}

/** Labels are one number of each sample where BVLC Caffe has the layer; else their reader knows their shape. */
const withLabels = (
  layer: CaffeLayer,
  image: readonly Dimension[] | undefined,
  batch: Dimension | undefined,
): readonly (readonly Dimension[] | undefined)[] =>
  layer.tops.map((_, index) => {
    if (index === 0) return image;
    if (index === 1 && labelsPixels(layer) && image?.length === 4) {
      return [image[0], 1, image[2], image[3]].flatMap((size) => size ?? []);
    }
    return batch === undefined || !labelsSamples.has(layer.type) ? undefined : [batch];
  });

/** Layers whose label is an image, unless they say that it is a number of each image. */
const labelsPixels = (layer: CaffeLayer): boolean =>
  (findDataLayer(layer.type)?.type === 'ImageSegData' || layer.type === 'DenseImageData') &&
  !['IMAGE', 'NONE'].includes(textOf(parametersOf(layer), 'label_type') ?? '');

const labelsSamples: ReadonlySet<string> = new Set([
  'Data',
  'ImageData',
  'HDF5Data',
  'MemoryData',
  'WindowData',
]);

/** Images of files: their size is in the net only where they are cropped or resized (data_transformer.cpp, InferBlobShape). */
function fromFiles(
  layer: CaffeLayer,
  parameters: CaffeMessage | undefined,
  given: ReadonlyMap<string, number>,
): DataShapes {
  const stated = numberOf(parameters, 'batch_size') ?? pythonNumber(layer, 'batch_size');
  const batch: Dimension = stated ?? unknownDimension('no batch_size is given');
  const done = (
    sample: readonly Dimension[],
    used: readonly string[],
    missing: readonly string[],
    remark: DataShapes['remark'],
  ): DataShapes => {
    const shapes = withLabels(layer, [batch, ...sample], batch);
    return { shapes, remark, used, missing, problem: undefined };
  };
  const features = given.get('features');
  if (features !== undefined) return done([features], ['features'], [], undefined);
  const [cropHeight, cropWidth] = imageSides(layer, parameters);
  const told = channelsOf(layer, parameters);
  const [channels, height, width] = [
    told ?? given.get('channels'),
    cropHeight ?? given.get('height'),
    cropWidth ?? given.get('width'),
  ];
  // Frames of a video, or slices of a volume, stand behind the channels (video_data_layer.cpp of C3D).
  const frames = given.get('frames') ?? framesOf(layer, parameters);
  const depth = frames === undefined ? [] : [frames];
  const used = [
    ...(given.has('frames') ? ['frames'] : []),
    ...(told === undefined && channels !== undefined ? ['channels'] : []),
    ...(cropHeight === undefined && height !== undefined ? ['height'] : []),
    ...(cropWidth === undefined && width !== undefined ? ['width'] : []),
  ];
  if (height !== undefined && width !== undefined) {
    return done(
      [channels ?? 3, ...depth, height, width],
      used,
      [],
      channels === undefined ? assumedChannels : drawnSizeOf(layer, height, width),
    );
  }
  if (layer.type === 'HDF5Data' && height === undefined && width === undefined) {
    const message =
      'The size of a sample is in the HDF5 files: set `features`, or `channels`, `height` and `width`';
    return done([symbol('features')], used, ['features'], {
      severity: 'warning',
      message,
      unset: ['features'],
    });
  }
  const missing = [
    ...(channels === undefined ? ['channels'] : []),
    ...(height === undefined ? ['height'] : []),
    ...(width === undefined ? ['width'] : []),
  ];
  const names = missing.map((name) => `\`${name}\``).join(', ');
  const message = `The size of the images is in the data base, not in the net: set ${names}`;
  return done(
    [channels ?? symbol('channels'), ...depth, height ?? symbol('height'), width ?? symbol('width')],
    used,
    missing,
    { severity: 'warning', message, unset: missing },
  );
}

const assumedChannels = {
  severity: 'information',
  message: 'How many channels the images have is not in the net: 3 are assumed',
  unset: ['channels'],
} as const;

/** More frames than one of a sample; forks that stack frames as channels say of what modality they are. */
function framesOf(layer: CaffeLayer, parameters: CaffeMessage | undefined): number | undefined {
  if (findDataLayer(layer.type)?.type !== 'VideoData' || parameters?.fields.has('modality')) return undefined;
  const frames = numberOf(parameters, 'new_length');
  return frames !== undefined && frames > 1 ? frames : undefined;
}

/** Forks draw a size for each batch; the net is set up with the first (annotated_data_layer.cpp of MobileNet-YOLO). */
function drawnSizeOf(layer: CaffeLayer, height: number, width: number): DataShapes['remark'] {
  const sizes = messagesOf(messageOf(layer.fields, 'transform_param'), 'resize_param').map((size) =>
    ['height', 'width'].map((name) => numberOf(size, name)).join(),
  );
  if (new Set(sizes).size < 2 || sizes[0] !== `${height},${width}`) return undefined;
  const message = `Images are resized at random to one of ${sizes.length} sizes: the first, ${height} × ${width}, is costed`;
  return { severity: 'information', message, unset: [] };
}

function imageSides(
  layer: CaffeLayer,
  parameters: CaffeMessage | undefined,
): readonly [height: number | undefined, width: number | undefined] {
  const transform = messageOf(layer.fields, 'transform_param');
  const [resize] = messagesOf(transform, 'resize_param');
  const side = (crop: readonly string[], ...others: readonly (number | undefined)[]): number | undefined =>
    [
      numberOf(transform, 'crop_size'),
      ...crop.map((name) => numberOf(transform, name)),
      numberOf(parameters, 'crop_size'),
      pythonNumber(layer, 'crop_size'),
      ...others,
    ].find((value) => value !== undefined && value > 0);
  return [
    side(['crop_h', 'crop_height'], numberOf(parameters, 'new_height'), numberOf(resize, 'height')),
    side(['crop_w', 'crop_width'], numberOf(parameters, 'new_width'), numberOf(resize, 'width')),
  ];
}

/** Channels the net tells: forced ones, one mean for each, or an image list read in colour. */
function channelsOf(layer: CaffeLayer, parameters: CaffeMessage | undefined): number | undefined {
  const transform = messageOf(layer.fields, 'transform_param');
  if (booleanOf(transform, 'force_gray')) return 1;
  if (booleanOf(transform, 'force_color') || booleanOf(parameters, 'force_encoded_color')) return 3;
  const means = numbersOf(transform, 'mean_value').length;
  if (means > 1) return means;
  if (parameters?.schema.has('is_color')) return booleanOf(parameters, 'is_color') === false ? 1 : 3;
  return layer.type === 'WindowData' ? 3 : undefined;
}

/** A number of a Python class's parameters, which are a dictionary as Python or JSON writes one. */
function pythonNumber(layer: CaffeLayer, name: string): number | undefined {
  const text = textOf(messageOf(layer.fields, 'python_param'), 'param_str') ?? '';
  const found = new RegExp(`\\b${name}\\b['"]?\\s*[:=]\\s*(\\d{1,9})\\b`).exec(text);
  return found === null ? undefined : Number(found[1]);
}
