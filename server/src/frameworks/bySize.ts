/** Gradients of one size travel alike: what is made for a size is made once, and shared. */

import type { Bytes } from '../model/units.ts';

export function bySize<Made>(make: (size: Bytes) => Made): (size: Bytes) => Made {
  const made = new Map<Bytes, Made>();
  return (size) => {
    const known = made.get(size);
    if (known !== undefined) return known;
    const fresh = make(size);
    made.set(size, fresh);
    return fresh;
  };
}
