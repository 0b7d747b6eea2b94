/** Layers whose outputs nobody takes: no layer, no output of the model, and no block that returns them. */

import type { SpecLayer } from '../../formats/layer-spec/syntax.ts';
import type { Issue } from '../../model/issue.ts';
import type { Tensor } from './layerDefinition.ts';

interface Given {
  readonly layer: SpecLayer;
  readonly tensors: readonly Tensor[];
  /** True where the block or model around it gives them on. */
  returned: boolean;
}

/** What each line gives, collected while the lines are lowered. */
export class GivenOutputs {
  private readonly given: Given[] = [];

  /** Lines so far. */
  get count(): number {
    return this.given.length;
  }

  /** One lowering of a line; of a line in a block there are several. */
  add(layer: SpecLayer, tensors: readonly Tensor[]): void {
    this.given.push({ layer, tensors, returned: false });
  }

  /** These tensors leave the block, or model, whose lines begin after the first `before`. */
  returns(before: number, tensors: readonly Tensor[]): void {
    const names = new Set(tensors.map(({ name }) => name));
    for (let index = before; index < this.given.length; index += 1) {
      const given = this.given[index];
      if (given?.tensors.some(({ name }) => names.has(name))) given.returned = true;
    }
  }

  /**
   * Lines whose outputs are not among `read`, the tensors that operators read, whenever they are lowered. A line whose
   * weights another one shares, by a name in `referred`, is of use without them.
   */
  unread(read: ReadonlySet<string>, referred: ReadonlySet<string>): readonly Issue[] {
    const used = new Set<SpecLayer>();
    const unused = new Set<SpecLayer>();
    for (const { layer, tensors, returned } of this.given) {
      const isUsed = returned || referred.has(layer.name.text) || tensors.some(({ name }) => read.has(name));
      (isUsed ? used : unused).add(layer);
    }
    return [...unused].flatMap((layer) =>
      used.has(layer)
        ? []
        : [
            {
              code: 'spec/unread-layer',
              severity: 'information',
              message: `nothing reads \`${layer.name.text}\`, so it is computed and never trained; name it in \`outputs\`, read it, or remove it`,
              span: layer.span,
            },
          ],
    );
  }
}
