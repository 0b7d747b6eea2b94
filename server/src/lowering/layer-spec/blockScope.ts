/** What names mean inside a block that is called: its parameters, its inputs, the dims and blocks of its file. */

import type { SpecBlock } from '../../formats/layer-spec/syntax.ts';
import type { Issue } from '../../model/issue.ts';
import { bindArguments } from './bindArguments.ts';
import { type HomeBlock, type IncludedFile, placeIn } from './blockTable.ts';
import { evaluate, type Values } from './evaluate.ts';
import type { ParameterDefinition, SpecValue } from './layerDefinition.ts';
import type { Line, LoweringRun } from './loweringRun.ts';
import { reportError, type Scope, single } from './scope.ts';
import { unknownTensor } from './standIns.ts';
import { sourcesOf } from './tensorArguments.ts';

/** Blocks in blocks: people write three or four, and each level is a few calls of this program. */
const deepestBlocks = 64;

/** The scope of the block's layers, or `undefined` where they are left out, which is said. */
export function blockScope({ block, home }: HomeBlock, line: Line, run: LoweringRun): Scope | undefined {
  const { layer, call, scope, path, ancestors, marks } = line;
  const name = block.name.text;
  if (scope.blocks.length >= deepestBlocks) {
    const message = `blocks are nested more than ${deepestBlocks} deep; what is deeper is left out, write it with fewer blocks`;
    return reportError(scope, 'spec/structure', message, call.callee.span);
  }
  const { file } = home;
  const identity = `${file?.path ?? ''}:${name}`;
  if (scope.blocks.includes(identity)) {
    const message = `block \`${name}\` contains itself; take this line out, or call another block`;
    return reportError(scope, 'spec/structure', message, call.callee.span);
  }
  const isForeign = home !== scope.home && file !== undefined;
  const report = isForeign ? reportFrom(file, line) : scope.report;
  const values = parameterValues(block, home.values, line, report);
  const inside: Scope = {
    home,
    values: run.memory.valuesOf(path, identity, values),
    tensors: new Map(),
    weights: new Map(),
    outer: home === run.home ? (scope.outer ?? scope) : undefined,
    layers: block.layers,
    hasAllInputs: scope.hasAllInputs,
    blocks: [...scope.blocks, identity],
    prefix: `${path}.`,
    ancestors: [...ancestors, path],
    marks,
    line: isForeign ? (scope.line ?? layer.span) : scope.line,
    report,
  };
  giveInputs(block, line, inside, run);
  return inside;
}

/** Issues of another file stand at the line that calls into it. */
const reportFrom =
  (file: IncludedFile, { call, scope }: Line) =>
  (issue: Issue): void =>
    scope.report({
      ...issue,
      message: `${placeIn(file, issue.span)}: ${issue.message}`,
      span: call.callee.span,
    });

/** Dims of the block's file and its parameters; a default may read the parameters before it. */
function parameterValues(
  block: SpecBlock,
  dims: Values,
  { call, scope }: Line,
  report: (issue: Issue) => void,
): Values {
  const parameters = block.parameters.map(
    (parameter): ParameterDefinition => ({
      name: parameter.name.text,
      type: 'any',
      documentation: '',
      ...(parameter.default === undefined ? {} : { default: null }),
    }),
  );
  const text = `${block.name.text}(${parameters.map(({ name }) => name).join(', ')})`;
  const bound = bindArguments(call, call.arguments, { text, parameters }, scope);
  const values = new Map<string, SpecValue | undefined>(dims);
  for (const { name, default: otherwise } of block.parameters) {
    const given = bound?.get(name.text);
    values.set(name.text, given ? given.value : otherwise && evaluate(otherwise, values, report));
  }
  return values;
}

/** What the block is given, by the names it has inside. */
function giveInputs(block: SpecBlock, line: Line, inside: Scope, run: LoweringRun): void {
  const { call, scope, path, layer, previous, carried } = line;
  const isNamed = block.inputs.length > 0;
  const names = isNamed ? block.inputs.map(({ text }) => text) : ['input'];
  const sources = sourcesOf(call, scope, carried);
  const given = sources.length === 0 ? [carried[0] ?? previous] : sources;
  const extra = call.sources[names.length];
  if (extra !== undefined || given.length < names.length) {
    const takes = `block \`${block.name.text}\` takes ${whatIsTaken(names, isNamed)}`;
    if (extra !== undefined) reportError(scope, 'spec/call', takes, extra.span);
    else reportError(scope, 'spec/call', `${takes}; name them with \`from\``, call.callee.span);
  }
  for (const [index, name] of names.entries()) {
    const tensor = given[index];
    if (tensor !== undefined) inside.tensors.set(name, single(tensor));
    else if (isNamed || call.sources.length > 0) {
      const unknown = unknownTensor(`${path}.${name}`, inside, layer.span, run);
      inside.tensors.set(name, single(unknown));
    }
  }
}

function whatIsTaken(names: readonly string[], isNamed: boolean): string {
  if (!isNamed) return 'one input, named `input` inside it';
  if (names.length === 1) return `one input, \`${names[0]}\``;
  return `${names.length} inputs, ${names.map((name) => `\`${name}\``).join(', ')}`;
}
