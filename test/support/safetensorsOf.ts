/** A safetensors file with this header; its tensors are zeros. */
export function safetensorsOf(header: Readonly<Record<string, unknown>>): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const ends = Object.values(header).map((entry) => {
    const offsets =
      typeof entry === 'object' && entry !== null && 'data_offsets' in entry ? entry.data_offsets : undefined;
    return Array.isArray(offsets) && typeof offsets[1] === 'number' ? offsets[1] : 0;
  });
  const bytes = new Uint8Array(8 + text.length + Math.max(0, ...ends));
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  return bytes;
}
