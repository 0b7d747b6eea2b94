/**
 * Formats people mistake for a model Layercost reads, by their first bytes, with what to do about each.
 *
 * Sources of the signatures: the formats' own documentation, and `file`'s magic for the archives.
 */

import { type ByteSource, startsWithUtf16Mark } from './byteSource.ts';

export interface ForeignFormat {
  /** With its article, to follow "is": "a zip archive". */
  readonly name: string;
  /** An imperative: "unpack it first". */
  readonly advice: string;
}

const exportFromPyTorch = 'export the model with `layercost export` or `torch.onnx.export`';

/** Files of weights are published with a config, which says what they compute. */
const openConfigOrExport = 'open the `config.json` of the model, or export the model with `layercost export`';

/** The foreign format of a file, or `undefined` where it may be a model. Reads the first 512 bytes. */
export function recognizeForeignFormat(source: ByteSource): ForeignFormat | undefined {
  const head = source.read(0, 512);
  const text = latin1(head);
  for (const [signature, offset, name, advice] of signatures) {
    if (text.startsWith(signature, offset)) return { name, advice };
  }
  if (/^\s*<\?xml[^>]*>\s*<net\s/i.test(text)) {
    return { name: 'an OpenVINO model', advice: 'open the ONNX model it was converted from' };
  }
  if (/^\s*(<!doctype html|<html|<\?xml|<!--)/i.test(text)) {
    return {
      name: 'a web page (HTML or XML)',
      advice: 'download the file itself, a link to a file viewer gives a page',
    };
  }
  if (head.length > 8 && head[8] === 0x7b && /^.{8}\{\s*"/s.test(text)) {
    return { name: 'a safetensors file: weights without a graph', advice: openConfigOrExport };
  }
  if (head[0] === 0x0a && looksBinary(head)) {
    // ONNX's first field is a number; this is a message or a text.
    return {
      name: 'a protobuf message of another kind (a TensorFlow graph, a Caffe model or a single tensor)',
      advice: 'convert TensorFlow with `tf2onnx`, open the .prototxt of a Caffe model',
    };
  }
  if (isWideText(head)) {
    return { name: 'text in UTF-16 or UTF-32 without a mark that says so', advice: 'save it as UTF-8' };
  }
  if (text.length >= 265 && text.startsWith('ustar', 257)) {
    return { name: 'a tar archive', advice: 'unpack it first' };
  }
  return undefined;
}

/** Whether every second byte, or three of four, is zero, as in Latin text of wide characters. */
function isWideText(head: Uint8Array): boolean {
  if (head.length < 8 || startsWithUtf16Mark(head)) return false;
  const characters = head.filter((byte) => byte !== 0);
  if (looksBinary(characters)) return false;
  const zerosAt = (step: number, places: readonly number[]): boolean =>
    head.every((byte, index) => index < step || places.includes(index % step) === (byte === 0));
  return zerosAt(2, [0]) || zerosAt(2, [1]) || zerosAt(4, [0, 1, 2]) || zerosAt(4, [1, 2, 3]);
}

/** Whether there are control characters that no text holds. */
export function looksBinary(head: Uint8Array): boolean {
  return head.some((byte) => byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d && byte !== 0x0c);
}

const signatures: readonly (readonly [signature: string, offset: number, name: string, advice: string])[] = [
  ['PK\x03\x04', 0, 'a zip archive (PyTorch .pt, Keras .keras, .mar, .npz)', exportFromPyTorch],
  ['\x1f\x8b', 0, 'compressed by gzip', 'unpack it first (`gunzip`)'],
  ['BZh', 0, 'compressed by bzip2', 'unpack it first (`bunzip2`)'],
  ['\xfd7zXZ', 0, 'compressed by xz', 'unpack it first (`unxz`)'],
  ['\x28\xb5\x2f\xfd', 0, 'compressed by zstd', 'unpack it first (`unzstd`)'],
  ['7z\xbc\xaf\x27\x1c', 0, 'a 7z archive', 'unpack it first'],
  ['PK\x05\x06', 0, 'an empty zip archive', exportFromPyTorch],
  ['\x80\x02', 0, 'a Python pickle (an old PyTorch checkpoint)', exportFromPyTorch],
  ['\x80\x03', 0, 'a Python pickle', exportFromPyTorch],
  ['\x80\x04', 0, 'a Python pickle', exportFromPyTorch],
  ['\x80\x05', 0, 'a Python pickle', exportFromPyTorch],
  ['\x89HDF\r\n', 0, 'an HDF5 file (Keras .h5)', 'export the model with `tf2onnx`'],
  ['\x93NUMPY', 0, 'a NumPy array', 'open the model, not its data'],
  ['GGUF', 0, 'a GGUF file: weights without a graph', openConfigOrExport],
  ['TFL3', 4, 'a TensorFlow Lite model', 'convert it with `tf2onnx`'],
  ['ORTM', 4, 'an ONNX Runtime model (.ort)', 'open the .onnx it was made from'],
  ['ftrt', 0, 'a TensorRT engine', 'open the .onnx it was built from'],
  ['version https://git-lfs', 0, 'a Git LFS pointer, not the file itself', 'fetch it with `git lfs pull`'],
  ['\x7fELF', 0, 'a program', 'open a model'],
  ['MZ', 0, 'a program', 'open a model'],
  ['%PDF', 0, 'a PDF document', 'open a model'],
  ['\x89PNG', 0, 'a PNG image', 'open a model'],
  ['\xff\xd8\xff', 0, 'a JPEG image', 'open a model'],
];

const latin1 = (bytes: Uint8Array): string => {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
};
