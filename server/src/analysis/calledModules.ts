/** Which modules of a TorchScript export are one that is called several times. */

import type { FlatNode } from './expandFunctions.ts';
import { type ModuleScope, qualifiedName } from './moduleScope.ts';

/**
 * The module that a node stands in, also where it is called again: the TorchScript exporter numbers further calls
 * (`/fc_1` behind `/fc`).
 */
export function calledModules(nodes: readonly FlatNode[]): (scope: ModuleScope) => string {
  const paths = new Set(nodes.flatMap(({ scope }) => scope.paths));
  const known = new Map<ModuleScope, string>();
  const firstCall = (path: string): string => {
    const parts: string[] = [];
    for (const segment of path.split('/')) {
      const first = segment.replace(/_\d+$/, '');
      parts.push(first !== segment && paths.has([...parts, first].join('/')) ? first : segment);
    }
    return parts.join('/');
  };
  return (scope) => {
    const before = known.get(scope);
    if (before !== undefined) return before;
    const innermost = scope.paths.at(-1) ?? '';
    const isCounted = innermost.startsWith('/') && /_\d+(\/|$)/.test(innermost);
    const module = qualifiedName(isCounted ? { ...scope, paths: [firstCall(innermost)] } : scope);
    known.set(scope, module);
    return module;
  };
}
