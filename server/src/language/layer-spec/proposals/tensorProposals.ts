/** Tensors by name: layers above, inputs, and the outputs of a layer that has several. */

import type { LayerSpec, SpecBlock } from '../../../formats/layer-spec/syntax.ts';
import { findLayer } from '../../../lowering/layer-spec/layerDefinitions.ts';
import { printDimension } from '../../../model/dimension.ts';
import type { Completion } from '../../completion.ts';
import { positionAt } from '../../textLines.ts';
import { blocksOf } from '../specText.ts';
import { layersAt, visibleTensors } from '../visibleNames.ts';
import { shapeOfLine } from './inputShape.ts';
import { type ProposalSite, proposal } from './proposalSite.ts';

/** Tensors that the line may take, the nearest first, without those that are `taken`. */
export function tensorProposals(site: ProposalSite, taken: readonly string[]): readonly Completion[] {
  const { document, context } = site;
  const { source, spec, text } = document;
  return visibleTensors(source, spec, context, context.lineStart)
    .filter(({ name }) => !taken.includes(name))
    .map(({ name, detail, start }) => {
      const shape = start === undefined ? undefined : shapeOfLine(site, positionAt(text, start).line);
      const shown = shape === undefined ? '' : ` → [${shape.map(printDimension).join(', ')}]`;
      return proposal(site, name, 'tensor', `${detail}${shown}`);
    });
}

/** What a layer of several outputs gives, by name. */
export function outputProposals(site: ProposalSite, source: string): readonly Completion[] {
  const { spec } = site.document;
  const layer = layersAt(spec, site.context).find(({ names }) => names.some(({ text }) => text === source));
  const callee = layer?.call?.callee.text ?? '';
  const outputs =
    blockNamed(callee, spec)?.outputs.map(({ text }) => text) ?? findLayer(callee)?.outputs ?? [];
  return outputs.map((name) => proposal(site, name, 'tensor', `output of ${callee}`));
}

/** The layers of the block that a layer calls, whose weights can be shared. */
export function weightProposals(site: ProposalSite, caller: string): readonly Completion[] {
  const { spec } = site.document;
  const callee = layersAt(spec, site.context).find(({ name }) => name.text === caller)?.call?.callee.text;
  const layers = blockNamed(callee, spec)?.layers ?? [];
  return layers.map(({ name, call }) =>
    proposal(site, name.text, 'tensor', `layer of ${callee}`, call?.written.trim()),
  );
}

const blockNamed = (callee: string | undefined, spec: LayerSpec): SpecBlock | undefined =>
  blocksOf(spec).find(({ name }) => name.text === callee);
