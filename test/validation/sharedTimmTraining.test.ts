/**
 * Parameters of timm's training exports against the counts that timm publishes beside its own measurements
 * (millions, two decimals). Every sixth model, so that the suite stays quick; all of them agree but for the
 * differences listed.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { readOnnx } from '../../server/src/formats/onnx/readOnnx.ts';
import { hasSharedModels, readShared, sharedModels } from '../support/sharedModels.ts';

/** Architectures that changed between the release that was measured and the one that was exported. */
const tolerance = 0.004;

if (!hasSharedModels) {
  test('nothing is compared: ../shared/models is absent', () => {
    expect(hasSharedModels).toBe(false);
  });
} else {
  const published = publishedMillions();
  const files = sharedModels('timm-train').filter((_, index) => index % 6 === 0);
  let exact = 0;

  describe('parameters and costs of timm training exports', () => {
    test.each(files)('%s', (path) => {
      const { model } = readOnnx(byteSourceOfBuffer(readShared(path)));
      if (model === undefined) throw new Error(`${path} cannot be read`);
      const analysis = analyzeOnnx(model);
      const millions = analysis.parameters.reduce((total, { elements }) => total + elements, 0) / 1e6;
      const expected = published.get(path.replace(/^timm-train\/|\.onnx\.gz$/g, '')) ?? Number.NaN;
      expect(Math.abs(millions - expected) / expected).toBeLessThan(tolerance);
      if (Math.abs(millions - expected) <= 0.0051) exact += 1;

      const bindings = new Map(analysis.symbols.map(({ name }) => [name, 2]));
      const { costs } = bindTrainingGraph(analysis, bindings, 'training');
      expect(costs.filter(({ kind }) => kind === 'unknown')).toEqual([]);
    });

    test('nine in ten agree to the last decimal', () => {
      expect(exact / files.length).toBeGreaterThan(0.9);
    });
  });
}

function publishedMillions(): ReadonlyMap<string, number> {
  const path = new URL('../../../shared/measured/timm_train_rtx3090.csv', import.meta.url);
  const [header = '', ...rows] = readFileSync(fileURLToPath(path), 'utf8').trim().split(/\r?\n/);
  const columns = header.split(',');
  const [name, count] = [columns.indexOf('model'), columns.indexOf('params_m')];
  return new Map(
    rows.map((row): [string, number] => {
      const cells = row.split(',');
      return [cells[name] ?? '', Number(cells[count])];
    }),
  );
}
