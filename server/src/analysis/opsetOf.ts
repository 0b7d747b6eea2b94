/** The version of a domain's operator set; the default domain's where the file names none. */
export function opsetOf(operatorSets: ReadonlyMap<string, number>, domain: string): number {
  return operatorSets.get(domain === 'ai.onnx' ? '' : domain) ?? operatorSets.get('ai.onnx') ?? 1;
}
