/**
 * A line of any length is tokenized in time that grows with it, not with its square: VS Code tokenizes 20,000 characters of
 * a line before it gives up, and an editor that waits seconds for one line looks frozen.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import onig from 'vscode-oniguruma';
import textmate from 'vscode-textmate';

const root = fileURLToPath(new URL('../../', import.meta.url));
const files: Readonly<Record<string, string>> = {
  'source.layer-spec': 'syntaxes/layer-spec.tmLanguage.json',
  'source.onnx-text': 'syntaxes/onnx-text.tmLanguage.json',
  'source.caffe-prototxt': 'syntaxes/caffe-prototxt.tmLanguage.json',
  'source.yaml': 'test/grammar/fixtures/yaml.tmLanguage.json',
};
const prefixes = ['', '  - a: ', 'x: ', 'a = ', 'name: "'];
const repeated = [
  'a',
  'a.',
  'a b ',
  '1, ',
  '(',
  'f(',
  '"',
  '\\"',
  '[',
  '{',
  '- ',
  '  - a: B(',
  'a, b = ',
  'a(b=1, ',
];
const length = 20_000;

const wasm = readFileSync(createRequire(import.meta.url).resolve('vscode-oniguruma/release/onig.wasm'));
const registry = new textmate.Registry({
  onigLib: onig.loadWASM(new Uint8Array(wasm).buffer).then(() => ({
    createOnigScanner: (patterns) => new onig.OnigScanner(patterns),
    createOnigString: (text) => new onig.OnigString(text),
  })),
  loadGrammar: async (scope) => {
    const file = files[scope];
    return file === undefined ? null : textmate.parseRawGrammar(readFileSync(join(root, file), 'utf8'), file);
  },
});

/** Seconds of processor time. What is quadratic takes 2 to 17 of them, what is linear a tenth of one. */
const most = 1;

test.each(Object.keys(files).filter((scope) => scope !== 'source.yaml'))(
  '%s takes long lines without a square',
  async (scope) => {
    const grammar = await registry.loadGrammar(scope);
    if (grammar === null) throw new Error(`${scope} has no grammar`);
    const slow: string[] = [];
    for (const prefix of prefixes) {
      for (const unit of repeated) {
        const line = `${prefix}${unit.repeat(Math.ceil(length / unit.length))}`;
        const start = process.cpuUsage();
        grammar.tokenizeLine(line, textmate.INITIAL, 0);
        const { user, system } = process.cpuUsage(start);
        const seconds = (user + system) / 1e6;
        if (seconds > most) slow.push(`${prefix}|${unit}: ${seconds.toFixed(1)} s`);
      }
    }
    expect(slow).toEqual([]);
  },
  120_000,
);
