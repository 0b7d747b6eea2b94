/** Which format a file is in, by its content; the name decides only where the content fits several. */

import { type ByteSource, decodeBytes, startsWithUtf16Mark } from './byteSource.ts';
import { looksBinary, recognizeForeignFormat } from './foreignFormats.ts';
import { looksLikeConfig } from './hugging-face/readConfig.ts';
import { isPt2 } from './pt2/readPt2.ts';

/**
 * `onnx` is the binary format, `onnx-text` ONNX's own syntax, `onnx-protobuf-text` and `onnx-json` protobuf's;
 * `hugging-face-config` is the `config.json` of a model of transformers, `pt2` an archive of `torch.export`.
 */
export type SniffedFormat =
  | 'onnx'
  | 'onnx-text'
  | 'onnx-protobuf-text'
  | 'onnx-json'
  | 'pt2'
  | 'hugging-face-config'
  | 'layer-spec'
  | 'prototxt';

export interface Sniffed {
  /** `undefined` where the file is in no format Layercost knows. */
  readonly format: SniffedFormat | undefined;
  /** Why: what was seen, and for an unknown format what to do. One line, no trailing full stop. */
  readonly reason: string;
}

/** Enough for the comments and keys at the top of a text format. */
const headBytes = 4096;

export function sniffFormat(source: ByteSource, name: string): Sniffed {
  const byName = formatOfName(name);
  if (source.size === 0) {
    return {
      format: byName,
      reason: 'The file is empty: export the model again, or check that the download finished',
    };
  }
  if (startsLikeZip(source.read(0, 4)) && isPt2(source, name)) {
    return { format: 'pt2', reason: 'The content is an archive of torch.export' };
  }
  const foreign = recognizeForeignFormat(source);
  if (foreign !== undefined) {
    return { format: undefined, reason: `The file is ${foreign.name}: ${foreign.advice}` };
  }
  const head = source.read(0, headBytes);
  if (startsLikeModelProto(head)) return { format: 'onnx', reason: 'The first field is an ONNX IR version' };
  // A name in a file may hold any character, and so does the text it is printed to.
  if (looksBinary(head) && !startsWithUtf16Mark(head) && !isModelHeader(decodeBytes(head))) {
    return { format: 'onnx', reason: 'The content is binary, and ONNX is the only supported binary format' };
  }
  const text = withoutLongName(decodeBytes(head), source);
  const notebook = notebookReason(text, name);
  if (notebook !== undefined) return { format: undefined, reason: notebook };
  const byContent = formatOfText(text);
  if (byContent !== undefined) return byContent;
  if (byName !== undefined) {
    return { format: byName, reason: 'The content matches no format with certainty, so the name decides' };
  }
  return {
    format: undefined,
    reason:
      scriptReason(text, name) ??
      'The text is neither a layer spec (a `layers:` key at the top level) nor ONNX text: see the samples for both',
  };
}

