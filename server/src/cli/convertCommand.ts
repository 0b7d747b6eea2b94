/** `layercost convert`: a model file in another format. */

import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, extname } from 'node:path';
import type { TargetFormat } from '../analysis/conversionRequest.ts';
import { convertModel } from '../analysis/convertModel.ts';
import { formatBytes } from '../model/format.ts';
import { bytes } from '../model/units.ts';
import { openFileSource } from '../node/fileSource.ts';
import { includeReader } from '../node/includeReader.ts';
import type { ConvertArguments } from './convertArguments.ts';
import { printIssues, splitModelName } from './costFile.ts';
import { openGguf } from './openGguf.ts';
import { printsToTerminal } from './printsToTerminal.ts';
import { printData, printMessage } from './streams.ts';
import { writeOutput } from './writeOutput.ts';

/** Existing files are kept unless `--force` is given, and the model itself always. */
export function runConvertCommand(given: ConvertArguments): number {
  const { output } = given;
  const to = given.to ?? (output === undefined ? undefined : formatOfExtension(output));
  if (output !== undefined && to === undefined) {
    printMessage(
      `layercost: ${output} has no known format: end it in .onnx, .onnxtxt or .layers.yaml, or give --to`,
    );
    return 2;
  }
  const { path, model } = splitModelName(given.file);
  const opened = openFileSource(path);
  if (opened.kind === 'failed') {
    printIssues(path, [opened.issue]);
    return 1;
  }
  try {
    const name = basename(path);
    const gguf = path.endsWith('.gguf') ? openGguf(opened.file.source, path) : undefined;
    if (gguf !== undefined && 'issue' in gguf) {
      printIssues(path, [gguf.issue]);
      return 1;
    }
    const conversion = convertModel(gguf?.config ?? opened.file.source, name, {
      to,
      weights: given.weights,
      externalPath: `${basename(output ?? 'model.onnx')}.data`,
      dimensions: given.dimensions,
      model,
      readInclude: includeReader(dirname(path)),
    });
    const spoiled = opened.file.spoiled();
    if (spoiled !== undefined) {
      printIssues(path, [spoiled]);
      return 1;
    }
    if (conversion.kind === 'refused') {
      printMessage(`layercost: ${conversion.message}`);
      return 2;
    }
    printIssues(path, conversion.issues);
    if (conversion.kind === 'failed') return 1;
    for (const note of conversion.notes) printMessage(`${path}: ${note}`);
    const { content } = conversion;
    return write(content.to === 'onnx' ? content.bytes : content.text, path, given);
  } finally {
    opened.file.close();
  }
}

const formatOfExtension = (path: string): TargetFormat | undefined =>
  /\.layers\.ya?ml$/i.test(path) ? 'layer-spec' : extensions[extname(path).toLowerCase()];

const extensions: Readonly<Record<string, TargetFormat>> = {
  '.onnx': 'onnx',
  '.onnxtxt': 'onnx-text',
  '.onnxtext': 'onnx-text',
};

function write(content: string | Uint8Array, model: string, { output, force }: ConvertArguments): number {
  if (output === undefined) {
    if (typeof content !== 'string' && printsToTerminal()) {
      printMessage(
        'layercost: binary ONNX is not printed to a terminal; give a file with --output model.onnx',
      );
      return 2;
    }
    printData(content);
    return 0;
  }
  if (existsSync(output) && realpathSync(output) === realpathSync(model)) {
    printMessage(`layercost: ${output} is the input model; give another file`);
    return 2;
  }
  if (!writeOutput(output, content, force ? 'w' : 'wx')) return 1;
  printMessage(`wrote ${output} (${formatBytes(bytes(Buffer.byteLength(content)))})`);
  return 0;
}
