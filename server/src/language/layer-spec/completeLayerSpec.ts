/** Proposals in a layer spec, also on a line that is half written: which kind of them belongs at the cursor. */

import { modelKeys, specKeys } from '../../formats/layer-spec/specKeys.ts';
import type { Completion } from '../completion.ts';
import { type ModelView, viewAtLine } from '../modelView.ts';
import { positionAt } from '../textLines.ts';
import { cursorContext } from './cursorContext.ts';
import { argumentProposals } from './proposals/argumentProposals.ts';
import { calleeProposals } from './proposals/calleeProposals.ts';
import { dimensionProposals } from './proposals/dimensionProposals.ts';
import { elementTypeProposals } from './proposals/elementTypeProposals.ts';
import { frameworkKeyProposals, frameworkValueProposals } from './proposals/frameworkProposals.ts';
import { keyProposals } from './proposals/keyProposals.ts';
import { markProposals, markValueProposals } from './proposals/markProposals.ts';
import type { ProposalSite } from './proposals/proposalSite.ts';
import { scenarioKeyProposals, scenarioValueProposals } from './proposals/scenarioProposals.ts';
import { snippetProposals } from './proposals/snippetProposals.ts';
import { outputProposals, tensorProposals } from './proposals/tensorProposals.ts';
import type { SpecText } from './specText.ts';

/**
 * Proposals at `offset`, the best first. `view` is the last that was costed: it tells shapes, so that a size that
 * fits its input comes first.
 */
export function completeLayerSpec(
  document: SpecText,
  offset: number,
  view: ModelView | undefined,
): readonly Completion[] {
  const context = cursorContext(document.source, offset);
  if (context === undefined) return [];
  const { line } = positionAt(document.text, offset);
  return proposalsAt({ document, context, view: view && viewAtLine(view, line) });
}

function proposalsAt(site: ProposalSite): readonly Completion[] {
  const { place } = site.context;
  switch (place.kind) {
    case 'top-level-key':
      // An empty text is begun with a model.
      return site.document.source.trim() === ''
        ? [...snippetProposals(site), ...keyProposals(site, specKeys)]
        : [...keyProposals(site, specKeys), ...snippetProposals(site)];
    case 'model-key':
      return keyProposals(site, modelKeys);
    case 'layer-start':
      return snippetProposals(site);
    case 'callee':
      return calleeProposals(site);
    case 'argument':
      return argumentProposals(site, place);
    case 'after-call':
      return markProposals(site, place.hasSources, place.marks);
    case 'mark-value':
      return markValueProposals(site, place.mark);
    case 'source-output':
      return outputProposals(site, place.source);
    case 'repetition':
    case 'dimension-value':
    case 'input-size':
      return dimensionProposals(site);
    case 'source':
    case 'output':
      return tensorProposals(site, place.taken);
    case 'element-type':
      return elementTypeProposals(site);
    case 'scenario-key':
      return scenarioKeyProposals(site);
    case 'scenario-value':
      return scenarioValueProposals(site, place.key, place.value);
    case 'framework-key':
      return frameworkKeyProposals(site, place);
    case 'framework-value':
      return frameworkValueProposals(site, place.key, place.framework);
  }
}
