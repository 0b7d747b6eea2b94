/**
 * PyTorch's caching allocator on one stream: which segments it takes from the GPU for tensors that come and go.
 *
 * Source, PyTorch 2.x c10/cuda/CUDACachingAllocator.cpp with its default settings: sizes are rounded to 512 B
 * (`kMinBlockSize`). Up to 1 MiB (`kSmallSize`) they lie in segments of 2 MiB (`kSmallBuffer`), below 10 MiB (`kMinLargeAlloc`)
 * in segments of 20 MiB (`kLargeBuffer`), larger ones in segments of their own, rounded to 2 MiB (`kRoundLarge`). The smallest
 * free block of the pool that is large enough is taken (`get_free_block`), and cut where more than 1 MiB is left of it, in the
 * small pool where 512 B are (`should_split`); what is freed joins its free neighbours. A segment is given back only where
 * the GPU has no more (`release_cached_blocks`).
 */

const mebibyte = 2 ** 20;
const smallest = 512;
const largestSmall = mebibyte;
const smallSegment = 2 * mebibyte;
const largeSegment = 20 * mebibyte;
const smallestOwn = 10 * mebibyte;

/** A stretch of a segment, between its neighbours there. */
export interface Block {
  size: number;
  free: boolean;
  readonly pool: Pool;
  /** Orders blocks of one size, as addresses do. */
  readonly address: number;
  before: Block | undefined;
  after: Block | undefined;
}

export class CachingAllocator {
  /** Bytes of segments. */
  reserved = 0;
  mostReserved = 0;
  /** Bytes of blocks that are in use. */
  allocated = 0;
  mostAllocated = 0;
  private readonly small = new Pool(smallest - 1);
  private readonly large = new Pool(mebibyte);
  private nextAddress = 0;

  /** `room`: what the GPU has for segments. */
  constructor(private readonly room = Number.POSITIVE_INFINITY) {}

  /** `undefined` where the GPU has no more, even after what is free has been given back. */
  allocate(bytes: number): Block | undefined {
    const size = Math.max(smallest, Math.ceil(bytes / smallest) * smallest);
    const pool = size <= largestSmall ? this.small : this.large;
    const block = pool.take(size) ?? this.newSegment(pool, size);
    if (block === undefined) return undefined;
    if (block.size - size > pool.mostLeft) pool.add(split(block, size));
    block.free = false;
    this.allocated += block.size;
    this.mostAllocated = Math.max(this.mostAllocated, this.allocated);
    return block;
  }

  release(block: Block): void {
    this.allocated -= block.size;
    block.free = true;
    const { before, after, pool } = block;
    if (after?.free === true) {
      pool.remove(after);
      join(block, after);
    }
    if (before?.free === true) {
      pool.remove(before);
      join(before, block);
      pool.add(before);
    } else pool.add(block);
  }

  private newSegment(pool: Pool, size: number): Block | undefined {
    const bytes =
      pool === this.small
        ? smallSegment
        : size < smallestOwn
          ? largeSegment
          : Math.ceil(size / (2 * mebibyte)) * 2 * mebibyte;
    if (this.reserved + bytes > this.room) {
      this.reserved -= this.small.giveBack() + this.large.giveBack();
      if (this.reserved + bytes > this.room) return undefined;
    }
    this.reserved += bytes;
    this.mostReserved = Math.max(this.mostReserved, this.reserved);
    const address = this.nextAddress;
    this.nextAddress += bytes;
    return { size: bytes, free: false, pool, address, before: undefined, after: undefined };
  }
}

/** What is behind the first `size` bytes of a block, as a block of its own. */
function split(block: Block, size: number): Block {
  const rest: Block = {
    size: block.size - size,
    free: true,
    pool: block.pool,
    address: block.address + size,
    before: block,
    after: block.after,
  };
  if (block.after !== undefined) block.after.before = rest;
  block.after = rest;
  block.size = size;
  return rest;
}

function join(block: Block, after: Block): void {
  block.size += after.size;
  block.after = after.after;
  if (after.after !== undefined) after.after.before = block;
}

/** Free blocks, by size and then address. */
class Pool {
  private blocks: Block[] = [];

  /** `mostLeft`: what is left of a block is a block of its own above this. */
  constructor(readonly mostLeft: number) {}

  take(size: number): Block | undefined {
    const at = this.placeOf(size, -1);
    const block = this.blocks[at];
    if (block !== undefined) this.blocks.splice(at, 1);
    return block;
  }

  add(block: Block): void {
    this.blocks.splice(this.placeOf(block.size, block.address), 0, block);
  }

  remove(block: Block): void {
    this.blocks.splice(this.placeOf(block.size, block.address), 1);
  }

  /** Gives whole segments back that are free; their bytes. */
  giveBack(): number {
    let bytes = 0;
    this.blocks = this.blocks.filter(({ size, before, after }) => {
      const isWhole = before === undefined && after === undefined;
      if (isWhole) bytes += size;
      return !isWhole;
    });
    return bytes;
  }

  /** Of the first block that is not before this size and address. */
  private placeOf(size: number, address: number): number {
    let low = 0;
    let high = this.blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const block = this.blocks[middle];
      const isBefore =
        block !== undefined && (block.size < size || (block.size === size && block.address < address));
      if (isBefore) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
