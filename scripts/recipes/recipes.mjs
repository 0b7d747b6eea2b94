/**
 * The recipes of CONTRIBUTING.md as steps. `check`: what a contributor runs then, by Node. `says`: what it must fail by, where
 * the step leaves something out; without it the check must pass.
 */

const types = ['node_modules/typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.json'];
const tests = (...paths) => ['node_modules/vitest/vitest.mjs', 'run', ...paths];
const generated = tests('test/house/generated.test.ts');
/** What follows where a page lacks something. */
const regenerated = [
  { does: 'npm run generate', check: ['scripts/generate.mjs'] },
  { does: 'the page as it is generated', check: generated },
];

/** Puts a text behind the first place where another stands. */
const behind = (anchor, text) => (before) => put(before, anchor, `${anchor}${text}`);
const ahead = (anchor, text) => (before) => put(before, anchor, `${text}${anchor}`);
const instead = (anchor, text) => (before) => put(before, anchor, text);

function put(before, anchor, text) {
  if (before?.includes(anchor) !== true) throw new Error(`there is no ${anchor}`);
  return before.replace(anchor, () => text);
}

/** JSON with a change. */
const copyOf = (text, change) => JSON.stringify(change(JSON.parse(text)), undefined, 2);

const gpus = 'server/src/hardware/profiles/gpus';
const clusters = 'server/src/hardware/profiles/clusters';

/** The opposite of a number that is not negative. */
const recipePattern = () =>
  `import type { CompositePattern } from './composite.ts';
import { producerOf } from './flow.ts';

export const recipe: CompositePattern = {
  kind: 'recipe',
  name: 'Recipe',
  anchors: ['Relu'],
  modules: [],
  match: (graph, operator) => {
    const opposite = producerOf(graph, operator.inputs[0]);
    const input = opposite?.inputs[0];
    if (opposite?.type !== 'Neg' || input === undefined) return undefined;
    return { operators: [opposite.index, operator.index], roles: { input }, launchedAs: 'assumed-one' };
  },
};
`;