const notebookReason = (text: string, name: string): string | undefined =>
  name.endsWith('.ipynb') || /^\s*\{\s*"cells"\s*:/.test(text)
    ? 'The file is a notebook: save the model in a cell with `torch.export.save` or `torch.onnx.export`, and open that file'
    : undefined;

/** A script has no graph until it runs. */
const scriptReason = (text: string, name: string): string | undefined =>
  /\.pyi?$/.test(name) || /^(?:import|from)\s+[\w.]+(?:\s|$)/m.test(text)
    ? 'The file is a Python script: export its model with `layercost export FILE.py:NAME`, or with `Layercost: Cost This Model` in the editor'
    : undefined;

/** A text that begins with a name longer than its head, with an empty one: what follows says what it is. */
function withoutLongName(head: string, source: ByteSource): string {
  const opening = /^\s*name\s*:\s*(["'])(?:(?!\1)[^\n])*$/.exec(head);
  if (opening === null || source.size <= headBytes) return head;
  const quote = opening[1]?.charCodeAt(0) ?? 0;
  for (let start = headBytes; start < Math.min(source.size, longestName); start += headBytes) {
    const chunk = source.read(start, Math.min(headBytes, source.size - start));
    const end = chunk.indexOf(quote);
    if (end < 0) continue;
    const after = start + end + 1;
    return `name: ""${decodeBytes(source.read(after, Math.min(headBytes, source.size - after)))}`;
  }
  return head;
}

/** Bytes of a name that are looked through for its end. */
const longestName = 2 ** 25;

const startsLikeZip = ([first, second, third, fourth]: Uint8Array): boolean =>
  first === 0x50 && second === 0x4b && third === 0x03 && fourth === 0x04;

/**
 * ONNX writers put `ir_version` first: field 1 as a varint, then a field of `ModelProto`. A text that begins with
 * a backspace does not exist.
 */
function startsLikeModelProto(head: Uint8Array): boolean {
  const [tag, version, next] = head;
  if (tag !== 0x08 || version === undefined || version === 0 || version > 0x7f) return false;
  return next === undefined || (next & 7) === 2 || (next & 7) === 0;
}

const layerSpec: Sniffed = {
  format: 'layer-spec',
  reason: 'The content is a layer spec: YAML with its keys',
};

function formatOfText(text: string): Sniffed | undefined {
  const body = withoutComments(text);
  if (isModelHeader(body) || /^("[^"\n]*"|[A-Za-z_]\w*)\s*\([^{]*\)\s*=>/.test(body)) {
    return { format: 'onnx-text', reason: 'The content is ONNX text: a model header or a graph signature' };
  }
  if (
    /^(node|versions|library)\s*\{/.test(body) &&
    /\b(op|producer|min_consumer|signature)\s*[:{]/.test(body)
  ) {
    return {
      format: undefined,
      reason: 'The text is a TensorFlow graph: convert the model with `tf2onnx`',
    };
  }
  if (tritonField.test(body) && !/^\s*layers?\s*:?\s*\{/m.test(body)) {
    return {
      format: undefined,
      reason:
        'The text is a model configuration of Triton Inference Server: open the model beside it, such as 1/model.onnx',
    };
  }
  if (protobufTextField.test(body)) {
    return { format: 'onnx-protobuf-text', reason: 'The content is an ONNX model as protobuf text' };
  }
  // Keys that Caffe does not have: an input of a layer spec may be called `input`, as its field is.
  if (/^(inputs|dims|blocks|scenario)\s*:/m.test(body)) return layerSpec;
  if (
    /^\s*(layers?\s*:?\s*\{|input(_dim|_shape)?\s*[:{]|(name\s*:\s*"[^"]*"\s*)(layers?\s*:?\s*\{|(input|state|force)\b))/m.test(
      body,
    )
  ) {
    return { format: 'prototxt', reason: 'The content is a Caffe prototxt: layers in braces' };
  }
  if (/^(layers|name)\s*:/m.test(body)) return layerSpec;
  if (body.startsWith('{') && jsonField.test(body)) {
    return { format: 'onnx-json', reason: 'The content is an ONNX model as JSON' };
  }
  if (looksLikeConfig(body)) {
    return { format: 'hugging-face-config', reason: 'The content is the config of a model of transformers' };
  }
  if (body.startsWith('{') || body.startsWith('[')) {
    return {
      format: undefined,
      reason:
        'The file is JSON, but no ONNX model and no `config.json` with a `model_type`: open one of these or a layer spec',
    };
  }
  return undefined;
}

/** `<ir_version: …`; no field of a binary model begins so. */
const isModelHeader = (text: string): boolean => /^<\s*\w+\s*:/.test(text);

/** Whether a text is an ONNX model as protobuf text, which may have any name. */
export const isOnnxProtobufText = (text: string): boolean => protobufTextField.test(withoutComments(text));

/** From the first line that says something. */
const withoutComments = (text: string): string => {
  const start = /\S/g;
  for (start.lastIndex = text.startsWith('\uFEFF') ? 1 : 0; ; ) {
    const found = start.exec(text);
    if (found === null) return '';
    const { index } = found;
    if (text[index] !== '#' && !text.startsWith('//', index)) return text.slice(index);
    const lineEnd = text.indexOf('\n', index);
    if (lineEnd < 0) return '';
    start.lastIndex = lineEnd + 1;
  }
};

/** A model begins with a field of its own: Caffe nets and layer specs have none of these. */
const protobufTextField =
  /^(ir_version\s*:|opset_import\s*:?\s*[{<[]|graph\s*:?\s*[{<]|functions\s*:?\s*[{<[]|metadata_props\s*:?\s*[{<[]|(producer_name|producer_version|domain|doc_string)\s*:\s*["']|model_version\s*:)/;

/** Fields of Triton's ModelConfig that no net and no model has (triton-inference-server/common, model_config.proto). */
const tritonField =
  /^(platform\s*:\s*["']|backend\s*:\s*["']|max_batch_size\s*:|default_model_filename\s*:|(instance_group|dynamic_batching|sequence_batching|ensemble_scheduling|model_warmup|version_policy)\s*:?\s*[[{<])/m;

const jsonField =
  /"(irVersion|ir_version|opsetImport|opset_import|producerName|producer_name|graph)"\s*:\s*["\d{[]/;

function formatOfName(name: string): SniffedFormat | undefined {
  const lower = name.toLowerCase();
  if (lower.endsWith('.onnx')) return 'onnx';
  if (lower.endsWith('.onnxtxt') || lower.endsWith('.onnxtext')) return 'onnx-text';
  if (/\.layers\.ya?ml$/.test(lower)) return 'layer-spec';
  if (/\.(textproto|pbtxt|textpb|onnx\.prototxt)$/.test(lower)) return 'onnx-protobuf-text';
  if (lower.endsWith('.prototxt')) return 'prototxt';
  return undefined;
}
