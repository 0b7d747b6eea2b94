/** From a keystroke in a layer spec of a thousand lines to its hints: each stage, and all of it through the server. */

import { analyzeOnnx } from '../../server/src/analysis/analyzeOnnx.ts';
import { bindTrainingGraph } from '../../server/src/analysis/bindTrainingGraph.ts';
import { openLayerSpec } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { ReadingCache } from '../../server/src/formats/layer-spec/readingCache.ts';
import { readLayerSpec } from '../../server/src/formats/layer-spec/readLayerSpec.ts';
import { viewLayerSpec } from '../../server/src/language/viewLayerSpec.ts';
import { LoweringCache } from '../../server/src/lowering/layer-spec/loweringCache.ts';
import { lowerLayerSpec } from '../../server/src/lowering/lowerLayerSpec.ts';
import { nextTurn } from '../../server/src/node/nextTurn.ts';
import { randomOf } from '../fuzz/random.ts';
import { startTestServer } from '../lsp/testServer.ts';
import { largeSpec } from './editing.ts';
import { meanProcessor, quantile, startTimer, type Time } from './measure.ts';

const keystrokes = 200;
/** Not counted: the first ones wait for the compiler of the JavaScript engine, as they do once per session. */
const warmUp = 100;

/** Prints median, 95th percentile and maximum of every stage, and of all through a server in this process. */
export async function showKeystrokes(): Promise<void> {
  console.log(
    `\nA keystroke in a layer spec of 1,000 layers; n = ${keystrokes}, median, 95th percentile, most; mean processor time:`,
  );
  const texts = typing(longSpec(), keystrokes + warmUp);
  const stages = new Map<string, Time[]>();
  const timed = <Result>(stage: string, work: () => Result): Result => {
    const stop = startTimer();
    const result = work();
    const times = stages.get(stage) ?? [];
    times.push(stop());
    stages.set(stage, times);
    return result;
  };
  const reading = new ReadingCache();
  const memory = new LoweringCache();
  for (const text of texts) {
    timed('whole', () => {
      const { spec } = timed('read', () => readLayerSpec(text, reading));
      if (spec === undefined) return;
      const lowered = timed('lower', () => lowerLayerSpec(spec, { memory }));
      const analysis = timed('analyse', () => analyzeOnnx(lowered.model, lowered.structure));
      timed('bind', () => bindTrainingGraph(analysis, lowered.structure.symbolDefaults, 'training'));
    });
    const opened = openLayerSpec(text, 'long.layers.yaml', { memory });
    const estimate = timed('bind and estimate', () => estimateModel(opened, [opened.scenario]));
    timed('view', () => viewLayerSpec(text, estimate));
  }
  for (const [stage, times] of stages) {
    if (stage !== 'whole') showSpread(`  ${stage}`, times.slice(-keystrokes));
  }
  await showServer('language server', texts);
  await showServer('9,000 operators', typing(largeSpec(2048), keystrokes + warmUp));
}

/** From the change of the document to its hints, and to its diagnostics, which come after them. */
async function showServer(what: string, texts: readonly string[]): Promise<void> {
  const client = await startTestServer({ platform: { nextTurn } });
  const uri = 'file:///long.layers.yaml';
  await client.open(uri, 'layer-spec', texts[0] ?? '');
  await client.hints(uri, 2000);
  const hints: Time[] = [];
  const all: Time[] = [];
  for (const [index, text] of texts.entries()) {
    const version = index + 2;
    const stop = startTimer();
    await client.change(uri, version, text);
    await client.hints(uri, 2000);
    hints.push(stop());
    await client.diagnostics(uri, version);
    all.push(stop());
  }
  await client.stop();
  showSpread(`  ${what}: hints`, hints.slice(-keystrokes));
  showSpread(`  ${what}: and diagnostics`, all.slice(-keystrokes));
}

function showSpread(what: string, times: readonly Time[]): void {
  const walls = times.map(({ wall }) => wall);
  const at = (share: number): string => quantile(walls, share).toFixed(1).padStart(9);
  const processor = meanProcessor(times).toFixed(1).padStart(9);
  console.log(`${what.padEnd(50)}${at(0.5)}${at(0.95)}${at(1)}${processor}`);
}

/** A decoder of 125 blocks written out line by line. */
function longSpec(): string {
  const lines = [
    'name: long',
    'dims: { batch: 8, seq: 512, d: 1024, heads: 16, vocab: 32000 }',
    'inputs:',
    '  tokens: int64[batch, seq]',
    'layers:',
    '  - embed: Embedding(vocab, d)',
  ];
  for (let block = 0; block < 125; block += 1) {
    const input = block === 0 ? 'embed' : `out_${block - 1}`;
    lines.push(
      `  - ln1_${block}: LayerNorm(d)`,
      `  - attn_${block}: MultiheadAttention(d, heads, causal=True)`,
      `  - res_${block}: add(attn_${block}, ${input})`,
      `  - ln2_${block}: LayerNorm(d)`,
      `  - fc_${block}: Linear(d, 4*d)`,
      `  - act_${block}: GELU()`,
      `  - proj_${block}: Linear(4*d, d)`,
      `  - out_${block}: add(proj_${block}, res_${block})`,
    );
  }
  lines.push(
    '  - head: Linear(d, vocab, bias=False)',
    'scenario: { cluster: dgx-h100, gpus: 64, precision: bf16, optimizer: adamw, framework: pytorch-ddp }',
    '',
  );
  return lines.join('\n');
}

/** Texts as a person makes them: a few characters typed somewhere, then deleted, then on to another line. */
function typing(original: string, count: number): readonly string[] {
  const random = randomOf(1);
  const words = [
    '8',
    'x',
    ', bias=False',
    '(',
    ')',
    ' frozen',
    '\n  - new: GELU()',
    '# why',
    '"',
    ' from embed',
    '*2',
  ];
  const texts: string[] = [];
  while (texts.length < count) {
    const at = random.below(original.length);
    const word = random.pick(words);
    for (let typed = 1; typed <= word.length; typed += 1) {
      texts.push(original.slice(0, at) + word.slice(0, typed) + original.slice(at));
    }
    texts.push(original);
  }
  return texts.slice(0, count);
}