/** `read`: the text of a file of the repository. */
export const recipesOf = (read) => [
  {
    name: 'gpu',
    steps: [
      {
        does: 'a profile that no list has',
        edits: {
          [`${gpus}/recipe.json`]: copyOf(read(`${gpus}/t4.json`), (t4) => ({ ...t4, name: 'recipe' })),
        },
        check: tests('test/hardware/profiles.test.ts'),
        says: /recipe/,
      },
      {
        does: 'the profile in the list',
        edits: {
          'server/src/hardware/gpus.ts': (before) =>
            ahead(
              'import t4 from',
              "import recipe from './profiles/gpus/recipe.json';\n",
            )(behind('builtInGpus: readonly GpuProfile[] = [\n', '  recipe,\n')(before)),
        },
        check: tests('test/hardware/profiles.test.ts'),
      },
      {
        does: 'a number without a source',
        edits: {
          [`${gpus}/recipe.json`]: (before) =>
            copyOf(before, ({ boostMHz, ...others }) => ({ ...others, boostMHz: { value: boostMHz.value } })),
        },
        check: tests('test/hardware/profiles.test.ts'),
        says: /source/,
      },
    ],
  },
  {
    name: 'cluster',
    steps: [
      {
        does: 'a profile that no list has',
        edits: {
          [`${clusters}/recipe.json`]: copyOf(read(`${clusters}/g5-48xlarge.json`), (node) => ({
            ...node,
            name: 'recipe',
          })),
        },
        check: tests('test/hardware/profiles.test.ts'),
        says: /recipe/,
      },
      {
        does: 'the profile in the list',
        edits: {
          'server/src/hardware/clusters.ts': (before) =>
            ahead(
              'import v100Infiniband',
              "import recipe from './profiles/clusters/recipe.json';\n",
            )(behind('readonly gpu: string })[] = [\n', '  recipe,\n')(before)),
        },
        check: tests('test/hardware/profiles.test.ts'),
      },
    ],
  },
  {
    name: 'operator',
    steps: [
      {
        does: 'a definition without what backward keeps',
        edits: {
          'server/src/operators/math/unary.ts': behind(
            'const rows: readonly UnaryRow[] = [\n',
            "  row('Recipe', 1, 1, { input: data('X') }, 'a recipe, element by element', 1),\n",
          ),
        },
        check: types,
        says: /unary\.ts.*Expected/,
      },
      {
        does: 'a definition whose rule the runner does not have',
        edits: {
          'server/src/operators/math/unary.ts': instead(
            "element by element', 1),",
            "element by element', 1, readsInput(1)),",
          ),
        },
        check: tests('test/operators/definitions.test.ts'),
        says: /Recipe/,
      },
      {
        does: 'a definition that says why it is not run, and that no page has',
        edits: {
          'server/src/operators/math/unary.ts': instead(
            "'Recipe', 1, 1, { input: data('X') }",
            "'Recipe', 1, 1, { input: data('X'), runner: noRule.unwritten }",
          ),
        },
        check: generated,
        says: /docs\/operators\.md/,
      },
      ...regenerated,
      {
        does: 'an operator whose costs nobody read',
        check: tests('test/operators/everyCost.test.ts'),
        says: /Recipe/,
      },
      { does: 'its costs, written', check: tests('test/operators/everyCost.test.ts', '--update') },
    ],
  },
  {
    name: 'composite',
    steps: [
      {
        does: 'a pattern of a kind that is not named',
        edits: {
          'server/src/composites/recipe.ts': recipePattern,
          'server/src/composites/patterns.ts': (before) =>
            ahead(
              'import { silu }',
              "import { recipe } from './recipe.ts';\n",
            )(ahead('  softplus,\n', '  recipe,\n')(before)),
        },
        check: types,
        says: /CompositeKind/,
      },
      {
        does: 'a pattern whose call nothing was compared with',
        edits: {
          'server/src/composites/composite.ts': behind("  | 'softplus'\n", "  | 'recipe'\n"),
        },
        check: tests('test/composites/patterns.test.ts'),
        says: /Recipe/,
      },
      {
        does: 'a pattern that is not listed',
        edits: { 'server/src/composites/patterns.ts': instead('  softplus,\n', '') },
        check: tests('test/composites/forms.test.ts'),
        says: /[Ss]oftplus/,
      },
    ],
  },
  {
    name: 'layer',
    steps: [
      {
        does: 'a layer that nothing was compared with',
        edits: {
          'server/src/lowering/layer-spec/layers/dropout.ts': behind(
            'export const dropoutLayers = [\n',
            "  dropout('Recipe', 'A recipe.', elements),\n",
          ),
        },
        check: tests('test/lowering/layer-spec/torchLayers.test.ts'),
        says: /Recipe/,
      },
      { does: 'a layer that no page has', check: generated, says: /docs\/layers\.md/ },
    ],
  },
  {
    name: 'framework',
    steps: [
      {
        does: 'a framework that no page has',
        edits: {
          'server/src/frameworks/recipe.ts':
            "import type { FrameworkEntry } from './frameworkEntry.ts';\nimport { naive } from './naive.ts';\n\nexport const recipe: FrameworkEntry = { ...naive, name: 'recipe' };\n",
          'server/src/frameworks/registry.ts': (before) =>
            ahead(
              'import { naive }',
              "import { recipe } from './recipe.ts';\n",
            )(ahead('  naive,\n', '  recipe,\n')(before)),
        },
        check: generated,
        says: /docs\/frameworks\.md/,
      },
      {
        does: 'a framework whose messages nobody derived',
        check: tests('test/frameworks/messages.test.ts'),
        says: /recipe/,
      },
    ],
  },
  {
    name: 'issue',
    steps: [
      {
        does: 'a code that no page has',
        edits: {
          'server/src/model/issueCodes.ts': ahead(
            "  'findings/slow-start': {",
            "  'graph/recipe': { title: 'A recipe', explanation: 'It is followed.' },\n",
          ),
        },
        check: generated,
        says: /docs\/issues\.md/,
      },
      ...regenerated,
    ],
  },
  {
    name: 'finding',
    steps: [
      {
        does: 'a finding without a page',
        edits: {
          'server/src/model/issueCodes.ts': ahead(
            "  'findings/slow-start': {",
            "  'findings/recipe': { title: 'A recipe', explanation: 'It is followed.' },\n",
          ),
        },
        check: tests('test/finding-pages'),
        says: /recipe/,
      },
      {
        does: 'a threshold that no setting has',
        edits: {
          'server/src/model/findingThresholds.ts': behind(
            'findingThresholds = {\n',
            "  recipe: { default: 0.5, documentation: 'fraction of a recipe' },\n",
          ),
        },
        check: tests('test/manifest/manifest.test.ts'),
        says: /recipe/,
      },
      {
        does: 'a text that a language lacks',
        edits: {
          'package.nls.json': behind('{\n', '  "setting.findings.thresholds.recipe": "A recipe.",\n'),
        },
        check: tests('test/house/translations.test.ts'),
        says: /recipe/,
      },
    ],
  },
  {
    name: 'setting',
    steps: [
      {
        does: 'a setting that the manifest does not have',
        edits: {
          'server/src/lsp/settings.ts': behind(
            '  loss: z.enum',
            "(lossChoices).default('auto'),\n  recipe: z.enum",
          ),
        },
        check: tests('test/manifest/manifest.test.ts'),
        says: /recipe/,
      },
      {
        does: 'a declared setting that no row sets',
        edits: {
          'package.json': (before) =>
            copyOf(before, (manifest) => {
              const { properties } = manifest.contributes.configuration.find(
                (part) => 'layercost.loss' in part.properties,
              );
              properties['layercost.recipe'] = properties['layercost.loss'];
              return manifest;
            }),
        },
        check: tests('test/lsp/everyOption.test.ts', '-t', 'without a row'),
        says: /recipe/,
      },
    ],
  },
  {
    name: 'option',
    steps: [
      {
        does: 'an option that no row sets and no help describes',
        edits: {
          'server/src/cli/scenarioArguments.ts': behind(
            "  loss: { type: 'string' },\n",
            "  recipe: { type: 'string' },\n",
          ),
        },
        check: tests('test/lsp/everyOption.test.ts', 'test/cli/help.test.ts'),
        says: /recipe/,
      },
    ],
  },
  {
    name: 'command',
    steps: [
      {
        does: 'a command that nothing reads',
        edits: {
          'server/src/cli/commandHelp.ts': behind(
            'export const commandHelp = {\n',
            "  recipe: { summary: 'follow a recipe', usage: [''], options: [] },\n",
          ),
        },
        check: types,
        says: /cli\/arguments\.ts.*recipe/,
      },
      {
        does: 'a command that nothing runs',
        edits: {
          'server/src/cli/arguments.ts': (before) =>
            ahead(
              "  | { readonly command: 'mcp' }",
              "  | { readonly command: 'recipe' }\n",
            )(
              behind(
                '(rest: readonly string[]) => Arguments>> = {\n',
                "  recipe: () => ({ command: 'recipe' }),\n",
              )(before),
            ),
        },
        check: types,
        says: /cli\/main\.ts/,
      },
    ],
  },
];
