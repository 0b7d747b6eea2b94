/**
 * What compiled forward keeps for backward, where eager PyTorch keeps what each operator asks for.
 *
 * AOTAutograd cuts the graph of both passes where the least must be kept. What backward hands to a library must be
 * kept as it is, and so must what libraries gave; what is computed element by element is computed again where all it is
 * made of is kept anyway or is smaller, and what is only asked whether it is above a threshold becomes a mask of one byte.
 * Source: PyTorch 2.13, torch/_functorch/partitioners.py `solve_min_cut` (the rules that ban recomputation). Here the
 * values are decided on one after another in the order of forward, not all at once by a minimum cut.
 */

export interface Asked {
  /** Backward hands it to a library, or nothing can compute it again. */
  readonly mustStay: boolean;
  /** Values that it can be computed from again. */
  readonly from: readonly string[];
}

/** Keys of what is kept. `asked`: in the order of forward, by key. `weightOf`: what keeping one takes. */
export function keptOf(
  asked: ReadonlyMap<string, Asked>,
  sourcesOf: (key: string) => readonly string[] | undefined,
  weightOf: (key: string) => number,
): ReadonlySet<string> {
  const kept = new Set<string>();
  for (const [key, { mustStay }] of asked) if (mustStay) kept.add(key);
  for (const [key, { mustStay, from }] of asked) {
    if (mustStay) continue;
    const missing = new Set<string>();
    const isMade = collect(from, missing, 0);
    let weight = 0;
    for (const each of missing) weight += weightOf(each);
    if (!isMade || weight >= weightOf(key)) kept.add(key);
    else for (const each of missing) kept.add(each);
  }
  return kept;

  /** What is not kept yet of all that the values are made of; false where the way to it is too long. */
  function collect(keys: readonly string[], missing: Set<string>, hops: number): boolean {
    if (hops > longestWay) return false;
    for (const key of keys) {
      if (kept.has(key)) continue;
      const sources = sourcesOf(key);
      if (sources === undefined) missing.add(key);
      else if (!collect(sources, missing, hops + 1)) return false;
    }
    return missing.size <= longestWay;
  }
}

/** Longer chains are not computed again (`ban_if_long_fusible_chains`); it also bounds the search. */
const longestWay = 12;
