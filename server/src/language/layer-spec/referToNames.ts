/** Every use of a name in a model, noted with what it means there. */

import type {
  Expression,
  LayerCall,
  Name,
  SpecBlock,
  SpecBody,
  SpecLayer,
} from '../../formats/layer-spec/syntax.ts';
import type { LayerDefinition } from '../../lowering/layer-spec/layerDefinition.ts';
import { findLayer } from '../../lowering/layer-spec/layerDefinitions.ts';
import { type NameTable, type OpenName, scopeOfBlock, scopeOfModel } from './nameTable.ts';
import { calledLayers, type SpecText } from './specText.ts';

/** Where a name is looked up: in a block, or in what stands outside of blocks in one model. */
interface Place {
  readonly document: SpecText;
  readonly table: NameTable;
  readonly block: SpecBlock | undefined;
  readonly model: string | undefined;
  /** Layers below this offset are not there yet. */
  readonly before: number;
}

/** `model` is its name; `undefined` for what stands at the top level. All names are in `table` by now. */
export function referToNames(
  { dims, inputs, blocks, layers, outputs }: SpecBody,
  model: string | undefined,
  document: SpecText,
  table: NameTable,
): void {
  const outside: Place = { document, table, block: undefined, model, before: Number.MAX_SAFE_INTEGER };
  for (const { value } of dims) if (value !== undefined) referToValues(value, outside);
  for (const { dimensions } of inputs) for (const size of dimensions) referToSizes(size, outside);
  for (const block of blocks) {
    const inside: Place = { ...outside, block };
    for (const { default: value } of block.parameters) {
      if (value !== undefined) referToValues(value, outside);
    }
    for (const layer of block.layers) referInLayer(layer, inside);
    for (const name of block.outputs) referToTensor(name, inside);
  }
  for (const layer of layers) referInLayer(layer, outside);
  for (const name of outputs) referToTensor(name, outside);
}

function referInLayer({ call, span }: SpecLayer, around: Place): void {
  if (call === undefined) return;
  const place = { ...around, before: span.start };
  referInArguments(call, place);
  if (call.repetition !== undefined) referToValues(call.repetition, place);
  for (const source of call.sources) referToTensor(source, place);
}

function referInArguments({ callee, arguments: given }: LayerCall, place: Place): void {
  const { table, document } = place;
  const called = table.find('block', callee.text);
  called?.references.push(callee.span);
  const definition = called === undefined ? findLayer(callee.text) : undefined;
  const isIncluded = document.included.some(({ blocks }) =>
    blocks.some(({ name }) => name.text === callee.text),
  );
  const isFunction = called === undefined && !isIncluded && definition?.kind !== 'module';
  let isLeading = true;
  for (const { keyword, value } of given) {
    if (keyword !== undefined) {
      if (called !== undefined) {
        table.find('parameter', keyword.text, called.text)?.references.push(keyword.span);
      }
      if (takesTensor(definition, keyword.text)) {
        for (const name of namesIn(value, document)) referToTensor(name, place);
        if (value.kind === 'member') referToLayerInBlock(value, place);
      } else referToValues(value, place);
      continue;
    }
    const names = tensorsIn(value, isLeading, place);
    if (isFunction && names !== undefined) {
      for (const name of names) referToTensor(name, place);
    } else {
      isLeading = false;
      referToValues(value, place);
    }
  }
}

/** Whether the argument of this name is a tensor, or the layer whose weights are shared. */
const takesTensor = (definition: LayerDefinition | undefined, name: string): boolean =>
  definition !== undefined &&
  (definition.inputs.names.includes(name) ||
    definition.parameters.some((parameter) => parameter.name === name && parameter.type === 'layer'));

/** The names in an argument of a function that is a tensor, or a tuple of some; `undefined` where it is another value. */
function tensorsIn(value: Expression, isLeading: boolean, place: Place): readonly Name[] | undefined {
  const items = value.kind === 'tuple' ? value.items : [value];
  if (!items.every(({ kind }) => kind === 'name' || kind === 'member')) return undefined;
  const names = items.flatMap((item) => namesIn(item, place.document));
  const areTensors = names.every(
    ({ text }) =>
      tensorNamed(text, place) !== undefined || (isLeading && valueNamed(text, place) === undefined),
  );
  return areTensors ? names : undefined;
}

function referToTensor({ text, span }: Name, place: Place): void {
  tensorNamed(text, place)?.references.push({ start: span.start, end: span.start + text.length });
}

/** `encoder.embed`: a layer of the block that another layer calls. */
function referToLayerInBlock(
  { object, member }: Extract<Expression, { kind: 'member' }>,
  place: Place,
): void {
  const start = tensorNamed(object.text, place)?.whole.start;
  const called = calledLayers(place.document.spec).find(({ layer }) => layer.span.start === start);
  const scope = scopeOfBlock(called?.call.callee.text ?? '');
  place.table.layers(member.text, scope).at(-1)?.references.push(member.span);
}

function tensorNamed(text: string, { block, model, before, table }: Place): OpenName | undefined {
  const isAbove = ({ definitions: [first] }: OpenName): boolean => (first?.start ?? 0) < before;
  if (block !== undefined) {
    const inside = table.layers(text, scopeOfBlock(block.name.text)).findLast(isAbove);
    const given = inside ?? table.find('input', text, block.name.text);
    // `input` is what the block is given; it has no definition to go to.
    if (given !== undefined || text === 'input') return given;
  }
  const outside = [model, undefined].flatMap((each) => table.layers(text, scopeOfModel(each)));
  const above = block === undefined ? outside.findLast(isAbove) : outside.at(-1);
  return above ?? table.find('input', text);
}

function valueNamed(text: string, { block, table }: Place): OpenName | undefined {
  const parameter = block && table.find('parameter', text, block.name.text);
  return parameter ?? table.find('dimension', text);
}

function referToValues(expression: Expression, place: Place): void {
  for (const { text, span } of namesIn(expression, place.document)) {
    valueNamed(text, place)?.references.push(span);
  }
}

/** A size that no dim declares stands for itself: its first use is its definition. */
function referToSizes(expression: Expression, { document, table }: Place): void {
  for (const name of namesIn(expression, document)) {
    const known = table.find('dimension', name.text);
    if (known === undefined) table.addShared('dimension', name, name.span);
    else known.references.push(name.span);
  }
}

/** The names an expression reads, each at its place; the parentheses around a name are not part of it. */
function namesIn(expression: Expression, document: SpecText): readonly Name[] {
  switch (expression.kind) {
    case 'name': {
      const start = document.source.indexOf(expression.name, expression.span.start);
      return [{ text: expression.name, span: { start, end: start + expression.name.length } }];
    }
    case 'member':
      return [expression.object];
    case 'negation':
      return namesIn(expression.operand, document);
    case 'binary':
      return [...namesIn(expression.left, document), ...namesIn(expression.right, document)];
    case 'tuple':
      return expression.items.flatMap((item) => namesIn(item, document));
    default:
      return [];
  }
}
