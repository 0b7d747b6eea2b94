/** `layercost/findCounterpart`, `layercost/writeLayerSpec`: a binary model as its operators and as its layers. */

import {
  type CounterpartParams,
  type CounterpartResult,
  findCounterpart,
  type LayerSpecParams,
  type LayerSpecResult,
  writeLayerSpec,
} from '../../protocol.ts';
import type { OnnxFile } from '../onnxFiles.ts';
import type { Request } from './request.ts';

export const modelTexts: Request = {
  serve: ({ connection, handler, files }) => {
    connection.onRequest(
      findCounterpart,
      handler(
        'finding a line',
        { line: 0 },
        async ({ model, from, line }: CounterpartParams): Promise<CounterpartResult> => {
          const file = await files.open(model);
          return { line: from === 'layers' ? lineOfText(file, line) : lineOfLayers(file, line) };
        },
      ),
    );
    connection.onRequest(
      writeLayerSpec,
      handler(
        'writing a layer spec',
        { text: '', problems: [] },
        async ({ model }: LayerSpecParams): Promise<LayerSpecResult> => {
          const { text, problems } = (await files.open(model)).layers();
          return { text, problems };
        },
      ),
    );
  },
};

/** The line of the first operator of a layer; the first line where the layer has none. */
function lineOfText({ nodes, layers, opened }: OnnxFile, line: number): number {
  const { lines, operatorOf } = layers();
  const above = lines.findLast((each) => each.line <= line) ?? lines[0];
  const wanted = new Set(above?.operators[0] ?? []);
  const operator = opened.analysis?.graph.operators.find(({ outputs }) =>
    outputs.some((output) => wanted.has(operatorOf.get(output) ?? -1)),
  );
  return nodes[operator?.source ?? -1]?.line ?? 0;
}

/** The line of the layer that an operator belongs to, or of the next one that belongs to any. */
function lineOfLayers({ nodes, layers, opened }: OnnxFile, line: number): number {
  const { lines, operatorOf } = layers();
  const calls = lines.filter(({ lastLine }) => lastLine === undefined);
  for (const { source, outputs } of opened.analysis?.graph.operators ?? []) {
    if ((nodes[source]?.lastLine ?? -1) < line) continue;
    const known = outputs.flatMap((output) => operatorOf.get(output) ?? []);
    const found = calls.find(({ operators }) =>
      operators.some((each) => known.some((operator) => each.includes(operator))),
    );
    if (found !== undefined) return found.line;
  }
  return 0;
}
