/** The reference of layer specs: every layer with its signature, what its parameters are, and an example that is costed. */

import { bindTrainingGraph } from '../server/src/analysis/bindTrainingGraph.ts';
import { openLayerSpec } from '../server/src/analysis/openModel.ts';
import { markDefinitions } from '../server/src/formats/layer-spec/marks.ts';
import {
  type LayerDefinition,
  type ParameterDefinition,
  type ParameterType,
  printSignature,
  printValue,
} from '../server/src/lowering/layer-spec/layerDefinition.ts';
import { layerChapters } from '../server/src/lowering/layer-spec/layerDefinitions.ts';
import { unsupportedLayers } from '../server/src/lowering/layer-spec/unsupportedLayers.ts';
import { printDimension } from '../server/src/model/dimension.ts';
import { formatCount, formatFlops } from '../server/src/model/format.ts';
import { isKnownShape } from '../server/src/model/graph.ts';
import { flops } from '../server/src/model/units.ts';

export function layersPage(): string {
  const count = layerChapters.reduce((sum, [, layers]) => sum + layers.length, 0);
  const links = layerChapters.map(([title]) => `[${title}](#${anchorOf(title)})`).join(' · ');
  return [
    '# Layers',
    `The ${count} layers and functions a layer spec can call. Generated from the definitions in \`server/src/lowering/layer-spec/layers/\`, which also drive completion and messages. The language itself is in [layer-spec.md](layer-spec.md).`,
    'Names, order and defaults of parameters are those of PyTorch 2.13, without `device`, `dtype` and what PyTorch has deprecated; parameters marked *beyond PyTorch* are not there. A parameter marked *from the input* may be left out: it follows from what comes in, and is checked where it is written. A module takes the output of the line above, or tensors after `from`; a function takes them as arguments too. Any other ONNX operator can be called by its name, with its attributes by keyword: [operators.md](operators.md) lists them.',
    links,
    ...layerChapters.flatMap(([title, layers]) => [`## ${title}`, ...sections(layers)]),
    '## Marks',
    'Words after a call that change how a layer is trained, not what it computes.',
    markDefinitions
      .map(({ name, values, documentation }) => {
        const form = values === undefined ? name : `${name}=${values.join('|')}`;
        return `- \`${form}\`: ${documentation}`;
      })
      .join('\n'),
    '## What is no layer here',
    [...unsupportedLayers].map(([name, reason]) => `- \`${name}\`: ${reason}`).join('\n'),
    '',
  ].join('\n\n');
}

const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');

/** Layers that are lowered by the same function are one entry: a module, its lazy form, its function. */
function sections(layers: readonly LayerDefinition[]): readonly string[] {
  const groups: LayerDefinition[][] = [];
  for (const layer of layers) {
    const group = groups.find(
      ([first]) => first?.lower === layer.lower && first.documentation === layer.documentation,
    );
    if (group === undefined) groups.push([layer]);
    else group.push(layer);
  }
  return groups.flatMap((group) => section(group));
}

function section(group: readonly LayerDefinition[]): readonly string[] {
  const [first] = group;
  if (first === undefined) return [];
  const names = group.map(({ name }) => name);
  return [
    `### ${names.join(', ')}`,
    group.map((layer) => `\`${printSignature(layer)}\` ([source](${addressOf(layer)}))`).join('<br>\n'),
    [first.documentation, givesOf(first), first.work].filter((text) => text !== undefined).join(' '),
    ...(first.parameters.length === 0 ? [] : [parameterTable(first.parameters)]),
    exampleOf(first),
  ];
}

const addressOf = ({ source }: LayerDefinition): string =>
  source.startsWith('https:') ? source : `https://docs.pytorch.org/docs/2.13/generated/${source}`;

const givesOf = ({ outputs }: LayerDefinition): string | undefined =>
  outputs === undefined || outputs.length < 2
    ? undefined
    : `Gives ${outputs.map((name) => `\`${name}\``).join(', ')}.`;

function parameterTable(parameters: readonly ParameterDefinition[]): string {
  const rows = parameters.map((parameter) => {
    const notes = [
      ...(parameter.follows ? ['*from the input*'] : []),
      ...(parameter.beyond ? ['*beyond PyTorch*'] : []),
    ];
    const meaning = [parameter.documentation, ...notes].join(' ').replaceAll('|', '\\|');
    const standard =
      parameter.default === undefined
        ? parameter.follows
          ? ''
          : 'required'
        : `\`${printValue(parameter.default)}\``;
    return `| \`${parameter.name}\` | ${kindOf(parameter)} | ${standard} | ${meaning} |`;
  });
  return ['| parameter | takes | default | |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function kindOf({ type, choices, least, most }: ParameterDefinition): string {
  if (choices !== undefined) return choices.map((choice) => `\`'${choice}'\``).join(', ');
  const bounds =
    least !== undefined && most !== undefined
      ? `, ${least} to ${most}`
      : least === undefined
        ? ''
        : `, from ${least}`;
  return `${kinds[type]}${bounds}`;
}

const kinds: Readonly<Record<ParameterType, string>> = {
  integer: 'whole number',
  number: 'number',
  boolean: '`True` or `False`',
  string: 'text',
  integers: 'whole number or tuple',
  padding: "whole number, tuple, `'same'` or `'valid'`",
  dimension: 'size',
  dimensions: 'sizes',
  layer: 'name of a layer',
  any: 'see there',
};

function exampleOf({ example }: LayerDefinition): string {
  const inputs = Object.entries(example.inputs).map(([name, type]) => `  ${name}: ${type}\n`);
  const text = `inputs:\n${inputs.join('')}layers:\n  - y: ${example.call}\n`;
  return `\`\`\`yaml\n${text}\`\`\`\n\n${resultOf(text)}`;
}

/** What the example comes to, as the engine says it. */
function resultOf(text: string): string {
  const { analysis } = openLayerSpec(text, 'example');
  if (analysis === undefined) throw new Error(`an example is not read:\n${text}`);
  const training = bindTrainingGraph(analysis, new Map(), 'training');
  let forward = 0;
  for (const cost of training.costs) if (cost.kind !== 'unknown') forward += cost.forward.flops;
  const parameters = analysis.parameters.reduce((sum, parameter) => sum + parameter.elements, 0);
  const [output = ''] = analysis.graph.outputs;
  const type = analysis.graph.values.get(output)?.type;
  const shape =
    type?.kind === 'tensor' && isKnownShape(type.shape)
      ? `${type.elementType}[${type.shape.map(printDimension).join(', ')}]`
      : 'a shape that is unknown';
  const work = forward === 0 ? 'no FLOPs of products' : `${formatFlops(flops(forward))} forward`;
  return `→ \`${shape}\`, ${parameters === 0 ? 'no parameters' : `${formatCount(parameters)} parameters`}, ${work}.`;
}
