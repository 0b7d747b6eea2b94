/**
 * `npm run coverage [FOLDER ...]`: which models of the folders the benchmark runs, forward and backward, on tensors without
 * contents. Left out, the folders are the samples and the exports and Caffe nets of `../shared/models`. Needs PyTorch 2.
 */

import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { loadSource, root } from './loadSource.mjs';

const { coveragePlan } = await loadSource('scripts/measured/coveragePlan.ts');
const shared = join(root, '../shared/models');
const given = process.argv.slice(2);
const sets =
  given.length > 0
    ? given.map((folder) => ({ folder, ending: /\.(onnx(\.gz)?|prototxt|layers\.yaml)$/ }))
    : [
        { folder: join(root, 'samples'), ending: /^[^/]*\.(onnx|layers\.yaml)$/ },
        { folder: join(shared, 'torch-export'), ending: /\.onnx\.gz$/ },
        { folder: shared, ending: /^caffe-.*\.prototxt$/ },
      ];

const child = spawn(
  process.env.LAYERCOST_PYTHON ?? 'python3',
  [join(root, 'test/runner/run_without_contents.py')],
  { stdio: ['pipe', 'pipe', 'ignore'] },
);
const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();

for (const { folder, ending } of sets) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    ending.test(name),
  );
  let [files, whole] = [0, 0];
  for (const name of names.sort()) {
    const plan = coveragePlan(join(folder, name));
    if (plan === undefined) continue;
    child.stdin.write(`${JSON.stringify(plan)}\n`);
    const { value, done } = await answers.next();
    if (done) throw new Error('Python ended: it needs PyTorch 2 (LAYERCOST_PYTHON names it)');
    const { failed, problems } = JSON.parse(value);
    files += 1;
    if (failed === null && problems.length === 0) whole += 1;
    else console.log(`${name}: ${failed ?? problems[0]}`);
  }
  console.log(`${folder}: ${whole} of ${files} run`);
}
child.stdin.end();
