/** Classes and functions of a Python text that may be models, found by its lines: nothing runs, and a broken text is read too. */

export interface PythonDefinition {
  /** From 0. */
  readonly line: number;
  readonly name: string;
}

/** Classes at the left margin that derive from a module of PyTorch, by the names that people give their bases. */
export const modelClasses = (text: string): readonly PythonDefinition[] =>
  text.split('\n').flatMap((content, line) => {
    const [, name, bases] = /^class\s+(\w+)\s*\(([^)]*)\)/.exec(content) ?? [];
    return name !== undefined && bases !== undefined && isModule.test(bases) ? [{ line, name }] : [];
  });

const isModule = /\b(?:nn\.Module|Module|LightningModule|PreTrainedModel|\w+ForCausalLM)\b/;

/** The class or function at the left margin around a line; nothing between them. */
export function definitionAt(text: string, line: number): string | undefined {
  const lines = text.split('\n');
  for (let above = line; above >= 0; above -= 1) {
    const content = lines[above] ?? '';
    const [, name] = /^(?:class|(?:async\s+)?def)\s+(\w+)/.exec(content) ?? [];
    if (name !== undefined) return name;
    // Another statement at the margin ends what is above; a decorator belongs to what is below.
    if (above < line && /^[^\s#)\]}@]/.test(content)) return undefined;
    if (above === line && /^@/.test(content)) return definitionBelow(lines, line);
    if (above === line && /^[^\s#)\]}]/.test(content)) return undefined;
  }
  return undefined;
}

function definitionBelow(lines: readonly string[], line: number): string | undefined {
  const below = lines.slice(line).find((content) => !content.startsWith('@'));
  return /^(?:class|(?:async\s+)?def)\s+(\w+)/.exec(below ?? '')?.[1];
}
