/**
 * What a lowering knew about its graph, as a converted file keeps it: layers in the metadata of nodes, in the form of
 * PyTorch's exporter, and in the metadata of the model what analysis would not find out by itself.
 */

import type { OnnxModel, OnnxNode } from '../formats/onnx/syntax.ts';
import type { ProvidedLayer, ProvidedStructure } from '../lowering/providedStructure.ts';
import type { ValueRole } from '../model/graph.ts';
import { scopeListOf } from './moduleScope.ts';

/** Who wrote the file: only then does its metadata say what layers are. */
export const recordingProducer = 'layercost';

/** Key of the model's metadata; the value is a `RecordedFacts` as JSON. */
const factsKey = 'layercost.structure';

export interface RecordedFacts {
  /** Roles of inputs, stored and generated values that differ from what analysis finds. */
  readonly roles: Readonly<Record<string, ValueRole>>;
  /** Values that symbolic dimensions have where a scenario gives none. */
  readonly dimensions: Readonly<Record<string, number>>;
}

/** The metadata of a model with these facts; none where there is nothing to say. */
export function recordFacts(
  metadata: OnnxModel['metadata'],
  facts: RecordedFacts,
): ReadonlyMap<string, string> {
  const empty = Object.keys(facts.roles).length + Object.keys(facts.dimensions).length === 0;
  return empty ? metadata : new Map([...metadata, [factsKey, JSON.stringify(facts)]]);
}

/** The node with its layer and the modules around it. */
export function recordLayer(
  node: OnnxNode,
  layer: { readonly name: string; readonly type: string; readonly ancestors: readonly string[] },
): OnnxNode {
  const scopes = ['', ...layer.ancestors, layer.name, node.type];
  const classes = ['', ...layer.ancestors.map(() => ''), layer.type, node.type];
  return {
    ...node,
    metadata: new Map([
      ...node.metadata,
      ['pkg.torch.onnx.name_scopes', pythonList(scopes)],
      ['pkg.torch.onnx.class_hierarchy', pythonList(classes)],
    ]),
  };
}

/** As Python prints a list of strings. */
export const pythonList = (texts: readonly string[]): string =>
  `[${texts.map((text) => (text.includes("'") ? `"${text}"` : `'${text}'`)).join(', ')}]`;

/** `undefined` for a model that was not converted from a lowering. */
export function recordedStructure(model: OnnxModel): ProvidedStructure | undefined {
  if (model.producerName !== recordingProducer) return undefined;
  const facts = factsOf(model.metadata.get(factsKey));
  return {
    layers: layersOf(model.graph.nodes),
    roles: new Map(Object.entries(facts.roles)),
    symbolDefaults: new Map(Object.entries(facts.dimensions)),
    issues: [],
  };
}

function layersOf(nodes: readonly OnnxNode[]): readonly ProvidedLayer[] {
  const layers = new Map<string, ProvidedLayer & { readonly nodes: number[] }>();
  for (const [index, node] of nodes.entries()) {
    const scopes = scopeListOf(node);
    if (scopes === undefined || scopes.names.length < 3) continue;
    const name = scopes.names.at(-2) ?? '';
    const known = layers.get(name);
    if (known !== undefined) known.nodes.push(index);
    else {
      const type = scopes.classes.at(scopes.names.length - 2) ?? node.type;
      layers.set(name, { name, type, ancestors: scopes.names.slice(1, -2), nodes: [index] });
    }
  }
  return [...layers.values()];
}

/** Other programs may have changed the text: what does not have its form is passed over. */
function factsOf(text: string | undefined): RecordedFacts {
  const roles: Record<string, ValueRole> = {};
  const dimensions: Record<string, number> = {};
  const read = parsed(text);
  for (const [name, role] of entriesOf(read, 'roles')) {
    const known = recordedRoles.find((candidate) => candidate === role);
    if (known !== undefined) roles[name] = known;
  }
  for (const [name, value] of entriesOf(read, 'dimensions')) {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) dimensions[name] = value;
  }
  return { roles, dimensions };
}

const recordedRoles = [
  'input',
  'parameter',
  'frozen',
  'buffer',
  'constant',
  'activation',
] as const satisfies readonly ValueRole[];

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function entriesOf(value: unknown, key: string): readonly (readonly [string, unknown])[] {
  const inner: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  return typeof inner === 'object' && inner !== null ? Object.entries(inner) : [];
}
