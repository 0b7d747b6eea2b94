/** The manifest against the code it speaks for. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openModel } from '../../server/src/analysis/openModel.ts';
import { estimateModel } from '../../server/src/estimate/estimateModel.ts';
import { byteSourceOfBuffer } from '../../server/src/formats/byteSource.ts';
import { groupNames } from '../../server/src/formats/scenarioGroups.ts';
import { scenarioShape, settingsShape } from '../../server/src/lsp/settings.ts';
import { capitalized } from '../../server/src/model/capitalized.ts';
import { findingThresholds } from '../../server/src/model/findingThresholds.ts';
import {
  commands,
  languageIds,
  onnxEditor,
  onnxLayersScheme,
  onnxTextScheme,
  onnxTextSuffix,
} from '../../server/src/protocol.ts';

const root = resolve(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(resolve(root, path), 'utf8');

const property = z.looseObject({
  default: z.unknown(),
  type: z.union([z.string(), z.array(z.string())]),
  enum: z.array(z.string()).optional(),
  enumDescriptions: z.array(z.string()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  markdownDescription: z.string(),
  scope: z.string(),
});
const manifest = z
  .looseObject({
    main: z.string(),
    browser: z.string(),
    icon: z.string(),
    activationEvents: z.array(z.string()),
    engines: z.looseObject({ vscode: z.string() }),
    devDependencies: z.record(z.string(), z.string()),
    capabilities: z.looseObject({
      untrustedWorkspaces: z.looseObject({ restrictedConfigurations: z.array(z.string()) }),
    }),
    contributes: z.looseObject({
      commands: z.array(z.looseObject({ command: z.string(), title: z.string(), category: z.string() })),
      menus: z.record(z.string(), z.array(z.looseObject({ command: z.string() }))),
      languages: z.array(z.looseObject({ id: z.string(), configuration: z.string() })),
      grammars: z.array(z.looseObject({ language: z.string(), path: z.string() })),
      walkthroughs: z.array(
        z.looseObject({
          steps: z.array(
            z.looseObject({
              description: z.string(),
              media: z.object({ markdown: z.string() }),
              completionEvents: z.array(z.string()),
            }),
          ),
        }),
      ),
      customEditors: z.array(z.looseObject({ viewType: z.string(), priority: z.string() })),
      configuration: z.array(z.looseObject({ properties: z.record(z.string(), property) })),
    }),
  })
  .parse(JSON.parse(read('package.json')));
const strings = z.record(z.string(), z.string()).parse(JSON.parse(read('package.nls.json')));
const properties = Object.assign(
  {},
  ...manifest.contributes.configuration.map((group) => group.properties),
) as Record<string, z.infer<typeof property>>;

describe('settings', () => {
  it('are the keys of the schema, each with its default', () => {
    const declared = Object.fromEntries(
      Object.entries(properties).map(([key, entry]) => [key, entry.default]),
    );
    const defaults = z.object(settingsShape).parse({});
    const wanted = Object.entries(defaults).map(([key, value]) => [`layercost.${key}`, value]);
    expect(declared).toEqual(Object.fromEntries(wanted));
  });

  it.each(Object.entries(properties))(
    '%s describes itself, and its choices are those of the schema',
    (key, entry) => {
      expect(strings[entry.markdownDescription.replaceAll('%', '')]).toMatch(/\.$/);
      expect(['resource', 'window', 'machine-overridable']).toContain(entry.scope);
      const schema = Object.entries(settingsShape).find(([name]) => `layercost.${name}` === key)?.[1];
      for (const choice of entry.enum ?? []) expect(schema?.safeParse(choice).success).toBe(true);
      expect(schema?.safeParse('no such choice').success).toBe(
        entry.type === 'string' && entry.enum === undefined && entry.pattern === undefined,
      );
      if (entry.enumDescriptions) expect(entry.enumDescriptions).toHaveLength(entry.enum?.length ?? 0);
    },
  );

  it.each(Object.entries(groupNames))('%s takes what the command line takes', (group, names) => {
    expect(Object.keys(properties[`layercost.${group}`]?.properties ?? {})).toEqual(Object.keys(names));
  });

  it('of thresholds are those of findings, with the same defaults and texts', () => {
    const thresholds = z
      .record(z.string(), z.looseObject({ default: z.number(), description: z.string() }))
      .parse(properties['layercost.findings.thresholds']?.properties);
    const declared = Object.entries(thresholds).map(([name, entry]) => [
      name,
      { default: entry.default, documentation: strings[entry.description.replaceAll('%', '')] },
    ]);
    const wanted = Object.entries(findingThresholds).map(([name, { default: usual, documentation }]) => [
      name,
      { default: usual, documentation: `${capitalized(documentation)}.` },
    ]);
    expect(Object.fromEntries(declared)).toEqual(Object.fromEntries(wanted));
  });

  it('of single models are those of a scenario, with the same values', () => {
    const entry = z
      .object({
        additionalProperties: z.object({
          properties: z.record(z.string(), z.looseObject({ enum: z.unknown().optional() })),
        }),
      })
      .parse(properties['layercost.models']).additionalProperties.properties;
    expect(Object.keys(entry).sort()).toEqual(Object.keys(scenarioShape).sort());
    for (const [key, { enum: values }] of Object.entries(entry))
      expect([key, values]).toEqual([key, properties[`layercost.${key}`]?.enum]);
  });

  it('that start a program or name a file are restricted until the workspace is trusted', () => {
    expect(manifest.capabilities.untrustedWorkspaces.restrictedConfigurations).toEqual([
      'layercost.benchmark.launcher',
      'layercost.benchmark.python',
      'layercost.cluster',
      'layercost.export.onSave',
      'layercost.framework',
    ]);
    expect(properties['layercost.benchmark.python']?.scope).toBe('machine-overridable');
  });
});

describe('commands', () => {
  it('are those of the protocol', () => {
    const declared = manifest.contributes.commands.map(({ command }) => command).sort();
    expect(declared).toEqual(Object.values(commands).sort());
  });

  it('of menus exist', () => {
    const used = Object.values(manifest.contributes.menus).flatMap((items) =>
      items.map(({ command }) => command),
    );
    expect(used.filter((command) => !Object.values<string>(commands).includes(command))).toEqual([]);
  });
});

it('the palette keeps the benchmark where it cannot run: the command says why', () => {
  const { commands: declared, menus } = manifest.contributes;
  expect(declared.find(({ command }) => command === commands.benchmark)).not.toHaveProperty('enablement');
  const [entry] = (menus.commandPalette ?? []).filter(({ command }) => command === commands.benchmark);
  expect(entry?.when).not.toMatch(/canBenchmark|isWorkspaceTrusted/);
});

describe('strings', () => {
  it('that the manifest names are there, and no others', () => {
    const used = [...read('package.json').matchAll(/"%([^%"]+)%"/g)].map(([, key]) => key ?? '');
    expect(Object.keys(strings).sort()).toEqual([...new Set(used)].sort());
  });
});

describe('files', () => {
  it.each([
    manifest.icon,
    ...manifest.contributes.languages.map(({ configuration }) => configuration),
    ...manifest.contributes.grammars.map(({ path }) => path),
  ])('%s exists', (path) => {
    expect(existsSync(resolve(root, path))).toBe(true);
  });

  it('have a picture of at least 128 by 128 for an icon', () => {
    const header = readFileSync(resolve(root, manifest.icon)).subarray(0, 24);
    expect(header.toString('latin1', 1, 4)).toBe('PNG');
    expect(Math.min(header.readUInt32BE(16), header.readUInt32BE(20))).toBeGreaterThanOrEqual(128);
  });
});

describe('walkthrough', () => {
  const steps = manifest.contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps);
  const isKnown = (command: string): boolean =>
    Object.values<string>(commands).includes(command) || command.startsWith('workbench.action.');

  const contextsOfClient = readdirSync(resolve(root, 'client/src'))
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [...read(`client/src/${name}`).matchAll(/'setContext', '([^']+)'/g)])
    .map(([, name]) => name);

  // Beside the explorer in a window of 1,280 pixels; VS Code cuts longer lines off.
  it.each(steps)('%o has a picture of words that is not cut off', ({ media }) => {
    const [, code = ''] = /```\w*\n([\s\S]*?)```/.exec(read(media.markdown)) ?? [];
    expect(code).not.toBe('');
    for (const line of code.split('\n')) expect(line.length).toBeLessThanOrEqual(47);
  });

  it.each(steps)('%o leads to commands that exist, and its page ships', (step) => {
    const text = strings[step.description.replaceAll('%', '')] ?? '';
    const linked = [...text.matchAll(/\(command:([^)]*)\)/g)].map(([, command]) => command ?? '');
    expect(linked.length).toBeGreaterThan(0);
    expect(linked.filter((command) => !isKnown(command))).toEqual([]);
    for (const event of step.completionEvents) {
      const [, kind, name = ''] = /^on(Command|Context):(.+)$/.exec(event) ?? [];
      if (kind === 'Context') expect(contextsOfClient).toContain(name);
      else expect(name).toSatisfy(isKnown);
    }
    expect(existsSync(resolve(root, step.media.markdown))).toBe(true);
    const shipped = step.media.markdown.replace(/[^/]+$/, '*.md');
    expect(read('.vscodeignore').split('\n')).toContain(`!${shipped}`);
  });
});

describe('page of the extension', () => {
  const page = read('docs/extension.md');

  it('links nothing that is not in the package', () => {
    const links = [...page.matchAll(/\]\(([^)]*)\)/g)].map(([, target]) => target);
    expect(links.filter((target) => !target?.startsWith('https://'))).toEqual([]);
  });

  it('has an example that is costed whole', () => {
    const [, text = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
    const opened = openModel(byteSourceOfBuffer(new TextEncoder().encode(text)), 'mlp.layers.yaml');
    const { cost, issues } = estimateModel(opened, [opened.scenario]);
    expect(issues.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(cost?.totals.time.exact).toBe(true);
  });

  it('names commands as the manifest titles them', () => {
    const titles = Object.entries(strings).flatMap(([key, title]) =>
      key.startsWith('command.') ? [title.replace('…', '')] : [],
    );
    const named = [...page.matchAll(/`Layercost: ([^`]+)`/g)].map(([, title]) => title);
    expect(named.length).toBeGreaterThan(1);
    expect(named.filter((title) => !titles.includes(title ?? ''))).toEqual([]);
  });
});

it('names languages and the editor as the protocol does', () => {
  expect(manifest.contributes.languages.map(({ id }) => id).sort()).toEqual(
    Object.values(languageIds).sort(),
  );
  expect(manifest.contributes.customEditors).toMatchObject([{ viewType: onnxEditor, priority: 'default' }]);
  expect(read('package.json')).toContain(`"${onnxTextSuffix}"`);
});

it('activates by what it contributes and for the texts it serves, never at startup', () => {
  expect(manifest.activationEvents).toEqual([
    `onFileSystem:${onnxTextScheme}`,
    `onFileSystem:${onnxLayersScheme}`,
    'onLanguage:python',
  ]);
});

it('compiles against the oldest VS Code it says it runs in', () => {
  expect(`^${manifest.devDependencies['@types/vscode']}`).toBe(manifest.engines.vscode);
});
