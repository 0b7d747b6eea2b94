/**
 * Tensors of a graph of the program by name, with what shares their elements: a write into one of them makes new tensors
 * of all that it is a view of, and views taken before are taken again where they are read next.
 */

import type { AtenGraph, AtenNode } from '../../formats/pt2/syntax.ts';
import type { Tensor } from '../layer-spec/layerDefinition.ts';
import { isInPlace, type View, viewOf, writeBack } from './viewWrites.ts';

/** Lowers a call, and gives its results. */
export type Compute = (node: AtenNode) => readonly (Tensor | undefined)[];

export class ProgramValues {
  /** Of each tensor that shares the elements of another one, by which view of it. */
  readonly views = new Map<string, View>();
  /** Views of what was written since: their elements are new. */
  private readonly stale = new Set<string>();

  /** Casts of weights that a region of autocast has made, which it makes once. */
  readonly casts = new Map<string, Tensor>();

  constructor(
    readonly graph: AtenGraph,
    /** What the graph is given, and everything it computes afterwards. */
    readonly tensors: Map<string, Tensor>,
    /** Whether the program turns autocast on for its calls, or off. */
    readonly autocast?: 'on' | 'off' | undefined,
  ) {}

  /** A view of what was written since is taken again. */
  refresh(name: string, compute: Compute): void {
    const view = this.views.get(name);
    if (view === undefined || !this.stale.delete(name)) return;
    this.refresh(view.base, compute);
    const taken = isInPlace(view.node) ? this.tensors.get(view.base) : compute(view.node)[view.index];
    if (taken !== undefined) this.tensors.set(name, taken);
  }

  /** The results of a call, and what they are views of. */
  add(node: AtenNode, results: ReturnType<Compute>): void {
    const isWritten = this.writtenBy(node) !== undefined;
    for (const [index, output] of node.outputs.entries()) {
      const result = results[index];
      if (result === undefined || output === '') continue;
      this.tensors.set(output, result);
      const view = viewOf(node, index);
      if (view !== undefined && (isWritten || !isInPlace(node))) this.views.set(output, view);
    }
  }

  /** The tensor that a call such as `add_` writes into. Counts of batches are integers, and left out. */
  writtenBy(node: AtenNode): string | undefined {
    if (!isInPlace(node)) return undefined;
    const { arguments: given } = node;
    const self = given.get('self') ?? given.get('input');
    const type = self?.kind === 'tensor' ? this.tensors.get(self.name)?.elementType : undefined;
    return self?.kind === 'tensor' && type !== undefined && !/int/.test(type) ? self.name : undefined;
  }

  /**
   * Writes into a tensor, and into all that it is a view of: whatever reads them from here on reads what was written.
   * Gives whether all of them could be followed.
   */
  write(node: AtenNode, self: string, result: Tensor, compute: Compute): boolean {
    const written = new Set(node.outputs);
    this.tensors.set(self, result);
    let isFollowed = true;
    let [name, view] = [self, this.views.get(self)];
    for (; view !== undefined; name = view.base, view = this.views.get(name)) {
      written.add(name);
      this.refresh(view.base, compute);
      const back = writeBack(view, name, node, this.graph.tensors);
      const whole = back && compute(back)[0];
      if (whole === undefined) {
        isFollowed = false;
        break;
      }
      this.tensors.set(view.base, whole);
    }
    written.add(name);
    this.outdate(name, written);
    return isFollowed;
  }

  /** All views of a tensor, and views of these, but those by which it was written. */
  private outdate(base: string, written: ReadonlySet<string>): void {
    for (const [name, view] of this.views) {
      if (view.base !== base || written.has(name)) continue;
      this.stale.add(name);
      this.outdate(name, written);
    }
  }
}
