/**
 * Writes `test/composites/functions.csv` and its models from what `functionsOfTorch.py FOLDER` left there:
 * `node scripts/measured/packFunctions.mjs FOLDER`. Ratios are those of the engine as it is now, over PyTorch's figures.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { loadSource } from '../loadSource.mjs';

const [folder = '.'] = process.argv.slice(2);
const { costFunction } = await loadSource('test/composites/costFunction.ts');

/** A CPU keeps other things of recurrent layers than cuDNN. */
const isRecurrent = (name) => /^(LSTM|GRU|RNN)/.test(name);
const ratio = (engine, measured) => {
  if (measured === 0) return engine === 0 ? '1.000' : '';
  return (engine / measured).toFixed(3);
};

const lines = ['name,exporter,saved,parameters,flops,savedRatio,parametersRatio,flopsRatio'];
const models = [];
for (const line of readFileSync(join(folder, 'functions.jsonl'), 'utf8').trim().split('\n')) {
  const { name: named, files, saved, parameters, flops } = JSON.parse(line);
  const name = named.replaceAll(',', ';');
  for (const [exporter, file] of Object.entries(files)) {
    const model = readFileSync(join(folder, file));
    const cost = costFunction(model);
    const kept = isRecurrent(name) ? ['', ''] : [saved, ratio(cost.saved, saved)];
    const ratios = [kept[1], ratio(cost.parameters, parameters), ratio(cost.flops, flops)];
    lines.push([name, exporter, kept[0], parameters, flops, ...ratios].join(','));
    models.push(JSON.stringify({ name, exporter, model: model.toString('base64') }));
  }
}
writeFileSync('test/composites/functions.csv', `${lines.join('\n')}\n`);
writeFileSync('test/composites/functions.models.gz', gzipSync(models.join('\n'), { level: 9 }));
