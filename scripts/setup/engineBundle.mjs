/**
 * One engine for both hosts: `engine.js` is a script that holds every module the web worker needs, and starts the
 * server where it is a worker. The bundles for Node leave those modules out and take them from the engine.
 *
 * A worker of VS Code for the Web runs from a blob's address, beside which it finds no second script. So what both hosts
 * share and what the worker alone needs are one file, and `importScripts` is not used.
 */

import { join } from 'node:path';
import { build } from 'esbuild';

/** Where the bundles for Node find the engine, which `server/src/cli/launch.ts` runs before them. */
const engineName = 'layercostEngine';
/** Marks a module that the engine has, and a path that was looked up already. */
const held = 'held-by-engine';
const looked = Symbol('looked up');

/**
 * For bundles for Node: leaves out the modules of the worker, and builds the engine after them.
 *
 * @param {object} given
 * @param {string} given.root the project's folder
 * @param {string} given.worker the worker's entry, relative to it
 * @param {import('esbuild').BuildOptions} given.options of a bundle for the browser
 * @returns {import('esbuild').Plugin}
 */
export function withEngine({ root, worker, options }) {
  /** Of the worker: its files, and those that packages are imported from. */
  let files = new Set();
  let packages = new Map();
  /** Files that bundles for Node asked for. */
  let asked = new Set();

  return {
    name: 'with-engine',
    setup({ onStart, onResolve, onLoad, onEnd, resolve }) {
      onStart(async () => {
        ({ files, packages } = await filesOfWorker());
        asked = new Set();
      });
      onResolve({ filter: /.*/, namespace: 'file' }, async ({ path, pluginData, kind, ...from }) => {
        if (pluginData === looked || kind === 'entry-point') return undefined;
        // Packages have files of their own for Node; the engine's serve both.
        const file = packages.get(path) ?? (await resolve(path, { ...from, kind, pluginData: looked })).path;
        if (!files.has(file)) return undefined;
        asked.add(file);
        return { path: nameOf(file), namespace: held, pluginData: file };
      });
      onLoad({ filter: /.*/, namespace: held }, async ({ path, pluginData: file }) => {
        const module = `globalThis.${engineName}[${JSON.stringify(path)}]()`;
        const names = await exportedNames(file);
        const renamed = (separator) =>
          names
            .map((name, index) => (separator === ':' ? `${name}: _${index}` : `_${index} as ${name}`))
            .join(', ');
        return {
          // Without names, each importing module would copy all of the exports for itself.
          contents:
            names.length > 0
              ? `const { ${renamed(':')} } = ${module};\nexport { ${renamed('as')} };`
              : `module.exports = ${module};`,
          // The bundles are built again, and the engine after them, where any file of the engine changes.
          watchFiles: [...files],
        };
      });
      onEnd(async (result) => {
        const engine = await build(engineOptions()).catch((failure) => failure);
        for (const part of ['inputs', 'outputs'])
          Object.assign(result.metafile?.[part] ?? {}, engine.metafile?.[part]);
        return { errors: engine.errors, warnings: engine.warnings };
      });
    },
  };

  async function filesOfWorker() {
    const { metafile } = await build({ ...options, entryPoints: [worker], write: false, metafile: true });
    const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
    return {
      files: new Set(Object.keys(metafile.inputs).map((path) => join(root, path))),
      packages: new Map(
        imports.flatMap(({ original, path }) =>
          original === undefined || original.startsWith('.') ? [] : [[original, join(root, path)]],
        ),
      ),
    };
  }

  /** Of an ECMAScript module; a module of CommonJS or JSON has none. */
  async function exportedNames(file) {
    const { metafile } = await build({
      ...options,
      entryPoints: [file],
      // Packages export what others of their files do.
      bundle: file.includes('node_modules'),
      format: 'esm',
      write: false,
    });
    const [own] = Object.entries(metafile.inputs).filter(([path]) => join(root, path) === file);
    if (own?.[1].format !== 'esm') return [];
    return Object.values(metafile.outputs).flatMap((output) => output.exports);
  }

  function engineOptions() {
    return {
      ...options,
      format: 'iife',
      globalName: engineName,
      footer: { js: `globalThis.${engineName}=${engineName};` },
      entryPoints: { engine: 'engine' },
      plugins: [...options.plugins, entryOfEngine()],
    };
  }

  /** A module of the engine runs when it is first asked for: a command starts without what it does not need. */
  function entryOfEngine() {
    const modules = [...asked]
      .sort()
      .map((path) => `${JSON.stringify(nameOf(path))}: () => require(${JSON.stringify(path)}),`);
    return {
      name: 'entry-of-engine',
      setup({ onResolve, onLoad }) {
        onResolve({ filter: /^engine$/ }, ({ path }) => ({ path, namespace: 'engine' }));
        onLoad({ filter: /.*/, namespace: 'engine' }, () => ({
          contents: `
            if (typeof importScripts === 'function') require('./${worker}');
            module.exports = {\n${modules.join('\n')}\n};`,
          resolveDir: root,
        }));
      },
    };
  }

  function nameOf(path) {
    return [...files].indexOf(path).toString(36);
  }
}
